//! `room_order`: all members see one order of a room's events, without gaps, and its instants never
//! go back.

use chat_types::Time;
use sim_model::listing::Kept;
use sim_model::protocol::{Reply, Room};

use super::{Rule, concerns, decided_otherwise, kept};
use crate::comparison::Comparison;
use crate::difference::{Difference, EventPosition, is_alike};
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::RoomOrder,
    counts: &[Comparison::Message, Comparison::Member, Comparison::Speech],
    breaks: |difference, _| {
        numbers_differ(difference)
            || kept_elsewhere(kept(difference))
            || decided_otherwise(difference, place)
            || concerns(difference, Comparison::Message)
    },
};

/// Whether an event was received with another number, or another instant.
fn numbers_differ(difference: &Difference) -> bool {
    matches!(
        difference,
        Difference::Event(EventPosition { owed: Some(owed), seen: Some(seen), .. })
            if is_alike(&owed.body, &seen.body)
                && (owed.room, owed.room_seq, owed.at) != (seen.room, seen.room_seq, seen.at)
    )
}

/// Whether an archive takes the same room with another last event, or the same message with another
/// instant.
fn kept_elsewhere(kept: [Option<&Kept>; 2]) -> bool {
    match kept {
        [
            Some(Kept::Room { room, last, .. }),
            Some(Kept::Room {
                room: of,
                last: seen,
                ..
            }),
        ] => room == of && last != seen,
        [Some(Kept::Message(owed)), Some(Kept::Message(seen))] => {
            (owed.room, owed.room_seq) == (seen.room, seen.room_seq) && owed.at != seen.at
        }
        _ => false,
    }
}

/// The position of a message, and its instant.
const fn place(answer: &Reply) -> Option<(Room, u64, Time)> {
    match answer {
        Reply::Sent {
            room, room_seq, at, ..
        } => Some((*room, room_seq.0, *at)),
        _ => None,
    }
}
