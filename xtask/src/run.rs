//! Runs the steps one after another, and sums up their outcomes.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::outcome::{Outcome, Strictness};
use crate::steps::Step;

/// The verdict of the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Bad,
}

/// The outcome of each step, and its duration.
#[derive(Debug)]
pub(crate) struct Report(Vec<(Step, Outcome, Duration)>);

/// Runs every step, also after failures, and prints the name of each at its start and end.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn all(
    steps: &[Step],
    out: &mut impl Write,
    mut run: impl FnMut(Step) -> Outcome,
) -> io::Result<Report> {
    let mut done = Vec::with_capacity(steps.len());
    for (index, &step) in steps.iter().enumerate() {
        let (number, of) = (index + 1, steps.len());
        writeln!(out, "\n=== {number}/{of} {}: {}", step.name(), step.about())?;
        out.flush()?;
        let started = Instant::now();
        let outcome = run(step);
        let took = started.elapsed();
        match &outcome {
            Outcome::Passed => writeln!(out, "{}: passed in {}", step.name(), seconds(took))?,
            Outcome::Failed(why) => {
                writeln!(out, "{why}\n{}: FAILED in {}", step.name(), seconds(took))?;
            }
            Outcome::Skipped(why) => writeln!(out, "{}: skipped: {why}", step.name())?,
        }
        done.push((step, outcome, took));
    }
    Ok(Report(done))
}

impl Report {
    /// Writes the summary, whose last line is `N passed, N failed, N skipped`.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub(crate) fn write(
        &self,
        out: &mut impl Write,
        strictness: Strictness,
    ) -> io::Result<Verdict> {
        let (mut passed, mut failed, mut skipped) = (0_u32, Vec::new(), 0_u32);
        let mut unexcused = 0_u32;
        writeln!(out, "\n=== summary")?;
        for (step, outcome, took) in &self.0 {
            let (name, took) = (step.name(), seconds(*took));
            match outcome {
                Outcome::Passed => {
                    passed += 1;
                    writeln!(out, "passed   {name:<12} {took:>8}")?;
                }
                Outcome::Failed(why) => {
                    failed.push(name);
                    writeln!(out, "FAILED   {name:<12} {took:>8}  {}", first_line(why))?;
                }
                Outcome::Skipped(why) => {
                    skipped += 1;
                    unexcused += u32::from(!step.needs_the_internet());
                    writeln!(out, "skipped  {name:<12} {took:>8}  {}", first_line(why))?;
                }
            }
        }
        if !failed.is_empty() {
            writeln!(out, "again:   cargo xtask test --only {}", failed.join(","))?;
        }
        let is_incomplete = unexcused > 0 && strictness == Strictness::Strict;
        if is_incomplete {
            writeln!(out, "CI=true: a skipped step fails the run")?;
        }
        let total = self.0.iter().map(|(_, _, took)| *took).sum();
        writeln!(out, "in {}", seconds(total))?;
        writeln!(
            out,
            "{passed} passed, {} failed, {skipped} skipped",
            failed.len()
        )?;
        out.flush()?;
        let bad = !failed.is_empty() || is_incomplete;
        Ok(if bad { Verdict::Bad } else { Verdict::Good })
    }
}

/// The first line of a reason. All lines were shown at the end of the step.
fn first_line(why: &str) -> String {
    let mut lines = why.lines();
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first} (and {more} more)"),
    }
}

/// A duration as `83.1s`.
fn seconds(took: Duration) -> String {
    format!("{:.1}s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Report, Strictness, Verdict, all};
    use crate::outcome::Outcome;
    use crate::steps::Step;
    use std::time::Duration;

    fn summary(outcomes: &[(Step, Outcome)], strictness: Strictness) -> (String, Verdict) {
        let report = Report(
            outcomes
                .iter()
                .map(|(step, outcome)| (*step, outcome.clone(), Duration::from_millis(1_500)))
                .collect(),
        );
        let mut out = Vec::new();
        let verdict = report
            .write(&mut out, strictness)
            .expect("a vector takes all");
        (String::from_utf8(out).expect("text"), verdict)
    }

    #[test]
    fn a_failing_step_does_not_stop_the_others() {
        let mut ran = Vec::new();
        let mut out = Vec::new();
        let steps = [Step::Fmt, Step::Tidy, Step::Doc];
        let report = all(&steps, &mut out, |step| {
            ran.push(step);
            if step == Step::Tidy {
                Outcome::Failed("a.rs: too long".into())
            } else {
                Outcome::Passed
            }
        })
        .expect("a vector takes all");
        assert_eq!(ran, steps);
        assert_eq!(report.0.len(), 3);
        let shown = String::from_utf8(out).expect("text");
        assert!(shown.contains("=== 2/3 tidy: "), "{shown}");
        assert!(
            shown.contains("a.rs: too long\ntidy: FAILED in "),
            "{shown}"
        );
    }

    #[test]
    fn the_summary_ends_with_the_counts_alone_on_a_line() {
        let (text, verdict) = summary(
            &[
                (Step::Fmt, Outcome::Passed),
                (Step::Tidy, Outcome::Failed("one\ntwo\nthree".into())),
                (Step::Deny, Outcome::Skipped("not installed".into())),
                (Step::Doc, Outcome::Failed("four".into())),
            ],
            Strictness::Lenient,
        );
        assert!(
            text.contains("FAILED   tidy             1.5s  one (and 2 more)\n"),
            "{text}"
        );
        assert!(
            text.contains("again:   cargo xtask test --only tidy,doc\n"),
            "{text}"
        );
        assert!(
            text.ends_with("\n1 passed, 2 failed, 1 skipped\n"),
            "{text}"
        );
        assert_eq!(verdict, Verdict::Bad);
    }

    #[test]
    fn a_skipped_step_fails_the_run_only_in_ci() {
        let outcomes = [
            (Step::Fmt, Outcome::Passed),
            (Step::Deny, Outcome::Skipped("not installed".into())),
        ];
        let (text, verdict) = summary(&outcomes, Strictness::Lenient);
        assert!(
            text.ends_with("\n1 passed, 0 failed, 1 skipped\n"),
            "{text}"
        );
        assert_eq!(verdict, Verdict::Good);
        assert_eq!(summary(&outcomes, Strictness::Strict).1, Verdict::Bad);
    }

    #[test]
    fn a_step_without_the_internet_is_skipped() {
        let outcomes = [(Step::Advisories, Outcome::Skipped("no network".into()))];
        let (text, verdict) = summary(&outcomes, Strictness::Strict);
        assert!(text.contains("skipped  advisories"), "{text}");
        assert_eq!(verdict, Verdict::Good);
    }

    #[test]
    fn all_passed_is_good_even_in_ci() {
        let outcomes = [(Step::Fmt, Outcome::Passed)];
        assert_eq!(summary(&outcomes, Strictness::Strict).1, Verdict::Good);
    }
}
