//! The memory of the process, against its limit.
//!
//! Every pool has its own bound. Their total cost depends on the allocator, on the libraries and on
//! the core's limits, so the process is measured as well. Above its limit, requests that would hold
//! more memory are refused as `overloaded`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::Capacity;
use crate::refusal::Refusal;

/// The time between two measurements.
const SAMPLED_EVERY: Duration = Duration::from_millis(100);

/// The retry delay of refusals, in milliseconds.
const RETRY_MS: u64 = 2_000;

/// The message of refusals.
const TOLD: &str = "the server's memory is used up to its limit, so that it takes nothing new; what \
                    is there goes on. Try again in a moment";

/// The message of refusals when not even texts are accepted.
const TOLD_TEXTS: &str = "the server's memory is used up beyond its limit, so that it takes no texts. \
                          Try again in a moment";

/// The directory of cgroups.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The memory of the process.
#[derive(Debug)]
pub struct Memory {
    limit: Option<u64>,
    resident: AtomicU64,
    refused: AtomicU64,
}

impl Memory {
    /// The memory of a process with this limit in bytes, if there is one.
    #[must_use]
    pub const fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            resident: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// The limit in bytes.
    #[must_use]
    pub const fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The last measurement, in bytes.
    #[must_use]
    pub fn resident(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }

    /// The number of refusals.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Records a measurement.
    pub fn measured(&self, resident: u64) {
        let before = self.resident.swap(resident, Ordering::Relaxed);
        let is_over = |bytes: u64| self.limit.is_some_and(|limit| bytes > limit);
        match (is_over(before), is_over(resident)) {
            (false, true) => {
                tracing::warn!(
                    resident,
                    limit = self.limit,
                    "memory is used up to its limit"
                );
            }
            (true, false) => tracing::info!(resident, "there is memory again"),
            (true, true) | (false, false) => {}
        }
    }

    /// Whether the memory exceeds the limit.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.limit.is_some_and(|limit| self.resident() > limit)
    }

    /// Refuses a request that would hold more memory while the limit is exceeded.
    ///
    /// # Errors
    /// The refusal `overloaded`.
    pub fn check(&self) -> Result<(), Refusal> {
        if !self.is_short() {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Refusal::overloaded(TOLD.into(), RETRY_MS))
    }

    /// Refuses a text once the limit is exceeded by an eighth. Up to there, participants can talk
    /// while memory is short.
    ///
    /// # Errors
    /// The refusal `overloaded`.
    pub fn check_texts(&self) -> Result<(), Refusal> {
        let most = self.limit.map(|limit| limit.saturating_add(limit / 8));
        if most.is_none_or(|most| self.resident() <= most) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Refusal::overloaded(TOLD_TEXTS.into(), RETRY_MS))
    }

    /// Measures the process regularly, as long as `capacity` is in use. Must be called on a
    /// runtime.
    pub fn watch(capacity: &Arc<Capacity>) {
        if capacity.memory.limit.is_none() && resident().is_none() {
            return;
        }
        if let Some(bytes) = resident() {
            capacity.memory.measured(bytes);
        }
        tokio::spawn(sample(Arc::downgrade(capacity)));
    }
}

async fn sample(capacity: Weak<Capacity>) {
    let mut ticks = tokio::time::interval(SAMPLED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(capacity) = capacity.upgrade() else {
            return;
        };
        if let Some(bytes) = resident() {
            capacity.memory.measured(bytes);
        }
    }
}

/// The resident memory of this process in bytes, if the machine reports it.
fn resident() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// A line of `/proc`, in bytes: `VmRSS:   12345 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1_024)
}

/// The memory limit of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryLimit {
    /// Three quarters of the memory of the machine or of the process's cgroup.
    #[default]
    Share,
    /// This number of bytes.
    Bytes(u64),
    /// No limit.
    None,
}

/// The least accepted limit: below it an idle server might refuse requests.
const LEAST: u64 = 64 << 20;

/// The units of a written limit.
const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];

impl MemoryLimit {
    /// The limit in bytes; none if there is no limit, or if the machine does not report its memory.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Share => share(),
            Self::Bytes(bytes) => Some(bytes),
            Self::None => None,
        }
    }
}

