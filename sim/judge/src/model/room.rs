//! Rooms: posting, the room of a call, joining, leaving, ending. // 4, 8.1 to 8.3

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use chat_types::{Epoch, RoomSeq, Time};
use sim_model::protocol::{Code, Decided, EndReason, Notice, Refusal, Reply, Room, User};

use super::names::{MAX_NAME, is_line, room_key};
use super::participant::either_blocked;
use super::speech::Draft;
use super::stick::Stick;
use super::{Asker, Body, Checked, Event, Model, refuse, refuse_at, refuse_if};

/// The state of a room. // 4.2
#[derive(Clone, Debug)]
pub(super) struct RoomState {
    pub(super) kind: Kind,
    pub(super) members: BTreeMap<User, Member>,
    pub(super) last_seq: u64,
    /// The last event.
    pub(super) last: Option<Arc<Event>>,
    /// The last messages, oldest first.
    pub(super) history: VecDeque<Arc<Event>>,
}

/// A member that calls, its room, and the epoch that the call names.
pub(super) type Turn = (User, Room, Option<Epoch>);

/// The kind of a room, with the state of that kind.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Pair {
        turns: u32,
    },
    Named {
        /// The name as its creator spelled it.
        name: Arc<str>,
        key: String,
        stick: Stick,
    },
    Ended {
        reason: EndReason,
        remembered_by: BTreeSet<User>,
    },
}

/// The state of a member in its room.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) since: Time,
    pub(super) draft: Draft,
    /// Its latest notice.
    pub(super) notice: Option<Notice>,
}

impl RoomState {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            members: BTreeMap::new(),
            last_seq: 0,
            last: None,
            history: VecDeque::new(),
        }
    }

    pub(super) fn admit(&mut self, user: User, since: Time) {
        let member = Member {
            since,
            ..Member::default()
        };
        self.members.insert(user, member);
    }
}

impl Model {
    /// The members in ascending number, each with the time of joining.
    pub(crate) fn members(&self, room: Room) -> impl Iterator<Item = (User, Time)> {
        let place = self.rooms.get(room.0);
        let members = place.into_iter().flat_map(|place| &place.members);
        members.map(|(user, member)| (*user, member.since))
    }

    /// Whether the participant is a member of the (live) room.
    pub(crate) fn is_member(&self, user: User, room: Room) -> bool {
        let place = self.rooms.get(room.0);
        place.is_some_and(|place| place.members.contains_key(&user))
    }

    /// The live room of this name, or of a name with the same key. // 5.3
    pub(crate) fn room_named(&self, name: &str) -> Option<Room> {
        self.room_names.get(&room_key(name)).copied()
    }

    pub(super) fn place(&self, room: Room) -> &RoomState {
        let place = self.rooms.get(room.0);
        place.expect("the room is there: it was resolved, or it has a member")
    }

    pub(super) fn place_mut(&mut self, room: Room) -> &mut RoomState {
        let place = self.rooms.get_mut(room.0);
        place.expect("the room is there: it was resolved, or it has a member")
    }

    pub(super) fn member_mut(&mut self, room: Room, user: User) -> &mut Member {
        let member = self.place_mut(room).members.get_mut(&user);
        member.expect("the room was resolved for a member")
    }

    pub(super) fn is_pair(&self, room: Room) -> bool {
        matches!(self.place(room).kind, Kind::Pair { .. })
    }

    /// Posts an event to the members of a room. // 4.3
    pub(super) fn post(&mut self, room: Room, body: Body, skipping: Option<User>) -> Arc<Event> {
        let author = body.message().map(|(sender, _)| sender);
        let (at, limit) = (self.now, self.config.inbox_limit);
        let (rooms, participants) = (&mut self.rooms, &mut self.participants);
        let place = rooms.get_mut(room.0).expect("events are of live rooms");
        place.last_seq += 1; // 4.3 (1)
        let event = Arc::new(Event {
            room,
            room_seq: RoomSeq(place.last_seq),
            at,
            body,
        });
        place.last = Some(Arc::clone(&event));
        self.posted.push(Arc::clone(&event));
        for &member in place.members.keys() {
            if Some(member) == skipping {
                continue; // 4.3 (2)
            }
            if author.is_some_and(|author| either_blocked(participants, member, author)) {
                continue; // 4.3 (3)
            }
            let participant = participants.get_mut(member.0);
            let participant = participant.expect("a member is registered");
            participant.inbox.append(Arc::clone(&event), limit);
            self.grown.push(member);
        }
        event
    }

