//! `room_order`: all members see one order of a room's events, without gaps, and its instants never
//! go back.

use chat_types::Time;
use sim_model::protocol::{Answer, Room};

use super::{Rule, concerns, decided_otherwise};
use crate::comparison::Comparison;
use crate::difference::{Difference, InboxPosition};
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::RoomOrder,
    counts: &[Comparison::Message, Comparison::Member, Comparison::Speech],
    breaks: |difference, _| {
        numbers_differ(difference)
            || decided_otherwise(difference, place)
            || concerns(difference, Comparison::Message)
    },
};

/// Whether an event was received with another number, or another instant.
fn numbers_differ(difference: &Difference) -> bool {
    matches!(
        difference,
        Difference::Event(InboxPosition { owed: Some(owed), seen: Some(seen), .. })
            if owed.what == seen.what
                && (owed.room, owed.room_seq, owed.at) != (seen.room, seen.room_seq, seen.at)
    )
}

/// The position of a message, and its instant.
const fn place(answer: &Answer) -> Option<(Room, u64, Time)> {
    match answer {
        Answer::Sent {
            room, room_seq, at, ..
        } => Some((*room, *room_seq, *at)),
        _ => None,
    }
}