impl std::str::FromStr for MemoryLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        let sized = UNITS.iter().find_map(|(unit, shift)| {
            let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            number.checked_mul(1 << shift)
        });
        match sized {
            Some(bytes) if bytes >= LEAST => Ok(Self::Bytes(bytes)),
            Some(_) | None => {
                Err("write a size from 64MiB on, as in 512MiB or 2GiB, or none".into())
            }
        }
    }
}

fn share() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| kibibytes(&text, "MemTotal:"));
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = limits_of(&own).into_iter().filter_map(|path| {
        // A cgroup without a limit contains `max`, and the root cgroup has no such file.
        let text = fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    });
    let least = machine.into_iter().chain(groups).min()?;
    Some(least / 4 * 3)
}

/// The files with memory limits of the process's cgroup and all above it, each of which applies. In
/// a container, the cgroup appears as the root.
fn limits_of(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        // cgroups(7): `0::/path` in version 2, `4:memory:/path` in version 1.
        let (root, name, path) = match line.splitn(3, ':').collect::<Vec<_>>()[..] {
            ["0", "", path] => (PathBuf::from(CGROUPS), "memory.max", path),
            [_, controllers, path] if controllers.split(',').any(|one| one == "memory") => {
                let root = Path::new(CGROUPS).join("memory");
                (root, "memory.limit_in_bytes", path)
            }
            _ => continue,
        };
        let group = root.join(path.trim_start_matches('/'));
        let above = group.ancestors().take_while(|at| at.starts_with(&root));
        files.extend(above.map(|at| at.join(name)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_its_limit_nothing_is_taken_and_below_it_all_is() {
        let memory = Memory::new(Some(1_000));
        memory.measured(1_000);
        assert_eq!(memory.check(), Ok(()));
        memory.measured(1_001);
        let refusal = memory.check().unwrap_err();
        assert_eq!(refusal.code, "overloaded");
        assert_eq!(refusal.retry_after_ms, Some(RETRY_MS));
        assert_eq!(memory.refused(), 1);
        memory.measured(1_125);
        assert_eq!(memory.check_texts(), Ok(()));
        memory.measured(1_126);
        assert_eq!(memory.check_texts().unwrap_err().code, "overloaded");
        memory.measured(999);
        assert_eq!(memory.check(), Ok(()));
        let free = Memory::new(None);
        free.measured(u64::MAX);
        assert!(!free.is_short() && free.check_texts().is_ok());
    }

    #[test]
    fn a_limit_is_a_size_with_a_unit_or_none() {
        let limit = |text: &str| text.parse::<MemoryLimit>();
        assert_eq!(limit("512MiB"), Ok(MemoryLimit::Bytes(512 << 20)));
        assert_eq!(limit("2 GiB"), Ok(MemoryLimit::Bytes(2 << 30)));
        assert_eq!(limit("none"), Ok(MemoryLimit::None));
        for wrong in [
            "",
            "512",
            "1MiB",
            "-1GiB",
            "99999999999GiB",
            "2GB",
            "0.5GiB",
        ] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_of_proc_is_read_in_bytes() {
        let text = "VmPeak:\t  99 kB\nVmRSS:\t   12 kB\n";
        assert_eq!(kibibytes(text, "VmRSS:"), Some(12 * 1_024));
        assert_eq!(kibibytes(text, "VmSwap:"), None);
    }

    #[test]
    fn the_limits_of_all_groups_above_count() {
        let of = |groups: &str| {
            let files = limits_of(groups).into_iter();
            let text = files.map(|file| file.to_string_lossy().into_owned());
            text.collect::<Vec<_>>()
        };
        let unit = [
            "/sys/fs/cgroup/system.slice/talking-stick.service/memory.max",
            "/sys/fs/cgroup/system.slice/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(of("0::/system.slice/talking-stick.service\n"), unit);
        assert_eq!(of("0::/\n"), ["/sys/fs/cgroup/memory.max"]);
        let old = [
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        ];
        assert_eq!(of("5:cpu,cpuacct:/a\n4:memory:/a\n"), old);
        assert!(of("").is_empty() && of("nonsense").is_empty());
    }
}
