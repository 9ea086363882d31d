//! The properties, one file for each that the auditor judges: the comparisons that check it, and the
//! differences that break its rule. A difference belongs to the first property, in the order below, whose
//! rule it breaks.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule names the differences that break it; all others do not"
)]

mod admission;
mod bounded;
mod breaks_rules;
mod delivery_progress;
mod durability;
pub mod fairness;
mod fifo_matching;
mod idempotent_requests;
pub mod latency;
mod log_progress;
mod moderation;
mod no_duplicates;
mod no_lost_messages;
mod no_phantoms;
mod outcomes;
mod presence;
mod queue_progress;
mod room_lifecycle;
mod room_order;
mod single_match;
mod stick_exclusion;
mod stick_order;
mod stick_progress;
mod stream_continuity;

use sim_model::listing::{Kept, Listed};
use sim_model::protocol::{Code, Decided, OpKind, Refusal, Reply};
use sim_model::server::Entry;

use crate::comparison::{Comparison, ComparisonCounts};
use crate::difference::{BatchItem, Decision, Difference, EventPosition, Unsolicited};
use crate::findings::{Findings, Property};
use crate::model::{Body, Model};

/// The rule of one property.
struct Rule {
    property: Property,
    /// The comparisons that count as its checks.
    counts: &'static [Comparison],
    /// Whether a difference breaks it.
    breaks: fn(&Difference, &Model) -> bool,
}

/// Rules in the order in which they are tried: more specific rules first.
const RULES: [Rule; 25] = [
    moderation::KEPT,
    log_progress::RULE,
    bounded::RULE,
    durability::RULE,
    idempotent_requests::RULE,
    admission::RULE,
    presence::RULE,
    outcomes::ARGUMENTS,
    moderation::RULE,
    room_lifecycle::ROOMS,
    breaks_rules::RULE,
    stream_continuity::RULE,
    no_duplicates::RULE,
    no_lost_messages::RULE,
    stick_exclusion::RULE,
    stick_order::RULE,
    fifo_matching::RULE,
    single_match::RULE,
    no_phantoms::RULE,
    room_order::RULE,
    room_lifecycle::RULE,
    queue_progress::RULE,
    stick_progress::RULE,
    delivery_progress::RULE,
    outcomes::RULE,
];

/// The property whose rule the difference breaks.
pub(crate) fn owner(difference: &Difference, model: &Model) -> Property {
    let broken = RULES.iter().find(|rule| (rule.breaks)(difference, model));
    broken.map_or(Property::Outcomes, |rule| rule.property)
}

/// Adds the comparisons to the checks of their properties.
pub(crate) fn count(tally: &ComparisonCounts, findings: &mut Findings) {
    for rule in &RULES {
        findings.exercise(rule.property, tally.of(rule.counts));
    }
}

/// The expected and the observed event of a difference between events.
fn events(difference: &Difference) -> [Option<&Body>; 2] {
    let Difference::Event(EventPosition { owed, seen, .. }) = difference else {
        return [None, None];
    };
    let owed = owed.as_ref().map(|event| &event.body);
    [owed, seen.as_ref().map(|event| &event.body)]
}

/// Whether the event grants the stick.
const fn grants(what: Option<&Body>) -> bool {
    matches!(what, Some(Body::StickGranted { .. }))
}

/// Whether one of the two events that differ is of such a kind.
fn concerns(difference: &Difference, kind: Comparison) -> bool {
    let mut both = events(difference).into_iter().flatten();
    both.any(|what| Comparison::of_event(what) == kind)
}

/// The expected and the observed part of a room as an archive takes it.
fn kept(difference: &Difference) -> [Option<&Kept>; 2] {
    let Difference::Listed { owed, seen, .. } = difference else {
        return [None, None];
    };
    [owed, seen].map(|listed| match listed {
        Some(Listed::Kept(kept)) => Some(kept),
        _ => None,
    })
}

/// The entry with a different decision.
const fn decision(difference: &Difference) -> Option<&Decision> {
    match difference {
        Difference::Decision(decision) => Some(decision),
        _ => None,
    }
}

/// Whether two answers to one entry both have this part, with different values.
fn decided_otherwise<T: PartialEq>(
    difference: &Difference,
    part: impl Fn(&Reply) -> Option<T>,
) -> bool {
    decision(difference).is_some_and(|decision| {
        let part = |decided: &Decided| decided.as_ref().ok().and_then(&part);
        matches!(
            (part(&decision.owed), part(&decision.said)),
            (Some(owed), Some(said)) if owed != said
        )
    })
}

/// The server's own entry of a batch that differs: the expected one, or else the unexpected one.
fn batched(difference: &Difference) -> Option<&Entry> {
    match difference {
        Difference::Batch { owed, seen } => match owed.as_ref().or(seen.as_ref()) {
            Some(BatchItem::Own(entry)) => Some(entry),
            Some(BatchItem::Call(_)) | None => None,
        },
        _ => None,
    }
}

/// The kind of the affected call.
fn kind(difference: &Difference) -> Option<OpKind> {
    match difference {
        Difference::Decision(Decision {
            entry: Entry::Call { command, .. },
            ..
        }) => Some(OpKind::of(command)),
        Difference::Answer { call, .. }
        | Difference::Uncommitted { call, .. }
        | Difference::Early { call, .. } => call.kind(),
        _ => None,
    }
}

/// Whether one of the two differing outcomes is the refusal with this code.
fn refuses(difference: &Difference, code: Code) -> bool {
    fn is<T>(outcome: &Result<T, Refusal>, code: Code) -> bool {
        matches!(outcome, Err(refusal) if refusal.is(code))
    }
    match difference {
        Difference::Decision(Decision { owed, said, .. }) => is(owed, code) || is(said, code),
        Difference::Answer { owed, said, .. } => is(owed, code) || is(said, code),
        Difference::Uncommitted { said, .. }
        | Difference::Early { said, .. }
        | Difference::Unsolicited(Unsolicited::Answer(said)) => is(said, code),
        Difference::Taken { owed, .. } => owed.is(code),
        _ => false,
    }
}
