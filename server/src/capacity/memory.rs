//! The memory of the process, against its limit: the bound beneath all other bounds.
//!
//! Every pool is bounded by itself. What they cost together depends on the allocator, on the
//! libraries and on the core's own limits, so the process is measured besides: above its limit
//! whatever would hold more memory is refused as `overloaded`, until there is room again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::Capacity;
use crate::refusal::Refusal;

/// How often the process is measured.
const SAMPLED_EVERY: Duration = Duration::from_millis(100);

/// When a client should come again that found no room, in milliseconds.
const RETRY_MS: u64 = 2_000;

/// What is told where there is no room.
const TOLD: &str = "the server's memory is used up to its limit, so that it takes nothing new; what \
                    is there goes on. Try again in a moment";

/// The message of a refusal where memory does not even suffice for a text.
const TOLD_TEXTS: &str = "the server's memory is used up beyond its limit, so that it takes no texts. \
                          Try again in a moment";

/// Where groups of processes are, each with how much memory it may have.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The memory of the process.
#[derive(Debug)]
pub struct Memory {
    limit: Option<u64>,
    resident: AtomicU64,
    refused: AtomicU64,
}

impl Memory {
    /// With this limit in bytes, if there is one.
    #[must_use]
    pub const fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            resident: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// How much it may be, in bytes.
    #[must_use]
    pub const fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// How much it was when it was measured last, in bytes.
    #[must_use]
    pub fn resident(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }

    /// How often something was refused for want of it.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Notes what was measured.
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

    /// Whether there is more than there may be.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.limit.is_some_and(|limit| self.resident() > limit)
    }

    /// Refuses what would hold more memory while there is none.
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

    /// Refuses what adds a text, of those who are there, once there is an eighth more than there may
    /// be: talk goes on while memory is short, and has to end somewhere.
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

    /// Measures the process from now on, for as long as somebody asks. It has to be called on a
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

/// The resident memory of this process in bytes, where the machine says.
fn resident() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// A line of `/proc`, in bytes: `VmRSS:   12345 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1_024)
}

/// How much memory the process may have before it takes nothing new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub enum MemoryLimit {
    /// Three quarters of what the machine has, or of what its cgroup lets this process have.
    #[default]
    Share,
    /// So many bytes.
    Bytes(u64),
    /// As much as there is.
    None,
}

/// The least limit: below it a server that does nothing might take nothing.
const LEAST: u64 = 64 << 20;

/// The units in which a limit is written.
const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];

impl MemoryLimit {
    /// In bytes; none where there is no limit, or the machine does not say what it has.
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

impl TryFrom<String> for MemoryLimit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

fn share() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| kibibytes(&text, "MemTotal:"));
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = limits_of(&own).into_iter().filter_map(|path| {
        // A group without a limit says `max`, and the root has no such file.
        let text = fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    });
    let least = machine.into_iter().chain(groups).min()?;
    Some(least / 4 * 3)
}

/// The files that say how much memory a process of these groups may have: those of its group and of
/// all above it, since each of them is a limit. In a container the group is the root that it sees.
fn limits_of(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        // cgroups(7): `0::/path` in the second version, `4:memory:/path` in the first.
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
