//! `room_lifecycle`: rooms open, fill and end as the protocol says: one ending per pair room and
//! member, with the right reason, and nothing after it; a join and a leave for each stay.

use sim_model::protocol::Op;

use super::{Rule, concerns, op, refuses};
use crate::compared::Compared;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::RoomLifecycle,
    counts: &[
        Compared::Ended,
        Compared::Member,
        Compared::Login,
        Compared::Leave,
    ],
    breaks: |difference, _| {
        concerns(difference, Compared::Ended)
            || concerns(difference, Compared::Member)
            || refuses(difference, "no_stick")
            || matches!(
                op(difference),
                Some(Op::Login { .. } | Op::LeaveChat { .. })
            )
    },
};

/// Which room a call means, and whether it is over.
pub(super) const ROOMS: Rule = Rule {
    property: Property::RoomLifecycle,
    counts: &[],
    breaks: |difference, _| {
        ["chat_ended", "room_not_found", "room_ambiguous"]
            .iter()
            .any(|code| refuses(difference, code))
    },
};
