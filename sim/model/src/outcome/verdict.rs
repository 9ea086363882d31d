//! Verdicts, and their exit codes.

use std::collections::BTreeMap;

use super::{Class, Counts, Point, PropertyResult, RunResult, ThresholdResult, Verdict};
use crate::plan::{Plan, Step, Verb};
use crate::protocol::Plain;

/// Exit codes, the gravest first; 0 is not among them.
pub const GRAVEST_FIRST: [u8; 6] = [2, 1, 3, 4, 99, INTERRUPTED];

/// The exit code of a run that was interrupted, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// The graver of two exit codes.
#[must_use]
pub fn worst(one: u8, other: u8) -> u8 {
    GRAVEST_FIRST
        .into_iter()
        .find(|code| *code == one || *code == other)
        .unwrap_or(0)
}

impl Verdict {
    /// The exit code of a verdict.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Safety => 1,
            Self::Liveness => 3,
            Self::Unjudged => 4,
            Self::Threshold => 99,
            Self::Interrupted => INTERRUPTED,
        }
    }
}

/// Properties that a run exercises even if no user does anything, because the server reports its
/// sizes.
const OF_THE_SERVER_ALONE: [&str; 1] = ["bounded"];

/// Whether the users' actions were judged: at least one check exercised at least one property.
#[must_use]
pub fn is_judged(properties: &BTreeMap<String, PropertyResult>) -> bool {
    let judged = |property: &PropertyResult| property.checks > 0 && property.held.is_some();
    properties
        .iter()
        .any(|(name, property)| judged(property) && !OF_THE_SERVER_ALONE.contains(&name.as_str()))
}

/// The gravest verdict that applies to this result of the plan. A run is unjudged if a threshold has
/// no values, if no property was exercised, if none of its messages was accepted, if an expected
/// point was not reached, or if more users never got in than may be stuck.
#[must_use]
pub fn judge(plan: &Plan, result: &RunResult) -> Verdict {
    let is_silent = is_silent(plan, &result.counts);
    let is_conclusive = !is_silent && unreached(plan, &result.sometimes).is_empty();
    gravest(result, is_conclusive)
}

/// The verdict, if the users' messages were accepted and the expected points reached; or not.
fn gravest(result: &RunResult, is_conclusive: bool) -> Verdict {
    let violated = |class: Class| {
        let broken = result.properties.iter();
        let broken = broken.filter(|(_, property)| property.held == Some(false));
        let broken = broken.map(|(name, _)| name);
        let violated = result.violations.iter().map(|one| &one.property);
        broken.chain(violated).any(|name| Class::of(name) == class)
    };
    let crossed = |threshold: &ThresholdResult| threshold.met == Some(false);
    let unmeasured = |threshold: &ThresholdResult| threshold.met.is_none();
    if violated(Class::Safety) {
        Verdict::Safety
    } else if violated(Class::Liveness) || !result.rest.held {
        Verdict::Liveness
    } else if !is_judged(&result.properties)
        || !is_conclusive
        || !result.left_out.held
        || result.thresholds.iter().any(unmeasured)
    {
        Verdict::Unjudged
    } else if violated(Class::Threshold) || result.thresholds.iter().any(crossed) {
        Verdict::Threshold
    } else {
        Verdict::Pass
    }
}

/// Whether a plan's users send messages and none was accepted, so that no delivery was judged. A
/// scenario that aims at refusals states so in `expect_sometimes`.
#[must_use]
pub fn is_silent(plan: &Plan, counts: &Counts) -> bool {
    let sends = |step: &&Step| {
        matches!(
            step,
            Step::Call(Verb::Send(_) | Verb::Speak(_) | Verb::Plain(Plain::Push))
        )
    };
    counts.accepted == 0
        && plan.expect_sometimes.is_empty()
        && plan.workload.single_steps().iter().any(sends)
}

/// Whether the plan is about users that are refused before they are participants.
#[must_use]
pub fn expects_refusals_at_the_door(plan: &Plan) -> bool {
    plan.expect_sometimes.contains(&Point::TurnedAway.name())
}

/// The `expect_sometimes` points of a plan that were never reached.
#[must_use]
pub fn unreached(plan: &Plan, sometimes: &BTreeMap<String, u64>) -> Vec<&'static str> {
    let never = |name: &&'static str| sometimes.get(*name).copied().unwrap_or(0) == 0;
    let expected = plan.expect_sometimes.iter().copied();
    expected.filter(never).collect()
}

#[cfg(test)]
mod tests;
