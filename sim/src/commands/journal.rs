//! The journal of a real server, which its own program reads.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chat_journal::Bundle;
use sim_model::history::Observer;
use sim_search::replay;

/// The server's program.
const SERVER: &str = "talking-stick";

/// The bytes of the file, or of the journal in the folder, which `program` reads.
pub(super) fn read(path: &Path, program: Option<&Path>) -> Result<Vec<u8>, String> {
    if !path.is_dir() {
        return fs::read(path).map_err(|error| absent(path, &error));
    }
    let program = program.map_or_else(beside, Path::to_path_buf);
    let output = Command::new(&program)
        .args(["records", "--data"])
        .arg(path)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.map_err(|error| {
        format!(
            "{}: {error}: a folder is read by the server's program; --server names it, or write a \
             file with `talking-stick records --data {}` and replay that",
            program.display(),
            path.display()
        )
    })?;
    let (program, path) = (program.display(), path.display());
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!(
            "{program} could not read the journal in {path}: what it says is above"
        )),
    }
}

/// Why there is nothing to read at this path, and what to name instead.
fn absent(path: &Path, error: &std::io::Error) -> String {
    let what = "name the folder that the server prints as `data` when it starts, or a file that \
                `talking-stick records` wrote";
    let path = path.display();
    match error.kind() == ErrorKind::NotFound {
        true => format!("there is no journal at {path}: {what}"),
        false => format!("the journal at {path} cannot be read ({error}): {what}"),
    }
}

/// The server's program beside this one, or an installed one.
fn beside() -> PathBuf {
    let beside = env::current_exe().map(|here| here.with_file_name(SERVER));
    let found = beside.ok().filter(|path| path.is_file());
    found.unwrap_or_else(|| PathBuf::from(SERVER))
}

/// Reports all entries of the journal in the folder, and returns their number.
pub(super) fn observe(
    path: &Path,
    program: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<u64, String> {
    let (bytes, name) = (read(path, program)?, path.display());
    let mut bundle = Bundle::read(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let entries = replay::observe(&mut bundle, observer);
    let entries = entries.map_err(|error| format!("{name}: {error}"))?;
    entries.ok_or_else(|| {
        format!("{name}: its first records are gone, and the reference model needs all of them")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_is_not_there_is_told_with_what_to_name_instead() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("data");
        let why = read(&missing, None).unwrap_err();
        let place = format!("there is no journal at {}: ", missing.display());
        assert!(why.starts_with(&place), "{why}");
        assert!(why.contains("prints as `data`") && why.contains("talking-stick records"));
        assert!(!why.contains("os error"), "{why}");
    }
}
