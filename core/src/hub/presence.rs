//! Presence: calls, streams, grace period, going away, coming back, and the end of a registration.

use std::sync::Arc;

use chat_types::{Body, EndReason, Reply, Span, Time, UserId, Who};

use super::away::Away;
use super::{Effect, Hub};
use crate::counters::ReleaseCause;
use crate::participant::{Presence, State};
use crate::reject::{Outcome, Reject};
use crate::room::Kind;
use crate::timer::Timer;

/// The delay after which a refused stream may be tried again.
pub(crate) const STREAM_RETRY: Span = Span::secs(1);

impl Hub {
    /// Handles a call of the participant: it becomes present.
    pub(super) fn seen(&mut self, user: UserId) {
        let until = self.now + self.config.idle_timeout;
        let (before, deadline) = self.set_presence(user, State::Present.until(until));
        // The timer is armed only if the deadline moved to an earlier instant. If it moved later,
        // the old timer finds it.
        if deadline.is_none_or(|deadline| until < deadline) {
            self.arm(Timer::Presence(user));
        }
        match before.state {
            State::Unused | State::Present => {}
            State::Grace => self.tell_partner(user, Body::PartnerReconnected),
            State::Away => self.tell_back(user),
        }
    }

    /// Changes the presence, and returns the one before and its deadline. The caller arms the timer.
    pub(super) fn set_presence(
        &mut self,
        user: UserId,
        presence: Presence,
    ) -> (Presence, Option<Time>) {
        let participant = self.user_mut(user);
        let deadline = participant.deadline();
        let before = std::mem::replace(&mut participant.presence, presence);
        let address = participant.address;
        self.index.away.withdraw(address, user, before);
        self.index.away.insert(address, user, presence);
        (before, deadline)
    }

    pub(super) fn open_stream(&mut self, user: UserId) -> Outcome {
        let limit = self.config.max_streams;
        let participant = self.user_mut(user);
        if participant.streams >= limit {
            return Err(Reject::rate_limited(STREAM_RETRY));
        }
        participant.streams += 1;
        Ok(Reply::Done)
    }

    pub(super) fn close_stream(&mut self, user: UserId) {
        let until = self.now + self.config.reconnect_grace;
        let participant = self.user_mut(user);
        if participant.streams == 0 {
            return; // closed by downtime already
        }
        participant.streams -= 1;
        if participant.streams > 0 {
            return;
        }
        self.set_presence(user, State::Grace.until(until));
        self.arm(Timer::Presence(user));
        self.tell_partner(user, Body::PartnerAway);
    }

    pub(super) fn tell_partner(&mut self, user: UserId, body: fn(Arc<Who>) -> Body) {
        if let Some(room) = self.user(user).pair {
            let who = self.who(user);
            self.post(room, body(who), Some(user));
        }
    }

    fn tell_back(&mut self, user: UserId) {
        for room in self.user(user).rooms.clone() {
            if matches!(self.room(room).kind, Kind::Named { .. }) {
                let who = self.who(user);
                self.post(room, Body::Back(who), None);
            }
        }
    }

    /// Handles the presence timer.
    pub(super) fn presence_due(&mut self, user: UserId) {
        match self.user(user).presence.state {
            State::Unused => {
                self.go_away(user);
                self.forget(user);
            }
            State::Present | State::Grace => self.go_away(user),
            State::Away => self.forget(user),
        }
    }

    /// The participant goes away: it leaves the queue, releases its stick, and its pair room ends.
    /// Named rooms, drafts and inbox stay.
    fn go_away(&mut self, user: UserId) {
        let until = self.now + self.config.forget_after;
        self.set_presence(user, State::Away.until(until));
        self.arm(Timer::Presence(user));
        self.queue.leave(user);
        for room in self.user(user).rooms.clone() {
            match self.room(room).kind {
                Kind::Pair { .. } => self.end_pair(room, EndReason::Timeout, None),
                Kind::Named { .. } => {
                    self.give_up_stick(room, user, ReleaseCause::AWAY);
                    let who = self.who(user);
                    self.post(room, Body::Away(who), None);
                }
                Kind::Ended(_) => {}
            }
        }
    }

    /// Builds the index of absent participants from the participants.
    pub(super) fn index_away(&self) -> Away {
        let mut away = Away::default();
        for (user, participant) in self.users.sorted() {
            away.add(user, participant);
        }
        away
    }

    /// Ends the participant's registration; its names become free.
    pub(super) fn forget(&mut self, user: UserId) {
        self.queue.leave(user);
        for room in self.user(user).rooms.clone() {
            match self.room(room).kind {
                Kind::Pair { .. } => self.end_pair(room, EndReason::Left, Some(user)),
                Kind::Named { .. } => self.leave_named(room, user),
                Kind::Ended(_) => {}
            }
        }
        while let Some(room) = self.user_mut(user).ended.pop_front() {
            self.drop_ended(room, user);
        }
        if let Some(participant) = self.users.remove(&user) {
            self.index.remove(user, &participant);
        }
        self.effects.push_back(Effect::Forgotten(user));
    }
}
