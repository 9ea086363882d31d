//! The sentences about a run: what failed, and of a pass how much was checked.

use unicode_width::UnicodeWidthStr as _;

use super::checks::{Standing, in_order, of_standing};
use super::header::{name, range, seeds};
use super::line::{Line, PAGE, Style, fit, paragraph};
use super::numbers::{count, milliseconds, plural, told};
use super::run_counts::left_out_words;
use super::{FinishedRun, View, figures};
use chat_types::Span;
use sim_model::outcome::{
    Class, LostTarget, NemesisFailure, RunResult, ThresholdResult, Verdict, is_judged, is_silent,
};

/// `FAIL stick_exclusion · stick_contention · seed 1337 · sim 0.1.0 (3f9c1ab)`, and the reason.
pub(super) fn opening(run: &FinishedRun, view: &View<'_>) -> Vec<Line> {
    let what = fit(&what_failed(run), 40);
    let rest = format!(" · {} · sim {}", failing_seed(run), view.version);
    let taken = "FAIL  · ".width() + what.width() + rest.width();
    let title = Line::styled(Style::Bad, "FAIL ")
        .with(Style::Strong, &what)
        .text(" · ")
        .with(Style::Strong, &name(run, taken.min(PAGE - 12)))
        .text(&rest);
    let mut lines = vec![title];
    for sentence in sentences(run) {
        lines.extend(paragraph("", &sentence, 0));
    }
    lines
}

/// The word for a run with more stuck users than the scenario allows.
pub(super) const STUCK: &str = "stuck";

/// A property, the metric of a threshold, `stuck`, or `unjudged`.
pub(super) fn what_failed(run: &FinishedRun) -> String {
    let result = run.result();
    let broken = || {
        let is_threshold = result.verdict == Verdict::Threshold;
        let mut broken = in_order(result).into_iter();
        let broken = broken.find(|(name, property)| {
            property.held == Some(false) && (Class::of(name) == Class::Threshold) == is_threshold
        });
        broken.map(|(name, _)| name.to_owned())
    };
    match result.verdict {
        Verdict::Pass | Verdict::Interrupted => "nothing".to_owned(),
        Verdict::Unjudged => early_end(result)
            .map_or("unjudged", |(what, ..)| what)
            .to_owned(),
        Verdict::Threshold => {
            let first = crossed(result).next().map(ThresholdResult::limited);
            first.or_else(broken).unwrap_or_default()
        }
        Verdict::Safety | Verdict::Liveness => {
            let first = run.headline().map(|violation| violation.property.clone());
            let stuck = || (!result.rest.held).then(|| STUCK.to_owned());
            first.or_else(broken).or_else(stuck).unwrap_or_default()
        }
    }
}

/// The failing seed, and the range of seeds; all seeds if it is not one seed's failure.
pub(super) fn failing_seed(run: &FinishedRun) -> String {
    let result = run.result();
    match run.headline() {
        Some(violation) if result.seeds > 1 => {
            format!("seed {} of {}", violation.seed, range(result))
        }
        Some(_) | None => seeds(result),
    }
}

/// The sentences about the failure; for a pass, about what was checked.
pub(super) fn sentences(run: &FinishedRun) -> Vec<String> {
    let result = run.result();
    match result.verdict {
        Verdict::Pass | Verdict::Interrupted => claims(run),
        Verdict::Safety | Verdict::Liveness => vec![match run.headline() {
            Some(violation) => violation.detail.clone(),
            None if what_failed(run) == STUCK => rest(result),
            None => format!("{} did not hold.", what_failed(run)),
        }],
        Verdict::Threshold => {
            let all: Vec<_> = crossed(result).map(|one| crossing(one) + ".").collect();
            match all.is_empty() {
                true => vec![format!("{} did not hold.", what_failed(run))],
                false => all,
            }
        }
        Verdict::Unjudged => unjudged(run),
    }
}

/// The loss of the target or the failure of the nemesis that ended a live run before it could be judged:
/// in a few words, by the name of a test case, and as a sentence.
pub(super) fn early_end(result: &RunResult) -> Option<(&'static str, &'static str, String)> {
    let live = result.live.as_ref()?;
    let at = |at: Span| milliseconds(at.0 as f64 / 1e3);
    let (what, case, said) = if let Some(LostTarget { at: when, why }) = &live.lost {
        let said = format!("The target stopped answering at {}: {why}", at(*when));
        ("target lost", "target", said)
    } else {
        let NemesisFailure { at: when, why } = live.nemesis.as_ref()?.failed.as_ref()?;
        let said = format!("The nemesis failed at {}: it {why}", at(*when));
        ("nemesis failed", "nemesis", said)
    };
    let sentence = format!("{said}. The run ended, and its results are those up to then.");
    Some((what, case, sentence))
}

