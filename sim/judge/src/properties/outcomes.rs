//! `outcomes`: each call has the answer or the refusal that the protocol prescribes, where no other
//! property has the rule.

use super::{Rule, refuses};
use crate::compared::Compared;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Outcomes,
    counts: &[
        Compared::Refusal,
        Compared::Answer,
        Compared::Login,
        Compared::Typing,
        Compared::Leave,
    ],
    breaks: |_, _| true,
};

/// What no state of a room, a line or a stick decides: names, and other arguments.
pub(super) const ARGUMENTS: Rule = Rule {
    property: Property::Outcomes,
    counts: &[],
    breaks: |difference, _| CODES.iter().any(|code| refuses(difference, code)),
};

/// The refusals of arguments.
const CODES: [&str; 7] = [
    "invalid_arguments",
    "invalid_cursor",
    "name_taken",
    "name_not_allowed",
    "user_id_taken",
    "user_not_found",
    "handle_required",
];
