//! The times of messages: when a sender meant to send one, and when each of its recipients first
//! sees it, by any path.
//!
//! The sender's answer tells which message a call created, and may arrive before or after recipients
//! see it. Both times are matched in a table of fixed size. A message is not measured if another one
//! takes its place in the table before both times are known.

use chat_types::Time;

use crate::protocol::{Agent, Room};

/// The number of places in the table.
const PLACES: usize = 1 << 15;

/// The number of places that are added to the table at once.
const PAGE: usize = 64;

/// A participant, and a time of its own: when a sender meant to send, or a recipient saw.
pub type Moment = (Agent, Time);

/// One place of the table.
#[derive(Clone, Debug, Default)]
struct Place {
    room: Room,
    seq: u64,
    sent: Option<Moment>,
    /// The recipients until `sent` is known, in the order in which they saw the message.
    early: Vec<Moment>,
    /// Whether any recipient saw it.
    is_seen: bool,
}

/// The newest messages. A room's messages have adjacent places. The table begins without places,
/// since most runs have few messages.
#[derive(Clone, Debug, Default)]
pub struct MessagesInFlight(Vec<Option<Box<[Place; PAGE]>>>);

impl MessagesInFlight {
    fn place(&mut self, room: Room, seq: u64) -> &mut Place {
        let first = room.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let index = (first.wrapping_add(seq) % PLACES as u64) as usize;
        self.0.resize_with(PLACES / PAGE, || None);
        let page = self.0[index / PAGE]
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| Place::default())));
        let place = &mut page[index % PAGE];
        if (place.room, place.seq) != (room, seq) {
            *place = Place {
                room,
                seq,
                ..Place::default()
            };
        }
        place
    }

    /// The sender's answer came: returns those who saw the message before, the first one first.
    pub fn sent(&mut self, room: Room, seq: u64, by: Moment) -> Vec<Moment> {
        let place = self.place(room, seq);
        place.sent.get_or_insert(by);
        std::mem::take(&mut place.early)
    }

    /// A recipient saw the message. Returns who sent it and when, if that is known, and whether this
    /// recipient is the first.
    pub fn seen(&mut self, room: Room, seq: u64, by: Moment) -> Option<(Moment, bool)> {
        let place = self.place(room, seq);
        let is_first = !std::mem::replace(&mut place.is_seen, true);
        if place.sent.is_none() {
            place.early.push(by);
        }
        place.sent.map(|sent| (sent, is_first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room(7);

    fn sent(table: &mut MessagesInFlight, seq: u64) -> Vec<Moment> {
        table.sent(ROOM, seq, (Agent(3), Time(seq)))
    }

    fn seen(table: &mut MessagesInFlight, seq: u64, by: u32) -> Option<(Moment, bool)> {
        table.seen(ROOM, seq, (Agent(by), Time(seq + 5)))
    }

    #[test]
    fn as_many_messages_of_a_room_as_the_table_has_places_are_known() {
        let mut table = MessagesInFlight::default();
        let all = 1..=PLACES as u64;
        assert!(all.clone().all(|seq| sent(&mut table, seq).is_empty()));
        for seq in all.clone() {
            let by = (Agent(3), Time(seq));
            assert_eq!(seen(&mut table, seq, 4), Some((by, true)));
            assert_eq!(seen(&mut table, seq, 5), Some((by, false)));
        }
    }

    #[test]
    fn recipients_before_the_answer_are_told_with_it_once() {
        let mut table = MessagesInFlight::default();
        assert_eq!(seen(&mut table, 1, 4), None);
        assert_eq!(seen(&mut table, 1, 5), None);
        assert_eq!(
            sent(&mut table, 1),
            [(Agent(4), Time(6)), (Agent(5), Time(6))]
        );
        assert_eq!(sent(&mut table, 1), []);
        assert_eq!(seen(&mut table, 1, 6), Some(((Agent(3), Time(1)), false)));
    }

    #[test]
    fn a_message_is_not_measured_if_another_takes_its_place() {
        let mut table = MessagesInFlight::default();
        sent(&mut table, 1);
        sent(&mut table, 1 + PLACES as u64);
        assert_eq!(seen(&mut table, 1, 4), None);
    }
}
