//! The outcome of a step.

use std::fmt;

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No findings.
    Passed,
    /// Findings, one or more lines.
    Failed(String),
    /// It could not run here; one line gives the reason.
    Skipped(String),
}

impl Outcome {
    /// Passed if there are no findings, otherwise failed.
    pub(crate) fn of_findings<T: fmt::Display>(findings: &[T]) -> Self {
        if findings.is_empty() {
            return Self::Passed;
        }
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Self::Failed(lines.join("\n"))
    }

    /// The outcome as text: a word on a line, and the reason.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Passed => "passed\n".into(),
            Self::Failed(why) => format!("failed\n{why}"),
            Self::Skipped(why) => format!("skipped\n{why}"),
        }
    }

    /// Reads the text of an outcome.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.split_once('\n')? {
            ("passed", "") => Some(Self::Passed),
            ("failed", why) => Some(Self::Failed(why.into())),
            ("skipped", why) => Some(Self::Skipped(why.into())),
            _ => None,
        }
    }

    /// This outcome if it is not a pass, otherwise that of `next`.
    pub(crate) fn and_then(self, next: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Passed => next(),
            Self::Failed(_) | Self::Skipped(_) => self,
        }
    }
}

/// How skipped steps affect the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// They are only reported: a developer's machine may lack some tools.
    Lenient,
    /// They fail the run: CI must not pass over an unchecked step.
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
    fn every_outcome_is_read_back_from_its_text() {
        for outcome in [
            Outcome::Passed,
            Outcome::Failed("one\ntwo".into()),
            Outcome::Skipped(String::new()),
        ] {
            assert_eq!(Outcome::parse(&outcome.text()), Some(outcome));
        }
        assert_eq!(Outcome::parse(""), None);
        assert_eq!(Outcome::parse("passe"), None);
    }

    #[test]
    fn a_following_step_runs_only_after_a_pass() {
        let failed = Outcome::Failed("first".into());
        assert_eq!(failed.clone().and_then(|| Outcome::Passed), failed);
        assert_eq!(Outcome::Passed.and_then(|| failed.clone()), failed);
    }
}
