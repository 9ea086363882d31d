//! What people who run or visit a server look at: who is there, which rooms, how many wait.
//!
//! Every view is a page: it begins behind a name and holds at most so many, so that none costs
//! more than what it shows.

use std::ops::Bound;
use std::sync::Arc;

use chat_types::{Span, Time};

use super::{Hub, PresenceView};
use crate::event::Who;
use crate::id::{Address, Epoch, RoomId, UserId};
use crate::name::fold;

/// How many of everything there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Registered participants.
    pub participants: usize,
    /// The most of them that were registered from one address.
    pub of_one_address: usize,
    /// Rooms, ended ones that are still remembered among them.
    pub rooms: usize,
    /// Those who wait for a partner.
    pub waiting: usize,
    /// Since when whoever is first in that line waits.
    pub first_waits_since: Option<Time>,
    /// How long recent waits were on average; none before the first match.
    pub recent_wait: Option<Span>,
}

/// A participant as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantView {
    /// Who.
    pub who: Arc<Who>,
    /// Whether there.
    pub presence: PresenceView,
    /// How many streams are open.
    pub streams: u32,
    /// In which live rooms.
    pub rooms: Vec<RoomId>,
    /// Since when in the line for a partner.
    pub waiting_since: Option<Time>,
    /// Whether it may speak.
    pub muted: Muted,
    /// Where it was registered from.
    pub address: Address,
}

/// Whether an operator muted somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Muted {
    /// May not speak.
    Yes,
    /// May speak.
    No,
}

/// A named room as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomView {
    /// The room.
    pub id: RoomId,
    /// Its name.
    pub name: Arc<str>,
    /// How many are in it.
    pub members: usize,
    /// The grant that runs, and who holds it.
    pub holder: Option<(Epoch, UserId)>,
    /// When that grant ends, if nothing ends it before.
    pub lease_until: Option<Time>,
    /// How many wait for the stick.
    pub stick_line: usize,
    /// The first of them, in their order: at most [`LINE_SHOWN`].
    pub next_in_line: Vec<UserId>,
}

/// How many of those who wait for a stick a view of its room names.
pub const LINE_SHOWN: usize = 8;

impl Hub {
    /// How many of everything there are.
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

    /// Participants in the order of their names as they are compared, from behind the name
    /// `after`, at most `limit` of them.
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

    /// Named rooms in the order of their names as they are compared, from behind the name
    /// `after`, at most `limit` of them.
    pub fn named_rooms(&self, after: Option<&str>, limit: usize) -> impl Iterator<Item = RoomView> {
        let from = after.map_or(Bound::Unbounded, |name| Bound::Excluded(fold(name)));
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
