//! The talking stick of a named room: grants, claims, leases. // 7.1 to 7.5

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chat_types::{Addressees, Epoch, Span, Time};
use sim_model::protocol::{Code, Decided, Reply, Room, User};

use super::deadline::Deadline;
use super::room::{Kind, Turn};
use super::speech::Message;
use super::{Body, Checked, Model, refuse, refuse_if};

/// The stick of one room. // 7.1
#[derive(Clone, Debug, Default)]
pub(super) struct Stick {
    pub(super) epoch: u64,
    holder: Option<Hold>,
    /// The queue of claims; empty while there is no holder.
    pub(super) claims: VecDeque<User>,
    /// What claimants say with their grant. // 7.8
    messages: BTreeMap<User, Message>,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    user: User,
    ends: Time,
}

impl Stick {
    /// The place of a participant: 0 holds the stick, 1 is next.
    pub(super) fn place(&self, user: User) -> Option<usize> {
        if self.is_held_by(user) {
            return Some(0);
        }
        let claims = self.claims.iter().position(|claimant| *claimant == user);
        claims.map(|index| index + 1)
    }

    fn is_held_by(&self, user: User) -> bool {
        self.holder.is_some_and(|hold| hold.user == user)
    }
}

impl Model {
    pub(super) fn stick(&self, room: Room) -> Option<&Stick> {
        match &self.rooms.get(room.0)?.kind {
            Kind::Named { stick, .. } => Some(stick),
            Kind::Pair { .. } | Kind::Ended { .. } => None,
        }
    }

    fn stick_mut(&mut self, room: Room) -> Option<&mut Stick> {
        match &mut self.rooms.get_mut(room.0)?.kind {
            Kind::Named { stick, .. } => Some(stick),
            Kind::Pair { .. } | Kind::Ended { .. } => None,
        }
    }

    /// The holder of the room's stick, the epoch, and the end of the lease.
    pub(crate) fn holder_of(&self, room: Room) -> Option<(User, u64, Time)> {
        let stick = self.stick(room)?;
        let hold = stick.holder?;
        Some((hold.user, stick.epoch, hold.ends))
    }

    /// The epoch of the participant's current grant in the room.
    pub(super) fn grant_of(&self, room: Room, user: User) -> Option<Epoch> {
        let stick = self.stick(room)?;
        stick.is_held_by(user).then_some(Epoch(stick.epoch))
    }

    /// Refuses a stale epoch. // 7.5
    pub(super) fn check_epoch(&self, (user, room, epoch): Turn) -> Checked {
        let fresh = epoch.is_none() || self.is_pair(room) || self.grant_of(room, user) == epoch;
        refuse_if(!fresh, refuse(Code::StickRequired))
    }

    /// `talking_stick`. // 7.2
    pub(super) fn talking_stick(&mut self, turn @ (user, room, _): Turn) -> Decided {
        let Some(stick) = self.stick(room) else {
            return Err(refuse(Code::NoStick)); // 7.2 (2)
        };
        refuse_if(self.is_muted(user), refuse(Code::Muted))?; // 7.2 (3)
        self.check_epoch(turn)?; // 7.2 (4)
        let place = match (stick.place(user), stick.holder) {
            (Some(place), _) => place,
            (None, Some(_)) => self.claim(room, user),
            (None, None) => {
                self.grant(room, user);
                0
            }
        };
        let held = self.holder_of(room);
        let (holder, epoch, lease_until) =
            held.expect("the stick is held: the caller holds it or waits for it");
        Ok(Reply::Stick {
            room,
            place: u32::try_from(place).expect("a room has at most 65536 members"),
            epoch: Epoch(epoch),
            holder,
            lease_until,
        })
    }

    fn claim(&mut self, room: Room, user: User) -> usize {
        let Some(stick) = self.stick_mut(room) else {
            return 0;
        };
        stick.claims.push_back(user);
        let length = stick.claims.len();
        let place = u32::try_from(length).expect("a room has at most 65536 members");
        let is_known = matches!(
            self.place(room).last.as_ref().map(|event| &event.body),
            Some(Body::StickClaimed { user: claimant, .. }) if claimant.id == user
        );
        if !is_known {
            let user = self.who(user);
            self.post(room, Body::StickClaimed { user, place }, None);
        }
        length
    }

