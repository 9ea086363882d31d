//! Rooms: joining, leaving, ending, and delivery of events to members.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_types::{
    Address, Body, EndReason, Event, Notice, NoticeKind, Reply, RoomId, RoomSeq, Span, UserId,
};

use super::{Effect, Hub};
use crate::counters::ReleaseCause;
use crate::name::RoomName;
use crate::participant::Ghost;
use crate::reject::{Accepted, Argument, Ending, Outcome, Reject, refuse_if};
use crate::room::{Kind, Room};
use crate::stick::Stick;

impl Hub {
    /// Appends an event to the room's order and to its members' inboxes.
    ///
    /// All members receive it, including its subject, but not `skip`. A message is not delivered
    /// between two members of whom one blocked the other.
    pub(super) fn post(&mut self, room: RoomId, body: Body, skip: Option<UserId>) -> RoomSeq {
        let Self {
            rooms,
            users,
            effects,
            config,
            now,
            posted,
            ..
        } = self;
        let room = rooms
            .get_mut(&room)
            .expect("the caller has looked the room up");
        let room_seq = room.advance(&body);
        let event = Arc::new(Event {
            room: room.id,
            room_seq,
            at: *now,
            body,
        });
        if let Some(posted) = posted {
            posted.push(Arc::clone(&event));
        }
        let mut sender = None;
        if let Body::Message { sender: who, .. } = &event.body {
            room.remember(Arc::clone(&event), config.history_limit as usize);
            let blocks = users.get(&who.id).map(|from| from.blocks.clone());
            sender = Some((who.id, blocks.unwrap_or_default()));
        }
        for member in &room.members {
            let user = member.user;
            if skip == Some(user) {
                continue;
            }
            let participant = users.get_mut(&user).expect("members are registered");
            if let Some((from, blocks)) = &sender
                && (participant.has_blocked(*from) || blocks.binary_search(&user).is_ok())
            {
                continue;
            }
            participant
                .inbox
                .push(Arc::clone(&event), config.inbox_limit as usize, user);
            effects.push_back(Effect::InboxGrew(user));
        }
        room_seq
    }

    /// Whether one of the two has blocked the other.
    #[must_use]
    pub fn blocked(&self, a: UserId, b: UserId) -> bool {
        let has = |one: UserId, other| self.users.get(&one).is_some_and(|p| p.has_blocked(other));
        has(a, b) || has(b, a)
    }

    /// The participants that the participant blocked, or that blocked it: those for whom
    /// [`Hub::blocked`] is true.
    #[must_use]
    pub fn hidden_from(&self, user: UserId) -> BTreeSet<UserId> {
        let own = self.users.get(&user).map(|participant| &participant.blocks);
        let own = own.into_iter().flatten().copied();
        let others = (user, UserId(0))..=(user, UserId(u64::MAX));
        let others = self.index.blocks.range(others).map(|(_, other)| *other);
        own.chain(others).collect()
    }

    /// The live room of a command: the room that it names, or the only room that the caller is in.
    pub(super) fn resolve(&self, user: UserId, room: Option<RoomId>) -> Outcome<RoomId> {
        let Some(room) = room else {
            return self.only_room(user);
        };
        let found = self.rooms.get(&room).ok_or(Reject::RoomNotFound)?;
        match (&found.kind, found.is_member(user)) {
            (Kind::Pair { .. } | Kind::Named { .. }, true) => Ok(room),
            (Kind::Pair { .. } | Kind::Named { .. }, false) => Err(Reject::NotInRoom),
            (Kind::Ended(reason), true) => Err(self.has_ended(*reason)),
            // The former partner alone may still name the ended room.
            (Kind::Ended(_), false) => Err(Reject::RoomNotFound),
        }
    }

    fn only_room(&self, user: UserId) -> Outcome<RoomId> {
        let participant = self.user(user);
        match (&participant.rooms[..], participant.ended.back()) {
            (&[room], _) => Ok(room),
            // The caller is in no room, but its pair room ended. The command refers to that one.
            ([], Some(last)) => match self.room(*last).kind {
                Kind::Ended(reason) => Err(self.has_ended(reason)),
                Kind::Pair { .. } | Kind::Named { .. } => Err(Reject::RoomNotFound),
            },
            _ => {
                let rooms = u32::try_from(participant.rooms.len()).unwrap_or(u32::MAX);
                Err(Reject::RoomAmbiguous { rooms })
            }
        }
    }

