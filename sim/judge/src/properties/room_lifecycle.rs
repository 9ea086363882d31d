//! `room_lifecycle`: rooms open, fill and end as the protocol prescribes: one ending per pair room
//! and member, with the right reason, and nothing after it; a join and a leave for each membership.

use sim_model::protocol::{Code, OpKind, Reply};

use super::{Rule, concerns, decided_otherwise, kept, kind, refuses};
use crate::comparison::Comparison;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::RoomLifecycle,
    counts: &[
        Comparison::Ended,
        Comparison::Member,
        Comparison::Login,
        Comparison::Leave,
    ],
    breaks: |difference, _| {
        kept(difference) != [None, None]
            || concerns(difference, Comparison::Ended)
            || concerns(difference, Comparison::Member)
            || refuses(difference, Code::NoStick)
            || decided_otherwise(difference, turns_left)
            || matches!(kind(difference), Some(OpKind::Login | OpKind::LeaveChat))
    },
};

/// The turns left after a message.
const fn turns_left(answer: &Reply) -> Option<Option<u32>> {
    match answer {
        Reply::Sent { turns_left, .. } => Some(*turns_left),
        _ => None,
    }
}

/// The room of a call, and whether it has ended.
pub(super) const ROOMS: Rule = Rule {
    property: Property::RoomLifecycle,
    counts: &[],
    breaks: |difference, _| {
        [Code::ChatEnded, Code::RoomNotFound, Code::RoomAmbiguous]
            .iter()
            .any(|code| refuses(difference, *code))
    },
};
