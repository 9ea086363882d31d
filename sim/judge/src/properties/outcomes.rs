//! `outcomes`: each call has the prescribed answer or refusal, unless another property has the
//! rule.

use sim_model::protocol::{Code, Decided, Reply};

use super::{Rule, decision, refuses};
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Outcomes,
    counts: &[
        Comparison::Refusal,
        Comparison::Answer,
        Comparison::Login,
        Comparison::Typing,
        Comparison::Leave,
    ],
    breaks: |_, _| true,
};

/// Decisions that do not depend on a room, the queue or a stick: names and other arguments.
pub(super) const ARGUMENTS: Rule = Rule {
    property: Property::Outcomes,
    counts: &[],
    breaks: |difference, _| {
        CODES.iter().any(|code| refuses(difference, *code)) || names_differ(difference)
    },
};

/// Whether two decisions make the same match, but show the partner differently.
fn names_differ(difference: &Difference) -> bool {
    let pair = |outcome: &Decided| match outcome {
        Ok(Reply::Matched { room, partner, .. }) => Some((*room, partner.id)),
        Ok(_) | Err(_) => None,
    };
    decision(difference)
        .is_some_and(|of| pair(&of.owed).is_some() && pair(&of.owed) == pair(&of.said))
}

/// The refusals because of arguments.
const CODES: [Code; 7] = [
    Code::InvalidArguments,
    Code::InvalidCursor,
    Code::NameTaken,
    Code::NameNotAllowed,
    Code::UserIdTaken,
    Code::UserNotFound,
    Code::HandleRequired,
];