    /// The refusal of a call in a pair room that ended.
    pub(super) const fn has_ended(&self, reason: EndReason) -> Reject {
        let silence = self.config.idle_timeout;
        let ending = Ending { reason, silence };
        Reject::ChatEnded { ending }
    }

    pub(super) fn open_room(&mut self, kind: Kind) -> RoomId {
        self.last_room = self.last_room.next();
        let id = self.last_room;
        self.rooms.insert(id, Room::new(id, kind).into());
        id
    }

    /// Checks that one more room fits. Every two waiters may need a room at any time.
    pub(super) fn check_room_space(&self) -> Outcome<()> {
        let kept = self.queue.len() / 2;
        let is_full = self.rooms.len() + kept >= self.config.max_rooms as usize;
        refuse_if(is_full, Reject::ServerFull)
    }

    /// Checks that `user` (`None`: a newcomer) of this address may join the room of this name.
    pub(super) fn check_join(
        &self,
        user: Option<UserId>,
        from: Address,
        name: &Arc<str>,
    ) -> Outcome<RoomName> {
        let name = RoomName::new(name)
            .map_err(|fault| Reject::invalid(Argument::Room, Accepted::Line(64, fault)))?;
        let Some(room) = self.index.rooms.get(&name.key) else {
            self.check_room_space()?;
            return self.check_rooms_each(user).map(|()| name);
        };
        let room = self.room(*room);
        if user.is_some_and(|user| room.is_member(user)) {
            return Ok(name);
        }
        if self.is_full(room) && self.first_to_give_way(room, from).is_none() {
            return Err(Reject::RoomFull {
                limit: self.config.max_members,
            });
        }
        self.check_rooms_each(user).map(|()| name)
    }

    /// Checks that the room exists. One that is muted opens none, since everybody sees its name.
    pub(super) fn check_open(&self, name: &RoomName) -> Outcome<()> {
        let room = self.index.rooms.get(&name.key);
        room.map(|_| ()).ok_or(Reject::Muted)
    }

    fn is_full(&self, room: &Room) -> bool {
        room.members.len() >= self.config.max_members as usize
    }

    /// The member that makes place for one from this address: the one that is longest away, or the
    /// first of that address whose handle was never used.
    fn first_to_give_way(&self, room: &Room, from: Address) -> Option<UserId> {
        let members = room.members.iter().map(|member| member.user);
        let ghosts = members.filter_map(|user| Some((self.user(user).presence.ghost()?, user)));
        let yielding = ghosts.filter(|(ghost, user)| match ghost {
            Ghost::Away(_) => true,
            Ghost::Unused(_) => self.user(*user).address == from,
        });
        yielding.min().map(|(_, user)| user)
    }

    fn check_rooms_each(&self, user: Option<UserId>) -> Outcome<()> {
        let limit = self.config.max_rooms_each;
        let Some(user) = user else { return Ok(()) };
        // A waiter needs space for the room of its next match.
        let kept = usize::from(self.queue.contains(user));
        let is_full = self.user(user).rooms.len() + kept >= limit as usize;
        refuse_if(is_full, Reject::RoomFull { limit })
    }

    /// Joins the room of this name, and creates it if it does not exist. `check_join` has passed.
    pub(super) fn join_named(&mut self, user: UserId, name: RoomName) -> RoomId {
        let room = match self.index.rooms.get(&name.key) {
            Some(room) => *room,
            None => {
                let key = name.key.clone();
                let kind = Kind::Named {
                    name: name.shown,
                    key: name.key,
                    stick: Stick::default(),
                };
                let room = self.open_room(kind);
                self.index.rooms.insert(key, room);
                room
            }
        };
        if !self.room(room).is_member(user) {
            let from = self.user(user).address;
            if self.is_full(self.room(room))
                && let Some(ghost) = self.first_to_give_way(self.room(room), from)
            {
                self.leave_named(room, ghost);
            }
            let now = self.now;
            self.room_mut(room).join(user, now);
            self.user_mut(user).rooms.push(room);
            let who = self.who(user);
            self.post(room, Body::Joined(who), None);
        }
        room
    }

