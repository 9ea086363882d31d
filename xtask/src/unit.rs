//! Checks that systemd accepts the unit, and that the unit confines the server.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::skipped;
use crate::programs::there_or_installed;

const UNIT: &str = "deploy/talking-stick.service";

/// The line of the unit with the server's path.
const PROGRAM: &str = "ExecStart=/usr/local/bin/talking-stick ";

/// The highest exposure from `systemd-analyze security`, in tenths: up to 20 it rates a unit OK.
const EXPOSURE: &str = "--threshold=20";

/// Checks the unit with systemd's own tools.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Err(skipped("systemd is of Linux alone"));
    }
    there_or_installed(sh, &["systemd-analyze"], "systemd").map_err(skipped)?;
    // `verify` requires that the program is there.
    let unit = with_program(&sh.read_file(UNIT)?, &std::env::current_exe()?)?;
    let copy = cargo::scratch(sh, "unit")?.join("talking-stick.service");
    sh.write_file(&copy, unit)?;
    cmd!(
        sh,
        "systemd-analyze verify --man=no --recursive-errors=no {copy}"
    )
    .run()
    .context(UNIT)?;
    let security = cmd!(
        sh,
        "systemd-analyze security --no-pager --offline=yes {EXPOSURE} {copy}"
    );
    security.run().context(UNIT)
}

fn with_program(unit: &str, program: &Path) -> Result<String> {
    if !unit.contains(PROGRAM) {
        bail!("{UNIT} has no line that begins `{PROGRAM}`");
    }
    Ok(unit.replace(PROGRAM, &format!("ExecStart={} ", program.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_file_is_valid_with_a_substitute_program() {
        let unit = "[Service]\nExecStart=/usr/local/bin/talking-stick --log json\n";
        let read = with_program(unit, Path::new("/bin/true"));
        assert_eq!(
            read.expect("it has a program"),
            "[Service]\nExecStart=/bin/true --log json\n"
        );
        let why = with_program("[Service]\n", Path::new("/bin/true")).unwrap_err();
        assert!(why.to_string().contains("ExecStart"), "{why}");
    }
}