    /// A grant: its lease begins now. // 7.1
    fn grant(&mut self, room: Room, user: User) {
        let lease = self.config.stick_lease;
        let ends = self.now + lease;
        let Some(stick) = self.stick_mut(room) else {
            return;
        };
        stick.epoch += 1;
        stick.holder = Some(Hold { user, ends });
        let epoch = stick.epoch;
        self.deadlines.set(Deadline::Lease(room), None, Some(ends));
        let (user, epoch) = (self.who(user), Epoch(epoch));
        self.post(room, Body::StickGranted { user, epoch, lease }, None);
    }

    /// Removes the holder; returns it with its epoch.
    pub(super) fn take_from_holder(&mut self, room: Room) -> Option<(User, u64)> {
        let stick = self.stick_mut(room)?;
        let hold = stick.holder.take()?;
        let epoch = stick.epoch;
        self.deadlines
            .set(Deadline::Lease(room), Some(hold.ends), None);
        Some((hold.user, epoch))
    }

    /// Grants the stick to the first waiting claimant, if there is one. // 7.3, 7.4, 7.8
    fn grant_next(&mut self, room: Room) {
        let Some(stick) = self.stick_mut(room) else {
            return;
        };
        let Some(user) = stick.claims.pop_front() else {
            return;
        };
        let message = stick.messages.remove(&user);
        self.grant(room, user);
        if let Some(message) = message {
            self.say(room, user, message);
            self.give_up_stick(room, user);
        }
    }

    /// `speak`. // 7.8
    pub(super) fn speak(
        &mut self,
        turn @ (user, room, _): Turn,
        text: &Arc<str>,
        to: &Addressees,
    ) -> Decided {
        refuse_if(self.is_muted(user), refuse(Code::Muted))?;
        let message = self.message(room, text, to)?;
        if self.is_pair(room) {
            return Ok(self.say(room, user, message));
        }
        let claimed = self.talking_stick(turn)?;
        if self.grant_of(room, user).is_some() {
            let answer = self.say(room, user, message);
            self.give_up_stick(room, user);
            return Ok(answer);
        }
        if let Some(stick) = self.stick_mut(room) {
            stick.messages.insert(user, message);
        }
        Ok(claimed)
    }

    /// A participant gives up the stick of a room. // 7.3
    pub(super) fn give_up_stick(&mut self, room: Room, user: User) {
        let Some(stick) = self.stick_mut(room) else {
            return;
        };
        if !stick.is_held_by(user) {
            stick.messages.remove(&user);
            return stick.claims.retain(|claimant| *claimant != user);
        }
        if let Some((user, epoch)) = self.take_from_holder(room) {
            let (user, epoch) = (self.who(user), Epoch(epoch));
            self.post(room, Body::StickReleased { user, epoch }, None);
            self.grant_next(room);
        }
    }

    /// The lease ends, and the next one has the epoch after this one. // 7.4
    pub(super) fn end_lease(&mut self, room: Room, last: impl FnOnce(u64) -> u64) {
        let held = self.take_from_holder(room);
        if let Some(stick) = self.stick_mut(room) {
            stick.epoch = last(stick.epoch);
        }
        if let Some((user, epoch)) = held {
            let (user, epoch) = (self.who(user), Epoch(epoch));
            self.post(room, Body::StickExpired { user, epoch }, None);
            self.grant_next(room);
        }
    }

    /// The lease moves later by the downtime. // 2.6 (4)
    pub(super) fn shift_lease(&mut self, room: Room, down: Span) {
        let hold = self.stick_mut(room).and_then(|stick| stick.holder.as_mut());
        let Some(hold) = hold else { return };
        let before = hold.ends;
        hold.ends += down;
        self.deadlines
            .set(Deadline::Lease(room), Some(before), Some(before + down));
    }
}