    pub(super) fn leave_chat(&mut self, user: UserId, room: Option<RoomId>) -> Outcome {
        let room = match room {
            Some(room) => room,
            // A repeated call has no effect.
            None if self.user(user).rooms.is_empty() => return Ok(Reply::LeftChat),
            None => self.only_room(user)?,
        };
        match self.rooms.get(&room) {
            Some(found) if !found.is_member(user) => {}
            Some(found) => match found.kind {
                Kind::Pair { .. } => self.end_pair(room, EndReason::Left, Some(user)),
                Kind::Named { .. } => self.leave_named(room, user),
                Kind::Ended(_) => {}
            },
            // Ids are assigned in order, so every id up to the last one was a room. Leaving it
            // again has no effect.
            None if room.0 >= 1 && room <= self.last_room => {}
            None => return Err(Reject::RoomNotFound),
        }
        Ok(Reply::LeftChat)
    }

    /// Removes the member. It receives `user.left` like the others: the event marks the end of its
    /// membership in the room's order.
    pub(super) fn leave_named(&mut self, room: RoomId, user: UserId) {
        self.give_up_stick(room, user, ReleaseCause::LEAVE);
        let who = self.who(user);
        self.post(room, Body::Left(who), None);
        self.take_out(room, user);
    }

    /// Removes the member, and the room after its last member. The caller has handled the stick.
    pub(super) fn take_out(&mut self, room: RoomId, user: UserId) {
        self.room_mut(room).leave(user);
        self.user_mut(user).rooms.retain(|live| *live != room);
        if self.room(room).members.is_empty() {
            self.drop_named(room);
        }
    }

    fn drop_named(&mut self, room: RoomId) {
        if let Some(room) = self.rooms.remove(&room)
            && let Kind::Named { key, stick, .. } = &room.kind
        {
            self.index.rooms.remove(key);
            // An operator may have closed it while members waited for the stick.
            self.counters.count_dismissed(self.now, stick.line.len());
        }
    }

    /// Ends the pair room. Both receive the event, except `actor`, whose own call ended it.
    pub(super) fn end_pair(&mut self, room: RoomId, reason: EndReason, actor: Option<UserId>) {
        self.post(room, Body::PartnerDisconnected(reason), actor);
        self.room_mut(room).end(reason);
        for user in self.members_of(room).collect::<Vec<_>>() {
            let limit = self.config.max_ended_rooms as usize;
            let participant = self.user_mut(user);
            participant.rooms.retain(|live| *live != room);
            participant.pair = None;
            participant.ended.push_back(room);
            let over = participant.ended.len().saturating_sub(limit);
            let forgotten: Vec<RoomId> = participant.ended.drain(..over).collect();
            for room in forgotten {
                self.drop_ended(room, user);
            }
        }
    }

    /// `user` can no longer name the ended room. The room is removed when neither can.
    pub(super) fn drop_ended(&mut self, room: RoomId, user: UserId) {
        let ended = self.room_mut(room);
        ended.leave(user);
        if ended.members.is_empty() {
            self.rooms.remove(&room);
        }
    }

    pub(super) fn typing(&mut self, user: UserId, room: RoomId) -> Reply {
        self.notice(room, user, NoticeKind::Typing);
        Reply::Done
    }

    /// Notifies the rooms of a participant that it has waited in a `check` for this long.
    pub(super) fn notice_waiting(&mut self, user: UserId, waiting: Span) {
        for room in self.user(user).rooms.clone() {
            self.notice(room, user, NoticeKind::Waiting(waiting));
        }
    }

    fn notice(&mut self, room: RoomId, user: UserId, kind: NoticeKind) {
        let notice = Notice {
            user: self.who(user),
            kind,
            at: self.now,
        };
        self.room_mut(room).notice(notice.clone());
        self.effects.push_back(Effect::Noticed { room, notice });
    }
}
