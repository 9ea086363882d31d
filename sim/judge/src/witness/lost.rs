//! `no_lost_messages`: a member whose client read past a message's place received the message.
//!
//! Certain is: the message exists (a sender's answer names it, or another member received it); the
//! reader was a member at its place, by its own inbox, which has no hole and no gap; the reader
//! received a later event of the room, or its inbox was read to the end by a check that left
//! after the message was known to exist; and neither of the two ever called for a block.

use std::collections::{BTreeMap, BTreeSet};

use chat_types::Time;
use sim_model::protocol::{Moderated, Presence, Room, User};

use super::blame;
use super::book::{Book, Person};
use super::fact::Fact;
use crate::findings::{Findings, Property};
use crate::model::What;

const LOST: Property = Property::NoLostMessages;

/// A message that exists.
#[derive(Clone, Debug)]
struct Message {
    sender: User,
    known_at: Time,
    fact: Fact,
}

/// Compares every known message with the inboxes of all members.
pub(super) fn judge(book: &Book, findings: &mut Findings) {
    let mut messages: BTreeMap<Room, BTreeMap<u64, Message>> = BTreeMap::new();
    for (seen, sender, _) in book.messages() {
        let message = Message {
            sender,
            known_at: seen.at,
            fact: seen.fact(),
        };
        let of_room = messages.entry(seen.event.room).or_default();
        of_room.insert(seen.event.room_seq, message);
    }
    for (room, accepted) in &book.accepted {
        for (room_seq, accepted) in accepted {
            let message = Message {
                sender: accepted.sender,
                known_at: accepted.at,
                fact: accepted.fact(*room, *room_seq),
            };
            let of_room = messages.entry(*room).or_default();
            of_room.entry(*room_seq).or_insert(message);
        }
    }
    let mut compared: BTreeSet<(Room, u64)> = BTreeSet::new();
    for (reader, person) in &book.people {
        for (room, events) in person.by_room() {
            let Some(messages) = messages.get(&room) else {
                continue;
            };
            let view = View::new(book, (*reader, person), room, &events);
            for (room_seq, message) in messages {
                let Some(delivery) = view.compare(book, *room_seq, message) else {
                    continue;
                };
                compared.insert((room, *room_seq));
                match delivery {
                    Delivery::Arrived => findings.exercise(LOST, 1),
                    Delivery::Unknown => findings.leave_unjudged(LOST, 1),
                    Delivery::Lost => {
                        let (reader, room_seq) = (*reader, *room_seq);
                        let absent = Fact::Absent {
                            reader,
                            room,
                            room_seq,
                        };
                        blame(
                            findings,
                            LOST,
                            message.known_at,
                            [message.fact.clone(), absent],
                        );
                    }
                }
            }
        }
    }
    let all: usize = messages.values().map(BTreeMap::len).sum();
    let nobodys = all - compared.len();
    let calls = book.texts.values().flatten();
    let unknown = calls.filter(|call| !call.is_append && call.is_open());
    findings.leave_unjudged(LOST, (nobodys + unknown.count()) as u64);
}

/// One room, as one reader's inbox shows it.
struct View<'a> {
    reader: User,
    person: &'a Person,
    /// By place of the room: the place of the inbox, and whether the reader is a member from there
    /// on, where the event says so.
    events: BTreeMap<u64, (u64, Option<Stay>)>,
    /// The last place of the room in the complete beginning of the inbox.
    reached: u64,
}

/// What an event says of its reader's own stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    Begins,
    Ends,
}

impl<'a> View<'a> {
    fn new(
        book: &Book,
        (reader, person): (User, &'a Person),
        room: Room,
        events: &[(u64, u64)],
    ) -> Self {
        let complete = events.iter().filter(|(_, seq)| *seq <= person.complete);
        let reached = complete.map(|(room_seq, _)| *room_seq).max().unwrap_or(0);
        let of = |(room_seq, seq): &(u64, u64)| {
            let seen = book.seen(room, *room_seq);
            let stay = seen.and_then(|seen| stay(&seen.event.what, reader));
            (*room_seq, (*seq, stay))
        };
        Self {
            reader,
            person,
            events: events.iter().map(of).collect(),
            reached,
        }
    }

    /// Compares one message with the inbox. None if it is not owed to the reader.
    fn compare(&self, book: &Book, room_seq: u64, message: &Message) -> Option<Delivery> {
        if message.sender == self.reader {
            return None;
        }
        if self.events.contains_key(&room_seq) {
            return Some(Delivery::Arrived);
        }
        let before = self.events.range(..room_seq).rev();
        let stay = before.filter_map(|(_, (_, stay))| *stay).next();
        if self.person.has_gaps {
            return Some(Delivery::Unknown);
        }
        // The stay is over, or had not begun.
        stay.filter(|stay| *stay == Stay::Begins)?;
        let is_read = self.person.drained.is_some_and(|at| at > message.known_at);
        let is_certain = (self.reached > room_seq || is_read)
            && book.people.contains_key(&message.sender)
            && !book.may_be_blocked(self.reader, message.sender);
        Some(if is_certain {
            Delivery::Lost
        } else {
            Delivery::Unknown
        })
    }
}

/// What is certain of one message and one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Arrived,
    Lost,
    Unknown,
}

fn stay(what: &What, reader: User) -> Option<Stay> {
    match what {
        What::Found { .. } => Some(Stay::Begins),
        What::Member { user, change } if *user == reader => match change {
            Presence::Joined => Some(Stay::Begins),
            Presence::Left => Some(Stay::Ends),
            Presence::Away | Presence::Back => None,
        },
        What::Moderation { user, act, .. } => match act {
            Moderated::Kicked => (*user == Some(reader)).then_some(Stay::Ends),
            Moderated::Closed => Some(Stay::Ends),
            Moderated::Muted => None,
        },
        What::Ended { .. } => Some(Stay::Ends),
        What::Member { .. }
        | What::Message { .. }
        | What::PartnerAway
        | What::PartnerBack
        | What::Stick { .. } => None,
    }
}
