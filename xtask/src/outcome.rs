//! The outcome of a step.

use std::fmt;

use anyhow::{Error, Result, ensure};
use serde::{Deserialize, Serialize};

/// Why a step could not run here, as an error.
#[derive(Debug)]
struct NotHere(String);

impl fmt::Display for NotHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotHere {}

/// The error of a step that could not run here, for this reason.
pub(crate) fn skipped(why: impl fmt::Display) -> Error {
    NotHere(format!("{why:#}")).into()
}

/// An error with a line for each finding, if there are any.
///
/// # Errors
/// The findings.
pub(crate) fn none_of<T: fmt::Display>(findings: &[T]) -> Result<()> {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    ensure!(lines.is_empty(), lines.join("\n"));
    Ok(())
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// No findings.
    Passed,
    /// Findings, one or more lines.
    Failed(String),
    /// It could not run here; one line gives the reason.
    Skipped(String),
}

impl From<Result<()>> for Outcome {
    fn from(done: Result<()>) -> Self {
        match done {
            Ok(()) => Self::Passed,
            Err(why) if why.is::<NotHere>() => Self::Skipped(why.to_string()),
            Err(why) => Self::Failed(format!("{why:#}")),
        }
    }
}

/// Whether `CI` is `true` or `1`, as on a machine that must not pass over an unchecked step.
pub(crate) fn is_ci() -> bool {
    matches!(std::env::var("CI").as_deref(), Ok("true" | "1"))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::{Outcome, none_of, skipped};

    #[test]
    fn no_findings_pass_and_findings_fail_with_a_line_each() {
        assert_eq!(Outcome::from(none_of::<&str>(&[])), Outcome::Passed);
        assert_eq!(
            Outcome::from(none_of(&["one", "two"])),
            Outcome::Failed("one\ntwo".into())
        );
    }

    #[test]
    fn a_step_that_cannot_run_here_is_skipped_for_its_whole_reason() {
        let why = anyhow!("no network").context("not installed");
        assert_eq!(
            Outcome::from(Err(skipped(why))),
            Outcome::Skipped("not installed: no network".into())
        );
    }
}
