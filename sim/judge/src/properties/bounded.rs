//! `bounded`: no collection exceeds its limit or has another size than the protocol prescribes, and
//! a gap or a refusal reports every overflow.

use sim_model::protocol::Answer;

use super::{Rule, decision, refuses};
use crate::compared::Compared;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Bounded,
    counts: &[Compared::Size, Compared::Gap, Compared::Page],
    breaks: |difference, _| {
        matches!(
            difference,
            Difference::Size { .. } | Difference::Kept { .. } | Difference::Gap { .. }
        ) || LIMITS.iter().any(|code| refuses(difference, code))
            || cuts_differ(difference)
    },
};

/// The refusals because of a limit.
const LIMITS: [&str; 6] = [
    "queue_full",
    "room_full",
    "server_full",
    "address_full",
    "draft_full",
    "message_too_long",
];

/// Whether the two decisions cut different amounts of an append.
fn cuts_differ(difference: &Difference) -> bool {
    decision(difference).is_some_and(|(_, owed, said)| {
        matches!(
            (owed, said),
            (Ok(Answer::Draft { truncated: owed, .. }), Ok(Answer::Draft { truncated: said, .. }))
                if owed != said
        )
    })
}
