//! `no_lost_messages`: a member whose client read past a message's position received the message.
//!
//! A violation is certain under these conditions. The message exists: a sender's answer names it,
//! or another member received it. The reader was a member at its position, by its own inbox, which
//! has no missing position and no gap. The reader received a later event of the room, or its inbox
//! was read to the end by a check that was sent after the message was known to exist. Neither of
//! the two ever tried to block the other.

use std::collections::{BTreeMap, BTreeSet};

use chat_types::Time;
use sim_model::protocol::{Room, User};

use super::Witness;
use crate::difference::Fact;
use crate::findings::{Findings, Property};
use crate::model::Body;

const LOST: Property = Property::NoLostMessages;

/// Known messages: the sender, since when the message is known, and the fact that proves it.
type Messages = BTreeMap<(Room, u64), (User, Time, Fact)>;

/// Compares every known message with the inboxes of all members.
pub(super) fn judge(witness: &Witness, findings: &mut Findings) {
    let messages = messages(witness);
    let mut compared = BTreeSet::new();
    for (reader, participant) in &witness.participants {
        let mut views: BTreeMap<Room, ReaderView> = BTreeMap::new();
        for (seq, (room, room_seq)) in &participant.inbox {
            let view = views.entry(*room).or_default();
            let seen = witness.rooms.get(&(*room, *room_seq));
            let is_member = seen.and_then(|seen| is_member_after(&seen.event.body, *reader));
            view.events.insert(*room_seq, is_member);
            if *seq <= participant.complete {
                view.reached = view.reached.max(*room_seq);
            }
        }
        for (room, view) in views {
            for (place, message) in messages.range((room, 0)..=(room, u64::MAX)) {
                let (sender, known_at, fact) = message;
                if sender == reader || !view.is_owed(place.1) {
                    continue;
                }
                compared.insert(*place);
                let is_read = participant.drained.is_some_and(|at| at > *known_at);
                if view.events.contains_key(&place.1) {
                    findings.exercise(LOST, 1);
                } else if !participant.gaps.is_empty()
                    || !(view.reached > place.1 || is_read)
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
    let open = witness
        .texts
        .values()
        .flatten()
        .filter(|call| call.is_open());
    let unknown = messages.len() - compared.len() + open.count();
    findings.leave_unjudged(LOST, unknown as u64);
}

fn messages(witness: &Witness) -> Messages {
    let mut messages = Messages::new();
    for (place, seen) in &witness.rooms {
        if let Some((sender, _)) = seen.message() {
            messages.insert(*place, (sender, seen.at, seen.fact()));
        }
    }
    for (place, accepted) in &witness.accepted {
        let message = (accepted.sender, accepted.at, accepted.fact(*place));
        messages.entry(*place).or_insert(message);
    }
    messages
}

/// One room, as seen in one reader's inbox.
#[derive(Default)]
struct ReaderView {
    /// By position of the room: whether the reader is a member from the event on, if it changes that.
    events: BTreeMap<u64, Option<bool>>,
    /// The last position within the complete part of the inbox.
    reached: u64,
}

impl ReaderView {
    /// Whether the reader was a member at this position, as far as known, or received its event.
    fn is_owed(&self, room_seq: u64) -> bool {
        let mut before = self.events.range(..room_seq).rev();
        let is_member = before.find_map(|(_, is_member)| *is_member);
        is_member == Some(true) || self.events.contains_key(&room_seq)
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other event changes who is a member"
)]
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
