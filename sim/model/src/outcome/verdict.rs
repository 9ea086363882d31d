//! What a run comes to, and the exit code that says so.

use std::collections::BTreeMap;

use super::{Class, Counts, PropertyResult, RestResult, ThresholdResult, Verdict, Violation};
use crate::plan::{Plan, Step, Verb, Workload};
use crate::protocol::Plain;

/// Exit codes from the gravest on: 2 before 1 before 3 before 4 before 99.
const GRAVEST_FIRST: [u8; 5] = [2, 1, 3, 4, 99];

/// The graver of two exit codes.
#[must_use]
pub fn worst(one: u8, other: u8) -> u8 {
    GRAVEST_FIRST
        .into_iter()
        .find(|code| *code == one || *code == other)
        .unwrap_or(0)
}

impl Verdict {
    /// The exit code of a run that comes to this.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Safety => 1,
            Self::Liveness => 3,
            Self::Unjudged => 4,
            Self::Threshold => 99,
        }
    }
}

/// What makes up a verdict.
pub struct Evidence<'a> {
    /// Each property by name.
    pub properties: &'a BTreeMap<String, PropertyResult>,
    /// What was violated.
    pub violations: &'a [Violation],
    /// Each threshold, as measured.
    pub thresholds: &'a [ThresholdResult],
    /// Points of `expect_sometimes` that were never reached.
    pub unreached: &'a [&'a str],
    /// Whether users send, and no message was accepted.
    pub silent: bool,
    /// Whether users were at rest in the end.
    pub rest: &'a RestResult,
}

/// Properties that a run exercises whether or not a user does anything: the server reports its
/// sizes.
const OF_THE_SERVER_ALONE: [&str; 1] = ["bounded"];

/// Whether what users did was judged: at least one property was exercised by at least one check.
#[must_use]
pub fn is_judged(properties: &BTreeMap<String, PropertyResult>) -> bool {
    let judged = |property: &PropertyResult| property.checks > 0 && property.held.is_some();
    properties
        .iter()
        .any(|(name, property)| judged(property) && !OF_THE_SERVER_ALONE.contains(&name.as_str()))
}

/// The class that a violation of this property belongs to. What is no property (a panic) is
/// as grave as a safety property.
#[must_use]
pub fn class_of(properties: &BTreeMap<String, PropertyResult>, name: &str) -> Class {
    properties
        .get(name)
        .map_or(Class::Safety, |property| property.class)
}

/// The gravest thing that can be said. A threshold of which nothing was measured could not be
/// judged, nor could a run that exercised no property, or one whose users send in vain.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    let violated = |class: Class| {
        let broken =
            |property: &PropertyResult| property.held == Some(false) && property.class == class;
        evidence.properties.values().any(broken)
            || evidence
                .violations
                .iter()
                .any(|violation| class_of(evidence.properties, &violation.property) == class)
    };
    let crossed = |threshold: &ThresholdResult| threshold.met == Some(false);
    let unmeasured = |threshold: &ThresholdResult| threshold.met.is_none();
    if violated(Class::Safety) {
        Verdict::Safety
    } else if violated(Class::Liveness) || !evidence.rest.held {
        Verdict::Liveness
    } else if !is_judged(evidence.properties)
        || evidence.silent
        || !evidence.unreached.is_empty()
        || evidence.thresholds.iter().any(unmeasured)
    {
        Verdict::Unjudged
    } else if violated(Class::Threshold) || evidence.thresholds.iter().any(crossed) {
        Verdict::Threshold
    } else {
        Verdict::Pass
    }
}

/// Whether the users of a plan send, and no message was accepted: then nothing of its delivery was
/// judged. A scenario that is after refusals says so in `expect_sometimes`.
#[must_use]
pub fn is_silent(plan: &Plan, counts: &Counts) -> bool {
    counts.accepted == 0 && plan.expect_sometimes.is_empty() && sends(&plan.workload)
}

/// Whether any user says something: by a message, or by a push.
fn sends(workload: &Workload) -> bool {
    match workload {
        Workload::Phases { personas, .. } => {
            let mut flows = personas.iter().flat_map(|persona| persona.flow.iter());
            flows.any(says)
        }
        Workload::Steps { steps, .. } => steps.iter().any(|step| says(&step.what)),
    }
}

fn says(step: &Step) -> bool {
    match step {
        Step::Call(verb) => matches!(verb, Verb::Send(_) | Verb::Plain(Plain::Push)),
        Step::Loop { steps, .. } => steps.iter().any(says),
        Step::Choose(choices) => choices.iter().any(|one| one.steps.iter().any(says)),
        Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => false,
    }
}

/// The `expect_sometimes` points of a plan that were never reached.
#[must_use]
pub fn unreached(plan: &Plan, sometimes: &BTreeMap<String, u64>) -> Vec<&'static str> {
    let never = |name: &&'static str| sometimes.get(*name).copied().unwrap_or(0) == 0;
    plan.expect_sometimes
        .iter()
        .copied()
        .filter(never)
        .collect()
}

#[cfg(test)]
mod tests;
