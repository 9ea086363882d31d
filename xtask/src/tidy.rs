//! House rules that no other tool checks. Each rule is a pure function from files to findings, with
//! tests that show a violation.

mod budget;
mod circles;
mod docs;
mod libraries;
mod text;
mod tracked;
mod types;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use crate::outcome::Outcome;

/// A text file of the workspace.
#[derive(Clone, Debug)]
struct Source {
    /// The path from the root, with `/` between names.
    path: String,
    text: String,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// The line, from 1; none for the file as a whole.
    line: Option<usize>,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// Folders without sources, or with input of tests that is wrong on purpose.
const PASSED_OVER: [&str; 4] = [".git", "bad_scenarios", "node_modules", "target"];

/// The file extensions that are read.
const READ: [&str; 11] = [
    "css", "html", "js", "json", "md", "mjs", "rs", "sh", "toml", "yaml", "yml",
];

/// Checks the workspace at `root`.
pub(crate) fn check(root: &Path) -> Outcome {
    match (sources(root), tracked::paths(root)) {
        (Ok(files), Ok(paths)) => {
            let mut found = findings(&files);
            found.extend(tracked::check(&paths));
            Outcome::of_findings(&found)
        }
        (Err(error), _) | (_, Err(error)) => {
            Outcome::Failed(format!("cannot read the workspace: {error}"))
        }
    }
}

/// All findings, file by file.
fn findings(files: &[Source]) -> Vec<Finding> {
    let mut found: Vec<Finding> = files.iter().flat_map(text::check).collect();
    found.extend(budget::check(files));
    found.extend(docs::check(files));
    found.extend(libraries::check(files));
    found.extend(circles::check(files));
    found.extend(types::check(files));
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
}

/// Every text file below `root`, by path.
fn sources(root: &Path) -> io::Result<Vec<Source>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            // A file whose name is not Unicode is none of the project's.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = format!("{folder}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !PASSED_OVER.contains(&name.as_str()) {
                folders.push(format!("{path}/"));
            } else if kind.is_file() && is_text(&path) {
                let text = fs::read_to_string(entry.path())
                    .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
                files.push(Source { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Whether the rules read this file.
fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .is_none_or(|(_, ending)| READ.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::{Finding, Source, findings, is_text};

    /// Files for a test of a rule.
    pub(super) fn files(of: &[(&str, &str)]) -> Vec<Source> {
        of.iter()
            .map(|(path, text)| Source {
                path: (*path).into(),
                text: (*text).into(),
            })
            .collect()
    }

    #[test]
    fn findings_name_their_place() {
        let mut finding = Finding {
            path: "a.rs".into(),
            line: Some(3),
            what: "too wide".into(),
        };
        assert_eq!(finding.to_string(), "a.rs:3: too wide");
        finding.line = None;
        assert_eq!(finding.to_string(), "a.rs: too wide");
    }

    #[test]
    fn every_rule_is_applied() {
        let files = files(&[
            ("ARCHITECTURE.md", "`core/src/gone.rs`\n"),
            (
                "core/Cargo.toml",
                "[dependencies]\ntokio.workspace = true\n",
            ),
            ("core/src/utils.rs", "\n"),
        ]);
        let found = findings(&files);
        for path in ["ARCHITECTURE.md", "core/Cargo.toml", "core/src/utils.rs"] {
            assert!(
                found.iter().any(|finding| finding.path == path),
                "{path}: {found:?}"
            );
        }
    }

    #[test]
    fn snapshots_and_lock_files_are_exempt() {
        assert!(is_text("core/src/hub.rs"));
        assert!(is_text(".ci/run"));
        assert!(!is_text("Cargo.lock"));
        assert!(!is_text("core/tests/snapshots/stick.snap"));
    }
}
