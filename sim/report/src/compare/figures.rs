//! A run as a list of figures, each with its name and the worse direction.

use serde::Serialize;
use serde_json::Value;

use sim_model::outcome::{Class, GRAVEST_FIRST, RunResult, Verdict};
use sim_model::plan::Metric;

/// The amount of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// A number.
    Number(f64),
    /// A word, or a hash.
    Word(String),
    /// Whether a property held; `None` if it was not exercised.
    Held(Option<bool>),
}

/// The worse direction of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Neither is worse.
    Neutral,
    MoreIsWorse,
    LessIsWorse,
    /// To become zero is worse; no other change is better or worse.
    NoneIsWorse,
    /// Violated is worse than held or not exercised.
    Held(Class),
    /// The word of a verdict.
    Verdict,
}

/// One figure of a run.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) amount: Amount,
    pub(super) direction: Direction,
}

/// The beginning of the figures that count how often a point was reached.
pub(crate) const REACHED: &str = "reached ";

/// The beginning of the figures that count how often a property was checked.
pub(crate) const CHECKS: &str = "checks ";

/// Messages that must not occur, and unanswered calls.
const BAD_COUNTS: [&str; 7] = [
    "unanswered",
    "lost",
    "gapped",
    "duplicated",
    "reordered",
    "phantom",
    "skipped",
];

impl Direction {
    /// How bad an amount is, relative to others of the same figure; `None` if that is undefined.
    pub(super) fn badness(self, amount: &Amount) -> Option<f64> {
        match (self, amount) {
            (Self::MoreIsWorse, Amount::Number(n)) => Some(*n),
            (Self::LessIsWorse, Amount::Number(n)) => Some(-*n),
            (Self::NoneIsWorse, Amount::Number(n)) => Some(if *n > 0.0 { 0.0 } else { 1.0 }),
            (Self::Held(_), Amount::Held(held)) => Some(match held {
                Some(true) => 0.0,
                None => 0.5,
                Some(false) => 1.0,
            }),
            (Self::Verdict, Amount::Word(word)) => {
                let code = Verdict::named(word)?.exit_code();
                let place = GRAVEST_FIRST.iter().position(|graver| *graver == code);
                Some(-place.map_or(f64::INFINITY, |place| place as f64))
            }
            (_, _) => None,
        }
    }
}

/// All figures of a run that virtual time decides, in the order of the result's fields.
pub(super) fn figures(run: &RunResult) -> Vec<Figure> {
    use Amount::Number;
    use Direction::{Held, LessIsWorse, MoreIsWorse, Neutral, NoneIsWorse};
    let mut all = Vec::new();
    let mut add = |name: &str, amount, direction| {
        all.push(Figure {
            name: name.to_owned(),
            amount,
            direction,
        });
    };
    let word = |word: &str| Amount::Word(word.to_owned());
    let count = |n: u64| Number(n as f64);
    add("verdict", word(run.verdict.name()), Direction::Verdict);
    add("trace_hash", word(&run.trace_hash), Neutral);
    add("virtual_ms", Number(run.virtual_ms), Neutral);
    add("users", count(run.users), Neutral);
    add("steps", count(run.steps), Neutral);
    for (name, n) in numbers(run.counts) {
        let is_bad = BAD_COUNTS.contains(&name.as_str());
        let direction = if is_bad { MoreIsWorse } else { Neutral };
        add(&format!("counts {name}"), Number(n), direction);
    }
    for (name, property) in &run.properties {
        let class = Held(Class::of(name));
        add(
            &format!("property {name}"),
            Amount::Held(property.held),
            class,
        );
        add(&format!("{CHECKS}{name}"), count(property.checks), Neutral);
    }
    for (name, n) in &run.sometimes {
        add(&format!("{REACHED}{name}"), count(*n), NoneIsWorse);
    }
    for (name, metric) in &run.metrics {
        for (part, n) in numbers(metric) {
            let is_count = part == "count";
            let direction = if is_count { Neutral } else { MoreIsWorse };
            add(&format!("{name} {part}"), Number(n), direction);
        }
    }
    for (name, fairness) in &run.fairness {
        // Shares of waits are figures of the metric, too.
        let is_wait = run.metrics.contains_key(name);
        for (part, n) in numbers(fairness) {
            let direction = match part.as_str() {
                "max" | "mean" if is_wait => continue,
                "jain" => LessIsWorse,
                "overtaken" => MoreIsWorse,
                _ => Neutral,
            };
            add(&format!("{name} {part}"), Number(n), direction);
        }
    }
    for threshold in &run.thresholds {
        let (name, met) = (threshold.whole(), Amount::Held(threshold.met));
        add(&format!("threshold {name}"), met, Held(Class::Threshold));
    }
    for (code, n) in &run.refusals {
        add(&format!("refused {code}"), count(*n), Neutral);
    }
    let stuck = run.stuck.len() as u64 + run.stuck_left_out;
    let violations = run.violations.len() as u64 + run.violations_left_out;
    add("stuck", count(stuck), MoreIsWorse);
    add("left_out", count(run.left_out.users), MoreIsWorse);
    add("violations", count(violations), MoreIsWorse);
    all
}

/// The numbers among the fields of a part of the result, by name.
fn numbers(part: impl Serialize) -> Vec<(String, f64)> {
    let fields = serde_json::to_value(part).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
    fields.filter_map(number).collect()
}

/// Whether a figure is in milliseconds: quantiles of durations, and virtual time.
pub(crate) fn is_duration(figure: &str) -> bool {
    let (name, part) = figure.split_once(' ').unwrap_or((figure, ""));
    let of_duration = Metric::named(name).is_some_and(Metric::is_duration);
    let counted = matches!(
        part,
        "count" | "unfinished" | "unserved" | "users" | "overtaken" | "jain" | ""
    );
    figure == "virtual_ms" || of_duration && !counted
}

#[cfg(test)]
mod tests {
    use super::is_duration;

    #[test]
    fn of_a_wait_only_durations_are_shown_as_such() {
        for part in ["p50", "max", "mean", "longest_unserved"] {
            assert!(is_duration(&format!("stick_wait {part}")), "{part}");
        }
        for part in ["count", "users", "unserved", "unfinished"] {
            assert!(!is_duration(&format!("stick_wait {part}")), "{part}");
        }
    }
}
