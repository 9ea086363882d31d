//! `room_order`: all members see one order of a room's events, without gaps, and its instants never
//! go back.

use sim_model::protocol::{Answer, Outcome};

use super::{Rule, concerns, decision};
use crate::compared::Compared;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::RoomOrder,
    counts: &[Compared::Message, Compared::Member, Compared::Speech],
    breaks: |difference, _| {
        let numbers = matches!(
            difference,
            Difference::Event { owed: Some(owed), seen: Some(seen), .. }
                if owed.what == seen.what
                    && (owed.room, owed.room_seq, owed.at) != (seen.room, seen.room_seq, seen.at)
        );
        let place = |outcome: &Outcome| match outcome {
            Ok(Answer::Sent {
                room, room_seq, at, ..
            }) => Some((*room, *room_seq, *at)),
            _ => None,
        };
        let sent = decision(difference).is_some_and(|(_, owed, said)| {
            let places = place(owed).zip(place(said));
            places.is_some_and(|(owed, said)| owed != said)
        });
        numbers || sent || concerns(difference, Compared::Message)
    },
};
