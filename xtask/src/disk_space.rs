//! The free space of the disk, which a whole check fills by some gigabytes.

use xshell::{Shell, cmd};

use crate::steps::{STEPS, Step};

/// What a whole check writes into an empty `target`, in KiB, and a reserve.
const NEEDED: u64 = 8 << 20;

/// A warning if all steps are to run, and the shell's disk has too little space for them.
pub(crate) fn warning(steps: &[Step], sh: &Shell) -> Option<String> {
    if steps.len() < STEPS.len() {
        return None;
    }
    of(free(&cmd!(sh, "df -Pk .").read().ok()?)?)
}

fn of(free: u64) -> Option<String> {
    let gib = |kib: u64| kib >> 20;
    (free < NEEDED).then(|| {
        format!(
            "warning: less than {} GiB of the disk are free; a whole check needs about {} GiB, and steps fail without",
            gib(free) + 1,
            gib(NEEDED)
        )
    })
}

/// The free KiB, by the second line of `df -Pk`.
fn free(said: &str) -> Option<u64> {
    said.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                        /dev/vda 264000000 93000000 2400000 98% /\n";

    #[test]
    fn too_little_space_is_said_in_time() {
        let warning = of(free(SAID).expect("a number")).expect("a warning");
        assert!(
            warning.starts_with("warning: less than 3 GiB of the disk are free"),
            "{warning}"
        );
        assert_eq!(of(NEEDED), None);
        assert_eq!(free("df: no such folder"), None);
    }

    #[test]
    fn some_steps_alone_need_less() {
        let sh = crate::cargo::shell().expect("a folder");
        assert_eq!(warning(&STEPS[..1], &sh), None);
    }
}
