//! What inboxes hold.

use chat_types::{Body, EVENTS, Event, Gap};

use super::Room;

/// What stands at a place of an inbox, as its reader receives it, by a stream or by `check`.
///
/// An event of a room is delivered to every member, including its subject, with these exceptions: a
/// message skips its sender (which has its `room_seq` from the reply), `partner.away` and
/// `partner.reconnected` skip their subject, `partner.disconnected` skips the member whose own call
/// ended the room, and a message skips members that blocked its sender or that its sender blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxEvent<'a> {
    /// An event of a room.
    Event(&'a Event),
    /// `gap`: places of the inbox were dropped.
    Gap(&'a Gap),
}

impl<'a> InboxEvent<'a> {
    /// The type in the protocol, such as `message.received`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        EVENTS[self.number()]
    }

    /// The index of the type in [`EVENTS`].
    #[must_use]
    pub const fn number(&self) -> usize {
        match self {
            Self::Event(event) => event.body.number(),
            Self::Gap(_) => EVENTS.len() - 1,
        }
    }

    /// What happened; none for a gap.
    #[must_use]
    pub const fn body(&self) -> Option<&'a Body> {
        match self {
            Self::Event(event) => Some(&event.body),
            Self::Gap(_) => None,
        }
    }

    /// The room and the place in its order; none for a gap.
    #[must_use]
    pub const fn place(&self) -> Option<(Room, u64)> {
        match self {
            Self::Event(event) => Some((event.room, event.room_seq.0)),
            Self::Gap(_) => None,
        }
    }
}

impl<'a> From<&'a Event> for InboxEvent<'a> {
    fn from(event: &'a Event) -> Self {
        Self::Event(event)
    }
}

impl<'a> From<&'a Gap> for InboxEvent<'a> {
    fn from(gap: &'a Gap) -> Self {
        Self::Gap(gap)
    }
}
