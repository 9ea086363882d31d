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

use anyhow::Result;
use regex::Regex;
use xshell::{Shell, cmd};

use crate::outcome::none_of;
use crate::workspace_copy::sources;

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

fn finding(path: &str, line: impl Into<Option<usize>>, what: impl Into<String>) -> Finding {
    Finding {
        path: path.into(),
        line: line.into(),
        what: what.into(),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// A pattern of these rules.
fn pattern(of: &str) -> Regex {
    Regex::new(of).expect("a test of its rule compiles it")
}

/// The line of a place in a text, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Input of tests that is wrong on purpose.
const PASSED_OVER: &str = "/bad_scenarios/";

/// The file extensions that are read.
const READ: [&str; 11] = [
    "css", "html", "js", "json", "md", "mjs", "rs", "sh", "toml", "yaml", "yml",
];

/// Checks the workspace.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let paths = sources(sh)?;
    let read = paths.iter().filter(|path| is_text(path));
    let read = read.map(|path| {
        let (path, text) = (path.clone(), sh.read_file(path)?);
        Ok(Source { path, text })
    });
    let mut found = findings(&read.collect::<Result<Vec<_>>>()?);
    found.extend(tracked::check(&paths));
    let metadata = cmd!(sh, "cargo metadata --no-deps --offline --format-version 1").read()?;
    found.extend(libraries::check(&serde_json::from_str(&metadata)?));
    none_of(&found)
}

/// All findings, file by file.
fn findings(files: &[Source]) -> Vec<Finding> {
    let mut found: Vec<Finding> = files.iter().flat_map(text::check).collect();
    found.extend(budget::check(files));
    found.extend(docs::check(files));
    found.extend(circles::check(files));
    found.extend(types::check(files));
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
}

/// Whether the rules read this file.
fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_none_or(|ending| READ.contains(&ending)) && !path.contains(PASSED_OVER)
}

#[cfg(test)]
mod tests {
    use super::{Source, finding, findings, is_text};

    /// Files for a test of a rule.
    pub(super) fn files(of: &[(&str, &str)]) -> Vec<Source> {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).into(),
            text: (*text).into(),
        };
        of.iter().map(source).collect()
    }

    #[test]
    fn findings_name_their_place() {
        for (line, told) in [(Some(3), "a.rs:3: too wide"), (None, "a.rs: too wide")] {
            assert_eq!(finding("a.rs", line, "too wide").to_string(), told);
        }
    }

    #[test]
    fn every_rule_is_applied() {
        let files = files(&[
            ("ARCHITECTURE.md", "`core/src/gone.rs`\n"),
            ("core/src/utils.rs", "\n"),
        ]);
        let found = findings(&files);
        for path in ["ARCHITECTURE.md", "core/src/utils.rs"] {
            let is_found = found.iter().any(|finding| finding.path == path);
            assert!(is_found, "{path}: {found:?}");
        }
    }

    #[test]
    fn snapshots_and_lock_files_are_exempt() {
        assert!(is_text("core/src/hub.rs"));
        assert!(is_text(".ci/run"));
        assert!(!is_text("sim/scenario/tests/bad_scenarios/network.yaml"));
        assert!(!is_text("Cargo.lock"));
        assert!(!is_text("core/tests/snapshots/stick.snap"));
    }
}
