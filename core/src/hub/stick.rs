//! The talking stick in the Hub: transitions and their events.

use std::sync::Arc;

use chat_types::{Addressees, Body, Epoch, Reply, RoomId, Span, StickMove, UserId};

use super::Hub;
use super::deadlines::number_behind;
use super::speech::check_grant;
use crate::counters::ReleaseCause;
use crate::reject::{Outcome, Reject, refuse_if};
use crate::stick::{Claim, GivenUp, Stick};
use crate::timer::Timer;

impl Hub {
    pub(super) fn claim_stick(
        &mut self,
        user: UserId,
        room: RoomId,
        epoch: Option<Epoch>,
    ) -> Outcome {
        refuse_if(self.room(room).stick().is_none(), Reject::NoStick)?;
        refuse_if(self.is_muted(user), Reject::Muted)?;
        check_grant(user, self.room(room).stick(), epoch)?;
        self.claim(user, room);
        self.stick_reply(user, room)
    }

    /// Grants `user` the stick of the room, or a place in its line.
    fn claim(&mut self, user: UserId, room: RoomId) {
        let (now, lease) = (self.now, self.config.stick_lease);
        let Some(stick) = self.room_mut(room).stick_mut() else {
            return;
        };
        match stick.claim(user, now, lease) {
            Claim::Granted => {
                self.counters.count_move(self.now, StickMove::GrantedAtOnce);
                self.tell_granted(room, user);
            }
            Claim::Queued(place) => {
                self.counters.count_move(self.now, StickMove::Queued);
                // A claim that is withdrawn and repeated posts only one event.
                if self.room(room).last_claimant != Some(user) {
                    let who = self.who(user);
                    self.post(room, Body::StickClaimed { user: who, place }, None);
                }
            }
            Claim::Unchanged(_) => {}
        }
    }

    /// Says the text at once, with the stick where the room has one, and passes the stick on. A caller that
    /// has to wait for the stick leaves it with its claim.
    pub(super) fn speak(
        &mut self,
        user: UserId,
        room: RoomId,
        text: &Arc<str>,
        to: &Addressees,
    ) -> Outcome {
        refuse_if(self.is_muted(user), Reject::Muted)?;
        let speech = self.speech(room, Arc::clone(text), to)?;
        self.claim(user, room);
        let stick = self.room_mut(room).stick_mut();
        if stick.is_some_and(|stick| stick.leave_message(user, &speech)) {
            return self.stick_reply(user, room);
        }
        let reply = self.say(user, room, speech);
        self.give_up_stick(room, user, ReleaseCause::PUSH);
        Ok(reply)
    }

    fn stick_reply(&self, user: UserId, room: RoomId) -> Outcome {
        let stick = self.room(room).stick().ok_or(Reject::NoStick)?;
        let holder = stick.holder.expect("a claimed stick is held");
        Ok(Reply::Stick {
            room,
            place: stick.place(user).expect("the caller has just claimed it"),
            epoch: stick.epoch,
            holder: holder.user,
            lease_until: holder.lease_until,
        })
    }

    /// Ends `user`'s grant or claim of the room's stick. The next in line receives the stick.
    pub(super) fn give_up_stick(&mut self, room: RoomId, user: UserId, cause: ReleaseCause) {
        let Some(stick) = self.room_mut(room).stick_mut() else {
            return;
        };
        match stick.give_up(user) {
            GivenUp::Released(epoch) => {
                self.tell_released(room, user, epoch, cause);
                self.grant_next(room);
            }
            GivenUp::Withdrawn => {
                if let Some(how) = cause.withdrawn {
                    self.counters.count_move(self.now, how);
                }
            }
            GivenUp::Nothing => {}
        }
    }

    /// Handles the lease timer.
    pub(super) fn lease_due(&mut self, room: RoomId) {
        let now = self.now;
        self.end_grant(room, |stick| stick.expire(now));
    }

    /// Ends the grant of a room's stick after the loss of a life, in which it may have passed on,
    /// and continues behind every epoch that may have been given.
    pub(super) fn renew_stick(&mut self, room: RoomId, down: Span) {
        self.end_grant(room, |stick| {
            stick.pass_to(Epoch(number_behind(stick.epoch.0, down)))
        });
    }

    /// Ends the grant of a room's stick in this way, which returns the former holder, if there is one.
    fn end_grant(&mut self, room: RoomId, end: impl FnOnce(&mut Stick) -> Option<UserId>) {
        let Some(stick) = self.room_mut(room).stick_mut() else {
            return;
        };
        let epoch = stick.epoch;
        if let Some(user) = end(stick) {
            self.counters.count_move(self.now, StickMove::Expired);
            let who = self.who(user);
            self.post(room, Body::StickExpired { user: who, epoch }, None);
            self.grant_next(room);
        }
    }

    /// Grants a free stick to the first in line. One that left a message says it, and the next follows.
    fn grant_next(&mut self, room: RoomId) {
        let (now, lease) = (self.now, self.config.stick_lease);
        while let Some(stick) = self.room_mut(room).stick_mut()
            && let Some((user, message)) = stick.grant_next(now, lease)
        {
            let epoch = stick.epoch;
            self.counters.count_move(now, StickMove::GrantedFromLine);
            self.tell_granted(room, user);
            let Some(speech) = message else { return };
            self.say(user, room, speech);
            if let Some(stick) = self.room_mut(room).stick_mut() {
                stick.give_up(user);
            }
            self.tell_released(room, user, epoch, ReleaseCause::PUSH);
        }
    }

    fn tell_released(&mut self, room: RoomId, user: UserId, epoch: Epoch, cause: ReleaseCause) {
        self.counters.count_move(self.now, cause.released);
        let who = self.who(user);
        self.post(room, Body::StickReleased { user: who, epoch }, None);
    }

    fn tell_granted(&mut self, room: RoomId, user: UserId) {
        self.arm(Timer::Lease(room));
        let stick = self.room(room).stick();
        let body = Body::StickGranted {
            user: self.who(user),
            epoch: stick.map(|stick| stick.epoch).unwrap_or_default(),
            lease: self.config.stick_lease,
        };
        self.post(room, body, None);
    }
}
