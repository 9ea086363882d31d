//! What must hold of the whole state after every entry. A broken invariant is a bug.

use super::Hub;
use crate::id::{RoomId, UserId};
use crate::name::fold;
use crate::participant::Participant;
use crate::room::{Kind, Room};

impl Hub {
    /// Checks that nothing is larger than its limit. Walks all of the state. Unlike an invariant
    /// this may fail for a while after `Resumed` lowered a limit: what is there already stays.
    ///
    /// # Errors
    /// The first limit that is passed.
    pub fn check_limits(&self) -> Result<(), String> {
        match self.sizes().iter().find(|s| s.size > s.limit) {
            Some(s) => Err(format!("{}: {}, the limit is {}", s.name, s.size, s.limit)),
            None => Ok(()),
        }
    }

    /// Checks every invariant. Walks all of the state: for tests, simulation and restores.
    ///
    /// # Errors
    /// The first invariant that does not hold. The shell stops rather than serve such a state.
    pub fn validate(&self) -> Result<(), String> {
        self.queue.validate()?;
        for user in self.users.sorted_keys() {
            self.validate_user(user)
                .map_err(|why| format!("{user}: {why}"))?;
        }
        for id in self.rooms.sorted_keys() {
            let room = self.room(id);
            room.validate(id)?;
            self.validate_room(room)
                .map_err(|why| format!("{id}: {why}"))?;
        }
        for waiter in self.queue.waiters() {
            let participant = self.users.get(&waiter.user).ok_or("a stranger waits")?;
            if participant.is_away() || participant.pair.is_some() {
                return Err(format!("{} waits, but is away or in a chat", waiter.user));
            }
        }
        let newest_user = self.users.sorted_keys().pop();
        let newest_room = self.rooms.sorted_keys().pop();
        if newest_user > Some(self.last_user) || newest_room > Some(self.last_room) {
            return Err("an id is in use that was not given yet".into());
        }
        let users = self.users.len();
        let index = &self.index;
        if [index.handles.len(), index.readers.len(), index.names.len()] != [users; 3] {
            return Err("the index names more, or fewer, than are registered".into());
        }
        Ok(())
    }

    fn validate_user(&self, user: UserId) -> Result<(), String> {
        let participant = self.user(user);
        participant.inbox.validate()?;
        let index = &self.index;
        let found = [
            index.handles.get(&participant.handle),
            index.readers.get(&participant.reader),
            index.names.get(&fold(&participant.who.name)),
        ];
        if found != [Some(&user); 3] || participant.who.id != user {
            return Err("is not found by its own secrets and name".into());
        }
        if !participant.blocks.is_sorted_by(|a, b| a < b) || participant.has_blocked(user) {
            return Err("has blocks out of order, or blocks itself".into());
        }
        self.validate_rooms_of(user, participant)
    }

    fn validate_rooms_of(&self, user: UserId, participant: &Participant) -> Result<(), String> {
        let live = |room: &RoomId| {
            self.rooms
                .get(room)
                .is_some_and(|r| r.is_member(user) && !is_ended(r))
        };
        let over = |room: &RoomId| {
            self.rooms
                .get(room)
                .is_some_and(|r| r.is_member(user) && is_ended(r))
        };
        if !participant.rooms.iter().all(live) || !participant.ended.iter().all(over) {
            return Err("names a room that it is not in, or that is not what it believes".into());
        }
        let pairs: Vec<_> = participant
            .rooms
            .iter()
            .filter(|room| self.is_pair(**room))
            .collect();
        if pairs.len() > 1 || pairs.first().copied() != participant.pair.as_ref() {
            return Err("is in two chats, or has lost count of its one".into());
        }
        Ok(())
    }

    fn validate_room(&self, room: &Room) -> Result<(), String> {
        for member in room.members() {
            let participant = self
                .users
                .get(&member.user)
                .ok_or("has a stranger as a member")?;
            let known = if is_ended(room) {
                participant.ended.contains(&room.id)
            } else {
                participant.rooms.contains(&room.id)
            };
            if !known {
                return Err(format!("{} does not know that it is a member", member.user));
            }
        }
        match &room.kind {
            Kind::Named { folded, .. } if self.index.rooms.get(folded) != Some(&room.id) => {
                Err("is not found by its name".into())
            }
            Kind::Named { .. } | Kind::Pair { .. } | Kind::Ended(_) => Ok(()),
        }
    }

    fn is_pair(&self, room: RoomId) -> bool {
        self.rooms
            .get(&room)
            .is_some_and(|room| matches!(room.kind, Kind::Pair { .. }))
    }
}

fn is_ended(room: &Room) -> bool {
    matches!(room.kind, Kind::Ended(_))
}
