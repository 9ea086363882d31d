//! Views for operators and visitors of a server: participants, rooms, and counts.
//!
//! Every view is a page: it starts after a name and has a largest length, so its cost is bounded.

use std::ops::Bound;
use std::sync::Arc;

use chat_types::{Address, Attendance, Epoch, RoomId, Span, Time, UserId, Who};

use super::Hub;
use crate::name::{fold, room_key};

/// The numbers of participants, rooms and waiters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Registered participants.
    pub participants: usize,
    /// The largest number of them that registered from one address.
    pub of_one_address: usize,
    /// Rooms, including ended ones that are still remembered.
    pub rooms: usize,
    /// Participants in the queue.
    pub waiting: usize,
    /// Since when the first of them waits.
    pub first_waits_since: Option<Time>,
    /// The average of recent waits; none before the first match.
    pub recent_wait: Option<Span>,
}

/// A participant as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantView {
    /// Its names.
    pub who: Arc<Who>,
    /// Whether it is present.
    pub presence: Attendance,
    /// The number of open streams.
    pub streams: u32,
    /// The live rooms that it is in.
    pub rooms: Vec<RoomId>,
    /// Since when it waits in the queue; none if it does not.
    pub waiting_since: Option<Time>,
    /// Whether it is muted.
    pub muted: Muted,
    /// The address that it was registered from.
    pub address: Address,
}

/// Whether a participant is muted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Muted {
    /// Muted.
    Yes,
    /// Not muted.
    No,
}

/// A named room as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomView {
    /// The room.
    pub id: RoomId,
    /// Its name.
    pub name: Arc<str>,
    /// The number of members.
    pub members: usize,
    /// The epoch of the current grant, and its holder.
    pub holder: Option<(Epoch, UserId)>,
    /// The end of the current lease.
    pub lease_until: Option<Time>,
    /// The number of members who wait for the stick.
    pub stick_line: usize,
    /// The first of them, in order: at most [`LINE_SHOWN`].
    pub next_in_line: Vec<UserId>,
}

/// The largest number of waiting members that a view of a room lists.
pub const LINE_SHOWN: usize = 8;

impl Hub {
    /// The counts of the whole server.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            participants: self.users.len(),
            of_one_address: self.index.away.most_from_one(),
            rooms: self.rooms.len(),
            waiting: self.queue.len(),
            first_waits_since: self.queue.waiters().next().map(|waiter| waiter.since),
            recent_wait: self.queue.estimated_wait(),
        }
    }

    /// Participants in the order of their folded names, after the name `after`, at most `limit`.
    pub fn participants(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> impl Iterator<Item = ParticipantView> {
        let from = after.map_or(Bound::Unbounded, |name| Bound::Excluded(fold(name)));
        self.index
            .names
            .range((from, Bound::Unbounded))
            .take(limit)
            .filter_map(|(_, user)| self.participant_view(*user))
    }

    /// One participant as an operator sees it.
    #[must_use]
    pub fn participant_view(&self, user: UserId) -> Option<ParticipantView> {
        let participant = self.users.get(&user)?;
        Some(ParticipantView {
            who: Arc::clone(&participant.who),
            presence: self.presence_of(user)?,
            streams: participant.streams,
            rooms: participant.rooms.clone(),
            waiting_since: self.queue.waiting_since(user),
            muted: if self.is_muted(user) {
                Muted::Yes
            } else {
                Muted::No
            },
            address: participant.address,
        })
    }

    /// Named rooms in the order of their keys, after the name `after`, at most `limit`.
    pub fn named_rooms(&self, after: Option<&str>, limit: usize) -> impl Iterator<Item = RoomView> {
        let from = after.map_or(Bound::Unbounded, |name| Bound::Excluded(room_key(name)));
        self.index
            .rooms
            .range((from, Bound::Unbounded))
            .take(limit)
            .filter_map(|(_, room)| self.room_view(*room))
    }

    fn room_view(&self, id: RoomId) -> Option<RoomView> {
        let room = self.rooms.get(&id)?;
        let name = self.room_name(id)?.into();
        let stick = room.stick();
        let holder = stick.and_then(|stick| Some((stick.epoch(), stick.holder()?.user)));
        Some(RoomView {
            id,
            name,
            members: room.members().len(),
            holder,
            lease_until: stick.and_then(crate::stick::Stick::lease_until),
            stick_line: stick.map_or(0, |stick| stick.line().len()),
            next_in_line: stick.map_or_else(Vec::new, |stick| {
                stick.line().iter().take(LINE_SHOWN).copied().collect()
            }),
        })
    }
}
