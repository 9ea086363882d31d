//! `room_lifecycle`: rooms open, fill and end as the protocol prescribes: one ending per pair room
//! and member, with the right reason, and nothing after it; a join and a leave for each membership.

use sim_model::protocol::{Answer, Op, Outcome};

use super::{Rule, concerns, decision, op, refuses};
use crate::compared::Compared;
use crate::difference::Difference;
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
            || turns_differ(difference)
            || matches!(
                op(difference),
                Some(Op::Login { .. } | Op::LeaveChat { .. })
            )
    },
};

/// Whether both decisions accept a message, with different numbers of turns left.
fn turns_differ(difference: &Difference) -> bool {
    let left = |outcome: &Outcome| match outcome {
        Ok(Answer::Sent { turns_left, .. }) => Some(*turns_left),
        _ => None,
    };
    decision(difference).is_some_and(|(_, owed, said)| {
        let turns = left(owed).zip(left(said));
        turns.is_some_and(|(owed, said)| owed != said)
    })
}

/// The room of a call, and whether it has ended.
pub(super) const ROOMS: Rule = Rule {
    property: Property::RoomLifecycle,
    counts: &[],
    breaks: |difference, _| {
        ["chat_ended", "room_not_found", "room_ambiguous"]
            .iter()
            .any(|code| refuses(difference, code))
    },
};