fn unjudged(run: &FinishedRun) -> Vec<String> {
    let result = run.result();
    if let Some((.., sentence)) = early_end(result) {
        return vec![sentence];
    }
    let never = run.unreached();
    let mut sentences = Vec::new();
    if !is_judged(&result.properties) {
        let nothing = "Nothing was judged: no property was exercised by a single check.";
        sentences.push(nothing.to_owned());
    }
    if is_silent(&run.plan, &result.counts) {
        sentences.push(format!(
            "No message was accepted: users of the scenario send, {} were tried, {} refused.",
            count(result.counts.attempted),
            count(result.counts.refused)
        ));
    }
    if !result.left_out.held {
        let seed = told(", the most in seed ", result.left_out.seed, "");
        sentences.push(format!("{}{seed}.", left_out_words(result)));
    }
    if !never.is_empty() {
        sentences.push(format!(
            "Never reached, though the scenario is after it: {} ({} of {} expected).",
            never.join(", "),
            count(never.len() as u64),
            count(run.plan.expect_sometimes.len() as u64)
        ));
    }
    let unmeasured: Vec<String> = result
        .thresholds
        .iter()
        .filter(|threshold| threshold.met.is_none())
        .map(ThresholdResult::whole)
        .collect();
    if !unmeasured.is_empty() {
        let all = unmeasured.join(", ");
        sentences.push(format!("Nothing was measured for: {all}."));
    }
    sentences
}

/// The thresholds that were not met.
pub fn crossed(result: &RunResult) -> impl Iterator<Item = &ThresholdResult> {
    let all = result.thresholds.iter();
    all.filter(|threshold| threshold.met == Some(false))
}

/// `message_latency p(90)<1s was crossed: 3.21s`
pub(super) fn crossing(threshold: &ThresholdResult) -> String {
    let seed = told(" (seed ", threshold.seed, ")");
    let measured = figures::measured(threshold);
    format!("{} was crossed: {measured}{seed}", threshold.whole())
}

/// The claims of a pass, as sentences: only what was checked.
fn claims(run: &FinishedRun) -> Vec<String> {
    let result = run.result();
    let held = of_standing(result, Standing::Held);
    let checks = held.iter().map(|(_, property)| property.checks).sum();
    let checks = plural(checks, "check");
    let held = plural(held.len() as u64, "property");
    let mut properties = format!("{held} held in {checks}");
    for standing in [Standing::NotExercised, Standing::Unjudged] {
        let n = of_standing(result, standing).len() as u64;
        if n > 0 {
            properties.push_str(&format!(", {} {}", count(n), standing.name()));
        }
    }
    let mut claims = vec![properties + "."];
    let (thresholds, points) = (result.thresholds.len(), run.plan.expect_sometimes.len());
    for (number, what, how) in [
        (thresholds as u64, "threshold", "met"),
        (points as u64, "expected point", "reached"),
    ] {
        if number > 0 {
            let was = if number == 1 { "was" } else { "were" };
            claims.push(format!("{} {was} {how}.", plural(number, what)));
        }
    }
    if result.rest.stuck > 0 {
        claims.push(rest(result));
    }
    claims
}

/// `12 of 267 users were stuck when the run ended, and the scenario allows none.`
pub(super) fn rest(result: &RunResult) -> String {
    let rest = &result.rest;
    let users = plural(result.users, "user");
    let were = if rest.stuck == 1 { "was" } else { "were" };
    if rest.stuck == 0 {
        return format!("None of {users} was stuck when the run ended.");
    }
    let stuck = count(rest.stuck);
    let stuck = format!("{stuck} of {users} {were} stuck when the run ended");
    let which = told(", the most in seed ", rest.seed, "");
    match (&rest.allowed, rest.held) {
        (Some(allowed), true) => format!("{stuck}; the scenario allows {allowed} of them."),
        (Some(allowed), false) => format!("{stuck}{which}; the scenario allows {allowed} of them."),
        (None, _) => format!("{stuck}{which}; the scenario allows none."),
    }
}
