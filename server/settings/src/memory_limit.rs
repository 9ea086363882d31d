//! The limit of the memory of a process: as given, or a share of what the machine has.

use std::fs;
use std::path::{Path, PathBuf};

use chat_types::config::Limit;

use crate::accepted::{bytes_of, limit};

/// The directory of cgroups.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The least accepted limit: below it an idle server might refuse requests.
const LEAST: u64 = 64 << 20;

/// Parses a limit of the memory.
///
/// # Errors
/// A sentence that names the accepted forms.
pub(crate) fn memory(text: &str) -> Result<Limit<u64>, String> {
    let size = bytes_of(text).filter(|bytes| *bytes >= LEAST);
    limit(text, size, "a size from 64MiB on, as in 512MiB or 2GiB")
}

/// Three quarters of the memory of the machine or of the process's cgroup; none if the machine does not
/// report it.
pub(crate) fn share() -> Option<u64> {
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

/// The number of a line of `/proc`, in bytes: `VmRSS:   12345 kB`. None without such a line.
#[must_use]
pub fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_size_with_a_unit_or_none() {
        assert_eq!(memory("512MiB"), Ok(Limit::At(512 << 20)));
        assert_eq!(memory("2 GiB"), Ok(Limit::At(2 << 30)));
        assert_eq!(memory("none"), Ok(Limit::None));
        for wrong in [
            "",
            "512",
            "1MiB",
            "-1GiB",
            "99999999999GiB",
            "2GB",
            "0.5GiB",
        ] {
            assert!(memory(wrong).is_err(), "{wrong}");
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
