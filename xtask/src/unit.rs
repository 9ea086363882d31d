//! Checks that systemd accepts the unit, and that the unit confines the server.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{run, there_or_installed};

const UNIT: &str = "deploy/talking-stick.service";

/// The line of the unit with the server's path.
const PROGRAM: &str = "ExecStart=/usr/local/bin/talking-stick ";

/// The highest exposure from `systemd-analyze security`, in tenths: up to 20 it rates a unit OK.
const EXPOSURE: &str = "--threshold=20";

/// Checks the unit with systemd's own tools.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Outcome::Skipped("systemd is of Linux alone".into());
    }
    if let Err(why) = there_or_installed(&["systemd-analyze"], &["systemd"]) {
        return Outcome::Skipped(why);
    }
    let copied = copy(cargo.root());
    let path = match copied {
        Ok(path) => path,
        Err(why) => return Outcome::Failed(why),
    };
    for words in [
        &["verify", "--man=no", "--recursive-errors=no"][..],
        &["security", "--no-pager", "--offline=yes", EXPOSURE],
    ] {
        if let Err(why) = run(Command::new("systemd-analyze").args(words).arg(&path)) {
            return Outcome::Failed(format!("{UNIT}, {}: {why}", words[0]));
        }
    }
    Outcome::Passed
}

/// Writes the unit with an existing program, which `verify` requires; returns the path.
fn copy(root: &Path) -> Result<String, String> {
    let text = fs::read_to_string(root.join(UNIT)).map_err(|error| format!("{UNIT}: {error}"))?;
    let this = std::env::current_exe().map_err(|error| format!("no program: {error}"))?;
    let text = with_program(&text, &this)?;
    let folder = root.join("target/xtask/unit");
    let path = folder.join("talking-stick.service");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

fn with_program(unit: &str, program: &Path) -> Result<String, String> {
    if !unit.contains(PROGRAM) {
        return Err(format!("{UNIT} has no line that begins `{PROGRAM}`"));
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
            read,
            Ok("[Service]\nExecStart=/bin/true --log json\n".into())
        );
        let why = with_program("[Service]\n", Path::new("/bin/true")).unwrap_err();
        assert!(why.contains("ExecStart"), "{why}");
    }
}
