//! What a step comes to.

use std::fmt;

/// What a step comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything it checks is as it should be.
    Passed,
    /// Something is not; a line or more say what.
    Failed(String),
    /// It could not be checked here; a line says why.
    Skipped(String),
}

impl Outcome {
    /// Passed if nothing was found, else failed with what was.
    pub(crate) fn of_findings<T: fmt::Display>(findings: &[T]) -> Self {
        if findings.is_empty() {
            return Self::Passed;
        }
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Self::Failed(lines.join("\n"))
    }

    /// This if it is not a pass, else what comes next.
    pub(crate) fn and_then(self, next: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Passed => next(),
            Self::Failed(_) | Self::Skipped(_) => self,
        }
    }
}

/// What a skipped step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// It is named, and that is all: a person's machine need not have every tool.
    Lenient,
    /// It fails the run: CI must not be green over something that nobody checked.
    Strict,
}

impl Strictness {
    /// Strict where `CI` is `true` or `1`.
    pub(crate) fn from_environment() -> Self {
        match std::env::var("CI").as_deref() {
            Ok("true" | "1") => Self::Strict,
            Ok(_) | Err(_) => Self::Lenient,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn no_findings_pass_and_findings_fail_with_a_line_each() {
        assert_eq!(Outcome::of_findings::<&str>(&[]), Outcome::Passed);
        assert_eq!(
            Outcome::of_findings(&["one", "two"]),
            Outcome::Failed("one\ntwo".into())
        );
    }

    #[test]
    fn what_comes_next_is_tried_only_after_a_pass() {
        let failed = Outcome::Failed("first".into());
        assert_eq!(failed.clone().and_then(|| Outcome::Passed), failed);
        assert_eq!(Outcome::Passed.and_then(|| failed.clone()), failed);
    }
}
