//! Scenario files: what is accepted, what is refused, and what is written back.

mod drawn;
mod errors;
mod mutations;
mod plans;
mod schema;
mod write;

use std::path::{Path, PathBuf};

/// The folders of bad scenarios: those that the schema refuses, and those that only the parser does.
const BAD: &str = "tests/bad_scenarios";
const BEYOND_A_SCHEMA: &str = "tests/bad_scenarios/beyond_a_schema";

/// The scenarios of a folder, relative to this package.
fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of scenarios")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    files
}

/// A bad scenario, and its error: what is above and below the last line `---` of its file.
fn bad_scenario(path: &Path) -> (Vec<u8>, String) {
    let bytes = std::fs::read(path).expect("a file");
    let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let border = lines.iter().rposition(|line| *line == b"---\n");
    let border = border.unwrap_or_else(|| panic!("{} has no line `---`", path.display()));
    let error = String::from_utf8(lines[border + 1..].concat()).expect("an error is text");
    (lines[..border].concat(), error)
}

/// The shipped scenarios, including the regressions.
fn shipped() -> Vec<PathBuf> {
    [
        yaml_files("../../scenarios"),
        yaml_files("../../scenarios/regressions"),
    ]
    .concat()
}
