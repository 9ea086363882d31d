//! `no_lost_messages`: a member whose client read past a message's position received the message.
//!
//! A violation is certain under these conditions. The message exists: a sender's answer names it,
//! or another member received it. The reader was a member at its position, by its own inbox, which
//! has no missing position and no gap. The reader received a later event of the room, or its inbox
//! was read to the end by a check that was sent after the message was known to exist. Neither of
//! the two ever tried to block the other.

use chat_types::Time;
use sim_model::protocol::{Room, User};

use super::Witness;
use super::observations::Place;
use crate::difference::Fact;
use crate::findings::{Findings, Property};
use crate::model::Body;

const LOST: Property = Property::NoLostMessages;

/// A known message: its place, its sender, since when it is known, and the fact that proves it.
type Message = ((Room, u64), User, Time, Fact);

/// Compares every known message with the inboxes of all members.
pub(super) fn judge(witness: &Witness, findings: &mut Findings) {
    let messages: Vec<Message> = witness.places.iter().filter_map(message).collect();
    let mut is_compared = vec![false; messages.len()];
    for (reader, participant) in &witness.participants {
        // By room: the place of each event, whether the reader is a member from then on, if the event
        // changes that, and whether it is in the complete part of the inbox.
        let events = participant.inbox.iter().map(|(seq, place)| {
            let seen = witness.seen(place);
            let is_member = seen.and_then(|seen| is_member_after(&seen.event.body, *reader));
            (*place, is_member, *seq <= participant.complete)
        });
        let mut events: Vec<_> = events.collect();
        events.sort_unstable();
        for events in events.chunk_by(|(one, ..), (other, ..)| one.0 == other.0) {
            let room = events[0].0.0;
            let complete = events.iter().filter(|(.., is_complete)| *is_complete);
            let reached = complete.map(|(place, ..)| place).max();
            let first = messages.partition_point(|(place, ..)| place.0 < room);
            let of_room = messages[first..].iter().zip(&mut is_compared[first..]);
            let of_room = of_room.take_while(|((place, ..), _)| place.0 == room);
            for ((place, sender, known_at, fact), is_compared) in of_room {
                let before = events.partition_point(|(event, ..)| event < place);
                let is_received = events.get(before).is_some_and(|(event, ..)| event == place);
                let mut changes = events[..before].iter().rev();
                let was_member = changes.find_map(|(_, is_member, _)| *is_member);
                if sender == reader || !(is_received || was_member == Some(true)) {
                    continue;
                }
                *is_compared = true;
                let is_read = participant.drained.is_some_and(|at| at > *known_at);
                if is_received {
                    findings.exercise(LOST, 1);
                } else if !participant.gaps.is_empty()
                    || !(reached > Some(place) || is_read)
                    || !witness.participants.contains_key(sender)
                    || witness.blocks.contains(&(*sender, *reader))
                    || witness.blocks.contains(&(*reader, *sender))
                {
                    findings.leave_unjudged(LOST, 1);
                } else {
                    let absent = Fact::Absent(*reader, room, place.1);
                    findings.contradict(LOST, *known_at, [fact.clone(), absent]);
                }
            }
        }
    }
    let calls = witness.texts.values().flatten();
    let open = calls.filter(|call| call.is_open());
    let left = is_compared.iter().filter(|is_compared| !**is_compared);
    let unknown = left.count() + open.count();
    findings.leave_unjudged(LOST, unknown as u64);
}

/// The message at a place of a room, if it has one: as a client received it, or as an answer says.
fn message((place, known): (&(Room, u64), &Place)) -> Option<Message> {
    if let Some(seen) = &known.seen
        && let Some((sender, _)) = seen.message()
    {
        return Some((*place, sender, seen.at, seen.fact()));
    }
    let accepted = known.accepted.as_ref()?;
    Some((*place, accepted.sender, accepted.at, accepted.fact(*place)))
}

fn is_member_after(what: &Body, reader: User) -> Option<bool> {
    let (who, is_member) = match what {
        Body::Found(_) => return Some(true),
        Body::PartnerDisconnected(_) | Body::Closed { .. } => return Some(false),
        Body::Joined(who) => (who, true),
        Body::Left(who) | Body::Kicked { user: who, .. } => (who, false),
        _ => return None,
    };
    (who.id == reader).then_some(is_member)
}
