//! The latency of messages: from the sender's intended start until any other participant first sees
//! the message, by any path.
//!
//! The sender's answer tells which message a call created, and may arrive before or after that.
//! Both times are matched in a table of fixed size. A message is not measured if another one takes
//! its place in the table before both times are known.

use chat_types::Time;
use rustc_hash::FxHashMap;

use crate::protocol::{Agent, Room};

/// The number of places in the table: a power of two.
const PLACES: u64 = 1 << 15;

/// What is known about one message so far.
#[derive(Clone, Copy, Debug)]
pub enum Times {
    /// Nothing yet.
    Empty,
    /// The sender, and its intended start.
    Sent(Agent, Time),
    /// The first time that any recipient saw it.
    Seen(Time),
    /// The latency was measured.
    Done,
}

/// The measured latency of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The sender.
    pub sender: Agent,
    /// The sender's intended start.
    pub since: Time,
    /// In microseconds.
    pub took: u64,
}

/// Messages of which only one half is known: the places that are taken. Most runs have few messages.
#[derive(Clone, Debug, Default)]
pub struct MessagesInFlight(FxHashMap<u64, (Room, u64, Times)>);

impl MessagesInFlight {
    fn place(&mut self, room: Room, seq: u64) -> &mut Times {
        let mixed = (u64::from(room.0) ^ seq.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The highest bits give an index below PLACES.
        let index = mixed >> (64 - PLACES.trailing_zeros());
        let empty = (room, seq, Times::Empty);
        let place = self.0.entry(index).or_insert(empty);
        if (place.0, place.1) != (room, seq) {
            *place = empty;
        }
        &mut place.2
    }

    /// Records one half of a message. Returns the latency if both are known now.
    pub fn learn(&mut self, room: Room, seq: u64, half: Times) -> Option<Learned> {
        let known = self.place(room, seq);
        match (*known, half) {
            (Times::Empty, half) => {
                *known = half;
                None
            }
            (Times::Sent(sender, since), Times::Seen(at))
            | (Times::Seen(at), Times::Sent(sender, since)) => {
                *known = Times::Done;
                let took = at.since(since).0;
                Some(Learned {
                    sender,
                    since,
                    took,
                })
            }
            (Times::Sent(..) | Times::Seen(_) | Times::Done, _) => None,
        }
    }
}