    /// The room that a call means. // 4.5
    pub(super) fn resolve(&self, caller: User, room: Option<Room>) -> Result<Room, Refusal> {
        let participant = self.participant(caller);
        let Some(room) = room else {
            return match (participant.live.as_slice(), participant.ended.back()) {
                ([only], _) => Ok(*only),
                ([], Some(last)) => Err(self.has_ended(*last)),
                (live, _) => Err(ambiguous(live)),
            };
        };
        self.check_member(caller, room, Code::RoomNotFound)?;
        Ok(room)
    }

    /// The turn of a call in the room that it means. // 4.5
    pub(super) fn turn(
        &self,
        caller: User,
        room: Option<Room>,
        epoch: Option<Epoch>,
    ) -> Result<Turn, Refusal> {
        Ok((caller, self.resolve(caller, room)?, epoch))
    }

    /// Whether the participant is in this live room. In an ended one that it does not remember, it is
    /// refused with `forgotten`. // 4.5, 11.3
    pub(super) fn check_member(&self, user: User, room: Room, forgotten: Code) -> Checked {
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse(Code::RoomNotFound));
        };
        match &place.kind {
            Kind::Ended { remembered_by, .. } if remembered_by.contains(&user) => {
                Err(self.has_ended(room))
            }
            Kind::Ended { .. } => Err(refuse(forgotten)),
            Kind::Pair { .. } | Kind::Named { .. } => {
                refuse_if(!place.members.contains_key(&user), refuse(Code::NotInRoom))
            }
        }
    }

    /// The refusal of a call in an ended room, with its reason. // 16.3
    pub(super) fn has_ended(&self, room: Room) -> Refusal {
        match self.place(room).kind {
            Kind::Ended { reason, .. } => Refusal::with(Code::ChatEnded, reason as u64),
            Kind::Pair { .. } | Kind::Named { .. } => refuse(Code::ChatEnded),
        }
    }

    /// Whether there is space for another room. // 8.1
    pub(super) fn check_space_for_room(&self) -> Checked {
        let taken = self.rooms.len() + self.line.waiters.len() / 2;
        let is_full = taken >= self.config.max_rooms as usize;
        refuse_if(is_full, refuse(Code::ServerFull))
    }

    /// Whether a known or a registering participant may join the room of this name. // 8.1
    pub(super) fn check_join(&self, (who, from): Asker, name: &str) -> Checked {
        refuse_if(!is_line(name, MAX_NAME), refuse(Code::InvalidArguments))?; // 8.1 (1)
        match self.room_named(name) {
            None => self.check_space_for_room()?, // 8.1 (2)
            Some(room) => {
                let members = &self.place(room).members;
                if who.is_some_and(|user| members.contains_key(&user)) {
                    return Ok(()); // 8.1 (3)
                }
                let is_full = self.is_full(room) && self.first_to_leave(room, from).is_none();
                refuse_if(is_full, refuse_at(Code::RoomFull, self.config.max_members))?; // 8.1 (4)
            }
        }
        let Some(user) = who else { return Ok(()) };
        let participant = self.participant(user);
        let taken = participant.live.len() + usize::from(participant.ticket.is_some());
        let most = self.config.max_rooms_each;
        refuse_if(taken >= most as usize, refuse_at(Code::RoomFull, most)) // 8.1 (5)
    }

    /// Whether one that is muted may join the room of this name: it opens none. // 8.1 (6)
    pub(super) fn check_exists(&self, name: &str) -> Checked {
        self.room_named(name).map(|_| ()).ok_or(refuse(Code::Muted))
    }

    /// The member of a full room that makes place for one from this address. // 8.1
    fn first_to_leave(&self, room: Room, from: u64) -> Option<User> {
        let members = self.place(room).members.keys().copied();
        self.longest_away(members.clone())
            .or_else(|| self.first_to_give_way(members, from))
    }

    fn is_full(&self, room: Room) -> bool {
        self.place(room).members.len() >= self.config.max_members as usize
    }

    /// The participant joins the room of this name; a missing room is created. // 8.1
    pub(super) fn join(&mut self, user: User, name: &Arc<str>) -> Room {
        let key = room_key(name);
        let room = match self.room_names.get(&key) {
            Some(room) => *room,
            None => {
                let room = Room(self.rooms.add(RoomState::new(Kind::Named {
                    name: Arc::clone(name),
                    key: key.clone(),
                    stick: Stick::default(),
                })));
                self.room_names.insert(key, room);
                room
            }
        };
        if !self.is_member(user, room) {
            let from = self.participant(user).address;
            if self.is_full(room)
                && let Some(member) = self.first_to_leave(room, from)
            {
                self.leave_named(room, member);
            }
            let now = self.now;
            self.place_mut(room).admit(user, now);
            self.participant_mut(user).live.push(room);
            let joined = Body::Joined(self.who(user));
            self.post(room, joined, None);
        }
        room
    }

    /// `leave_chat`. // 8.2
    pub(super) fn leave_chat(&mut self, caller: User, room: Option<Room>) -> Decided {
        let room = match room {
            None => match self.participant(caller).live.as_slice() {
                [] => return Ok(Reply::LeftChat),
                [only] => *only,
                live => return Err(ambiguous(live)),
            },
            Some(room) if !(1..=self.rooms.last).contains(&room.0) => {
                return Err(refuse(Code::RoomNotFound));
            }
            Some(room) if !self.is_member(caller, room) => return Ok(Reply::LeftChat),
            Some(room) => room,
        };
        self.leave(room, caller);
        Ok(Reply::LeftChat)
    }

    /// A member leaves a live room. // 8.1, 8.2
    pub(super) fn leave(&mut self, room: Room, user: User) {
        if self.is_pair(room) {
            self.end_pair(room, EndReason::Left, Some(user));
        } else {
            self.leave_named(room, user);
        }
    }

    /// A member leaves a named room. // 8.1
    fn leave_named(&mut self, room: Room, user: User) {
        self.give_up_stick(room, user);
        let left = Body::Left(self.who(user));
        self.post(room, left, None);
        self.remove_member(room, user);
    }

    /// Removes a member; an empty room disappears. // 8.1
    pub(super) fn remove_member(&mut self, room: Room, user: User) {
        self.participant_mut(user)
            .live
            .retain(|other| *other != room);
        let place = self.place_mut(room);
        place.members.remove(&user);
        if place.members.is_empty() {
            self.take_from_holder(room); // Without an event. // 7.1, 11.3
            if let Some(place) = self.rooms.remove(room.0)
                && let Kind::Named { key, .. } = place.kind
            {
                self.room_names.remove(&key);
            }
        }
    }

    /// Ends a pair room. // 8.3
    pub(super) fn end_pair(&mut self, room: Room, reason: EndReason, actor: Option<User>) {
        self.post(room, Body::PartnerDisconnected(reason), actor);
        let place = self.place_mut(room);
        let members = std::mem::take(&mut place.members);
        place.history.clear();
        let remembered_by = members.keys().copied().collect();
        place.kind = Kind::Ended {
            reason,
            remembered_by,
        };
        for &user in members.keys() {
            let limit = self.config.max_ended_rooms as usize;
            let participant = self.participant_mut(user);
            participant.pair = None;
            participant.live.retain(|other| *other != room);
            participant.ended.push_back(room);
            // 4.6
            let excess = participant.ended.len().saturating_sub(limit);
            let oldest: Vec<Room> = participant.ended.drain(..excess).collect();
            for forgotten in oldest {
                self.forget_ended(forgotten, user);
            }
        }
    }

    /// A participant forgets an ended room; a room that no participant remembers is removed. // 4.6
    pub(super) fn forget_ended(&mut self, room: Room, user: User) {
        if let Kind::Ended { remembered_by, .. } = &mut self.place_mut(room).kind {
            remembered_by.remove(&user);
            if remembered_by.is_empty() {
                self.rooms.remove(room.0);
            }
        }
    }
}

/// The refusal of a call without a room, by a participant in none or in several. // 4.5
fn ambiguous(live: &[Room]) -> Refusal {
    Refusal::with(Code::RoomAmbiguous, live.len() as u64)
}
