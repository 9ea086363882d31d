//! Presence: calls, streams, grace period, going away, coming back, and the end of a registration.

use chat_types::{Body, Earlier, EndReason, Reply, Span, Time, UserId};

use super::away::Away;
use super::{Effect, Hub};
use crate::counters::ReleaseCause;
use crate::participant::Presence;
use crate::reject::Reject;
use crate::room::Kind;
use crate::timer::Timer;

/// The delay after which a refused stream may be tried again.
pub(crate) const STREAM_RETRY: Span = Span::secs(1);

impl Hub {
    pub(super) fn arm_presence(&mut self, user: UserId) {
        if let Some(at) = self.user(user).deadline() {
            self.timers.arm(Timer::Presence(user), at);
        }
    }

    /// Handles a call of the participant: it becomes present.
    pub(super) fn seen(&mut self, user: UserId) {
        let until = self.now + self.config.idle_timeout;
        let (before, deadline) = self.set_presence(user, Presence::Present { until });
        // The timer is armed only if the deadline moved to an earlier instant. If it moved later,
        // the old timer finds it.
        if deadline.is_none_or(|deadline| until < deadline) {
            self.arm_presence(user);
        }
        match before {
            Presence::Unused { .. } | Presence::Present { .. } => {}
            Presence::Grace { .. } => self.tell_partner(user, Body::PartnerReconnected),
            Presence::Away { .. } => self.tell_named_rooms(user, Body::Back),
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

    pub(super) fn open_stream(&mut self, user: UserId) -> Result<Reply, Reject> {
        let limit = self.config.max_streams;
        let participant = self.user_mut(user);
        if participant.streams >= limit {
            return Err(Reject::RateLimited {
                retry_after: STREAM_RETRY,
                earlier: Earlier::Unasked,
            });
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
        self.set_presence(user, Presence::Grace { until });
        self.arm_presence(user);
        self.tell_partner_away(user);
    }

    pub(super) fn tell_partner_away(&mut self, user: UserId) {
        self.tell_partner(user, Body::PartnerAway);
    }

    fn tell_partner(
        &mut self,
        user: UserId,
        body: impl FnOnce(std::sync::Arc<chat_types::Who>) -> Body,
    ) {
        if let Some(room) = self.user(user).pair {
            let who = self.who(user);
            self.post(room, body(who), Some(user));
        }
    }

    fn tell_named_rooms(
        &mut self,
        user: UserId,
        body: impl Fn(std::sync::Arc<chat_types::Who>) -> Body,
    ) {
        for room in self.user(user).rooms.clone() {
            if matches!(self.room(room).kind, Kind::Named { .. }) {
                let who = self.who(user);
                self.post(room, body(who), None);
            }
        }
    }

    /// Handles the presence timer.
    pub(super) fn presence_due(&mut self, user: UserId) {
        match self.user(user).presence {
            Presence::Unused { .. } => {
                self.go_away(user);
                self.forget(user);
            }
            Presence::Present { .. } | Presence::Grace { .. } => self.go_away(user),
            Presence::Away { .. } => self.forget(user),
        }
    }

    /// The participant goes away: it leaves the queue, releases its stick, and its pair room ends.
    /// Named rooms, drafts and inbox stay.
    fn go_away(&mut self, user: UserId) {
        let until = self.now + self.config.forget_after;
        self.set_presence(user, Presence::Away { until });
        self.arm_presence(user);
        self.queue.leave(user);
        for room in self.user(user).rooms.clone() {
            match self.room(room).kind {
                Kind::Pair { .. } => self.end_pair(room, EndReason::Timeout, None),
                Kind::Named { .. } => {
                    self.give_up_stick(room, user, ReleaseCause::Away);
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
        for user in self.users.sorted_keys() {
            away.add(user, self.user(user));
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
        self.unindex(user);
        self.users.remove(&user);
        self.effects.push_back(Effect::Forgotten(user));
    }
}
