//! Views for operators and visitors of a server: participants, rooms, and counts. Every view is a
//! page: it starts after a name and has a largest length, so its cost is bounded.
//!
//! And what an archive of past messages takes from the state: events as they happen, and what is
//! left of earlier ones.

use std::ops::Bound;
use std::sync::Arc;

use chat_types::{Counts, Event, KeptRoom, LINE_SHOWN, ParticipantView, RoomId, RoomView, UserId};

use super::Hub;
use crate::name::{fold, room_key};
use crate::room::Kind;

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
        let users = self.index.names.range((from, Bound::Unbounded)).take(limit);
        users.filter_map(|(_, user)| self.participant_view(*user))
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
            is_muted: self.is_muted(user),
            address: participant.address,
        })
    }

    /// Named rooms in the order of their keys, after the name `after`, at most `limit`.
    pub fn named_rooms(&self, after: Option<&str>, limit: usize) -> impl Iterator<Item = RoomView> {
        let from = after.map_or(Bound::Unbounded, |name| Bound::Excluded(room_key(name)));
        let rooms = self.index.rooms.range((from, Bound::Unbounded)).take(limit);
        rooms.filter_map(|(_, room)| self.room_view(*room))
    }

    fn room_view(&self, id: RoomId) -> Option<RoomView> {
        let room = self.rooms.get(&id)?;
        let name = self.room_name(id)?.into();
        let stick = room.stick();
        let holder = stick.and_then(|stick| Some((stick.epoch, stick.holder?.user)));
        Some(RoomView {
            id,
            name,
            members: room.members.len(),
            holder,
            lease_until: stick.and_then(crate::stick::Stick::lease_until),
            stick_line: stick.map_or(0, |stick| stick.line.len()),
            next_in_line: stick.map_or_else(Vec::new, |stick| {
                stick.line.iter().take(LINE_SHOWN).copied().collect()
            }),
        })
    }

    /// Collects the events of all rooms from now on, for an archive. The archive takes them after
    /// every entry by `take_posted`: they are no part of the state, and have no limit.
    pub fn collect_posted(&mut self) {
        self.posted = Some(Vec::new());
    }

    /// The events of all rooms since the last call, in order; none without `collect_posted`.
    pub fn take_posted(&mut self) -> Vec<Arc<Event>> {
        let posted = self.posted.as_mut();
        posted.map(std::mem::take).unwrap_or_default()
    }

    /// All live rooms, in the order of their ids. Copies them one by one.
    pub fn kept_rooms(&self) -> impl Iterator<Item = KeptRoom> {
        self.rooms.sorted().filter_map(|(id, room)| {
            let name = match &room.kind {
                Kind::Named { name, .. } => Some(Arc::clone(name)),
                Kind::Pair { .. } => None,
                Kind::Ended(_) => return None,
            };
            let members = room.members.iter();
            let members = members.map(|member| (self.who(member.user), member.since));
            Some(KeptRoom {
                id,
                name,
                last: room.last_seq,
                members: members.collect(),
                messages: room.history.iter().cloned().collect(),
            })
        })
    }
}
