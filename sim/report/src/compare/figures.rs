//! A run as a list of figures, each with its name and the worse direction.

use serde::Serialize;
use serde_json::Value;

use crate::verdict_lines::verdict_word;
use sim_model::outcome::{Class, RunResult};
use sim_model::plan::{Metric, limited};

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

impl Figure {
    /// Whether it can be compared between runs with different seeds.
    pub(super) const fn is_of_verdict(&self) -> bool {
        matches!(self.direction, Direction::Held(_) | Direction::Verdict)
    }
}

/// The beginning of the figures that count how often a point was reached.
pub(crate) const REACHED: &str = "reached ";

/// The beginning of the figures that count how often a property was checked.
pub(crate) const CHECKS: &str = "checks ";

/// Verdicts from the best to the worst.
const VERDICTS: [&str; 6] = [
    "pass",
    "interrupted",
    "threshold",
    "unjudged",
    "liveness",
    "safety",
];

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
                let place = VERDICTS.iter().position(|verdict| verdict == word)?;
                Some(place as f64)
            }
            (_, _) => None,
        }
    }
}

/// All figures of a run that virtual time decides, in the order of the result's fields.
pub(super) fn figures(run: &RunResult) -> Vec<Figure> {
    let mut all = heads(run);
    for (name, n) in numbers(run.counts) {
        let direction = if BAD_COUNTS.contains(&name.as_str()) {
            Direction::MoreIsWorse
        } else {
            Direction::Neutral
        };
        all.push(number(format!("counts {name}"), n, direction));
    }
    for (name, property) in &run.properties {
        let held = Amount::Held(property.held);
        let class = Direction::Held(Class::of(name));
        all.push(figure(format!("property {name}"), held, class));
        let checks = property.checks as f64;
        all.push(number(
            format!("{CHECKS}{name}"),
            checks,
            Direction::Neutral,
        ));
    }
    for (name, n) in &run.sometimes {
        let reached = format!("{REACHED}{name}");
        all.push(number(reached, *n as f64, Direction::NoneIsWorse));
    }
    for (name, metric) in &run.metrics {
        for (part, n) in numbers(metric) {
            let direction = if part == "count" {
                Direction::Neutral
            } else {
                Direction::MoreIsWorse
            };
            all.push(number(format!("{name} {part}"), n, direction));
        }
    }
    for (name, fairness) in &run.fairness {
        // Shares of waits are figures of the metric, too.
        let is_wait = run.metrics.contains_key(name);
        for (part, n) in numbers(fairness) {
            if is_wait && ["max", "mean"].contains(&part.as_str()) {
                continue;
            }
            let direction = match part.as_str() {
                "jain" => Direction::LessIsWorse,
                "overtaken" => Direction::MoreIsWorse,
                _ => Direction::Neutral,
            };
            all.push(number(format!("{name} {part}"), n, direction));
        }
    }
    all.extend(tails(run));
    all
}

/// The verdict, and the figures about the length of the run.
fn heads(run: &RunResult) -> Vec<Figure> {
    let word = |name: &str, word: &str, direction| {
        figure(name.to_owned(), Amount::Word(word.to_owned()), direction)
    };
    let neutral = |name: &str, n| number(name.to_owned(), n, Direction::Neutral);
    vec![
        word("verdict", verdict_word(run.verdict), Direction::Verdict),
        word("trace_hash", &run.trace_hash, Direction::Neutral),
        neutral("virtual_ms", run.virtual_ms),
        neutral("users", run.users as f64),
        neutral("steps", run.steps as f64),
    ]
}

/// Thresholds, refusals, and the numbers of stuck users and violations.
fn tails(run: &RunResult) -> Vec<Figure> {
    let mut all = Vec::new();
    for threshold in &run.thresholds {
        let limited = limited(&threshold.metric, threshold.persona.as_deref());
        let name = format!("threshold {limited} {}", threshold.expression);
        let class = Direction::Held(Class::Threshold);
        all.push(figure(name, Amount::Held(threshold.met), class));
    }
    for (code, n) in &run.refusals {
        let name = format!("refused {code}");
        all.push(number(name, *n as f64, Direction::Neutral));
    }
    let stuck = run.stuck.len() as u64 + run.stuck_left_out;
    let violations = run.violations.len() as u64 + run.violations_left_out;
    for (name, n) in [
        ("stuck", stuck),
        ("left_out", run.left_out.users),
        ("violations", violations),
    ] {
        all.push(number(name.to_owned(), n as f64, Direction::MoreIsWorse));
    }
    all
}

/// The numbers among the fields of a part of the result, by name.
fn numbers(part: impl Serialize) -> Vec<(String, f64)> {
    let fields = serde_json::to_value(part).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
    fields.filter_map(number).collect()
}

const fn figure(name: String, amount: Amount, direction: Direction) -> Figure {
    Figure {
        name,
        amount,
        direction,
    }
}

const fn number(name: String, n: f64, direction: Direction) -> Figure {
    figure(name, Amount::Number(n), direction)
}

/// Whether a figure is in milliseconds: quantiles of durations, and virtual time.
pub(crate) fn is_duration(figure: &str) -> bool {
    let (name, part) = figure.split_once(' ').unwrap_or((figure, ""));
    let of_duration = Metric::named(name).is_some_and(Metric::is_duration);
    let counted = matches!(part, "count" | "unfinished" | "overtaken" | "jain" | "");
    figure == "virtual_ms" || of_duration && !counted
}
