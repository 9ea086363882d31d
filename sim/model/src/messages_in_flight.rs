//! The latency of messages: from the sender's intended start until any other participant first sees
//! the message, by any path.
//!
//! The sender's answer tells which message a call created, and may arrive before or after that.
//! Both times are matched in a table of fixed size. A message is not measured if another one takes
//! its place in the table before both times are known.

use chat_types::Time;

use crate::protocol::{Agent, Room};

/// The number of places in the table.
const PLACES: usize = 1 << 15;

/// The number of places that are added to the table at once.
const PAGE: usize = 64;

/// What is known about one message so far.
#[derive(Clone, Copy, Debug)]
pub enum Times {
    /// Nothing yet.
    Empty,
    /// The sender, and its intended start.
    Sent(Agent, Time),
    /// The first recipient that saw it, and when.
    Seen(Agent, Time),
    /// The latency was measured.
    Done,
}

/// The measured latency of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The sender.
    pub sender: Agent,
    /// The first recipient that saw it.
    pub recipient: Agent,
    /// The sender's intended start.
    pub since: Time,
    /// In microseconds.
    pub took: u64,
}

/// One place of the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    room: Room,
    seq: u64,
    times: Times,
}

/// Messages of which only one half is known. A room's messages have adjacent places. The table
/// begins without places, since most runs have few messages.
#[derive(Clone, Debug, Default)]
pub struct MessagesInFlight(Vec<Option<Box<[Place; PAGE]>>>);

impl MessagesInFlight {
    fn times(&mut self, room: Room, seq: u64) -> &mut Times {
        let first = room.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let index = (first.wrapping_add(seq) % PLACES as u64) as usize;
        let empty = Place {
            room,
            seq,
            times: Times::Empty,
        };
        self.0.resize_with(PLACES / PAGE, || None);
        let page = self.0[index / PAGE].get_or_insert_with(|| Box::new([empty; PAGE]));
        let place = &mut page[index % PAGE];
        if (place.room, place.seq) != (room, seq) {
            *place = empty;
        }
        &mut place.times
    }

    /// Records one half of a message. Returns the latency if both are known now.
    pub fn learn(&mut self, room: Room, seq: u64, half: Times) -> Option<Learned> {
        let known = self.times(room, seq);
        match (*known, half) {
            (Times::Empty, half) => {
                *known = half;
                None
            }
            (Times::Sent(sender, since), Times::Seen(recipient, at))
            | (Times::Seen(recipient, at), Times::Sent(sender, since)) => {
                *known = Times::Done;
                let took = at.since(since).0;
                Some(Learned {
                    sender,
                    recipient,
                    since,
                    took,
                })
            }
            (Times::Sent(..) | Times::Seen(..) | Times::Done, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room(7);

    fn sent(table: &mut MessagesInFlight, seq: u64) -> Option<Learned> {
        table.learn(ROOM, seq, Times::Sent(Agent(3), Time(seq)))
    }

    fn seen(table: &mut MessagesInFlight, seq: u64) -> Option<Learned> {
        table.learn(ROOM, seq, Times::Seen(Agent(4), Time(seq + 5)))
    }

    #[test]
    fn as_many_messages_of_a_room_as_the_table_has_places_are_measured_once_each() {
        let mut table = MessagesInFlight::default();
        let all = 1..=PLACES as u64;
        assert!(all.clone().all(|seq| sent(&mut table, seq).is_none()));
        for seq in all.clone() {
            let (sender, since, took) = (Agent(3), Time(seq), 5);
            let learned = Learned {
                sender,
                recipient: Agent(4),
                since,
                took,
            };
            assert_eq!(seen(&mut table, seq), Some(learned));
        }
        assert!(all.clone().all(|seq| seen(&mut table, seq).is_none()));
    }

    #[test]
    fn a_message_is_not_measured_if_another_takes_its_place() {
        let mut table = MessagesInFlight::default();
        sent(&mut table, 1);
        sent(&mut table, 1 + PLACES as u64);
        assert_eq!(seen(&mut table, 1), None);
    }
}
