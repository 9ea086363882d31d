//! Entering and leaving the queue, and matching.

use std::sync::Arc;

use chat_types::config::Matching;
use chat_types::{Body, EndReason, EnterQueue, Reply, RoomId, Span, UserId, WasWaiting};

use super::Hub;
use crate::dice::Dice;
use crate::name::is_line;
use crate::participant::State;
use crate::queue::{Compatibility, Waiter};
use crate::reject::{Accepted, Argument, Outcome, Reject, refuse_if};
use crate::room::Kind;
use crate::timer::Timer;

/// The most characters of one interest.
pub(crate) const MAX_INTEREST: usize = 64;

impl Hub {
    pub(super) fn enter_queue(&mut self, user: UserId, enter: &EnterQueue) -> Outcome {
        refuse_if(self.queue.contains(user), Reject::AlreadyWaiting)?;
        refuse_if(self.user(user).pair.is_some(), Reject::AlreadyChatting)?;
        let rooms = self.user(user).rooms.len();
        if rooms >= self.config.max_rooms_each as usize {
            return Err(Reject::RoomFull {
                limit: self.config.max_rooms_each,
            });
        }
        let from = self.user(user).address;
        let name = self.check_enter(Some(user), from, enter)?;
        self.take_name(user, name);
        let waiter = self.waiter(user, enter);
        if let Some(partner) = self.partner_by_lot(&waiter) {
            let room = self.pair(user, partner);
            return Ok(Reply::Matched {
                user,
                room,
                partner: self.who(partner),
            });
        }
        self.queue.enter(waiter);
        self.arm(Timer::Patience(user));
        let position = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        Ok(Reply::Waiting {
            user,
            position,
            estimated_wait: self.queue.estimated_wait(),
        })
    }

    /// The caller's entry in the queue.
    fn waiter(&self, user: UserId, enter: &EnterQueue) -> Waiter {
        let interests = tidy(&enter.interests);
        Waiter {
            user,
            since: self.now,
            takes_anyone: self.config.matching != Matching::Interests || interests.is_empty(),
            interests,
            is_candidate: self.is_candidate(user),
        }
    }

    /// A participant is a candidate from the first use of its handle on. Before that, nothing shows
    /// that its client received the handle, and a partner would wait for an answer in vain.
    pub(super) fn is_candidate(&self, user: UserId) -> bool {
        let participant = self.users.get(&user);
        participant.is_some_and(|participant| !participant.is_unused())
    }

    /// Ends the handling of a use of a handle. A waiter that was no candidate becomes one, and a
    /// partner is chosen for it. The presence of one that still waits is shorter.
    pub(super) fn used(&mut self, user: UserId) {
        if !self.queue.contains(user) {
            return; // nearly all, and `seen` set the presence of these
        }
        self.admit_to_queue(user);
        let until = self.now + self.stays_present(user);
        let presence = self
            .users
            .get(&user)
            .map(|participant| participant.presence);
        if presence.is_some_and(|now| now.state == State::Present && now.until != until) {
            self.user_mut(user).presence.until = until;
            self.arm(Timer::Presence(user));
        }
    }

    /// How long the participant stays present after a call.
    #[must_use]
    pub fn stays_present(&self, user: UserId) -> Span {
        let idle = self.config.idle_timeout;
        match self.queue.contains(user) {
            true => idle.min(self.config.queue_timeout),
            false => idle,
        }
    }

    fn admit_to_queue(&mut self, user: UserId) {
        if let Some(waiter) = self.queue.admit(user)
            && let Some(partner) = self.partner_by_lot(&waiter)
        {
            // It did not wait for a partner: no wait is recorded.
            self.queue.leave(user);
            self.pair(user, partner);
        }
    }

    /// Checks that the queue has space for the caller (`None`: a newcomer), or a partner for it,
    /// who then frees a place.
    pub(super) fn check_queue_space(
        &self,
        user: Option<UserId>,
        enter: &EnterQueue,
    ) -> Outcome<()> {
        let limit = self.config.max_queue;
        if self.queue.len() < limit as usize {
            return Ok(());
        }
        let waiter = self.waiter(user.unwrap_or(self.last_user.next()), enter);
        let partner = self.partner_for(&waiter, |_| 0);
        partner.map(|_| ()).ok_or(Reject::QueueFull { limit })
    }

    pub(super) fn leave_queue(&mut self, user: UserId) -> Reply {
        let left = match self.queue.leave(user) {
            Some(_) => WasWaiting::Yes,
            None => WasWaiting::No,
        };
        Reply::LeftQueue { left }
    }

    pub(super) fn check_interests(&self, interests: &[Arc<str>]) -> Outcome<()> {
        let limit = self.config.max_interests;
        let fits = |one: &Arc<str>| is_line(one, MAX_INTEREST);
        if interests.len() <= limit as usize && interests.iter().all(fits) {
            return Ok(());
        }
        Err(Reject::invalid(Argument::Interests, Accepted::List(limit)))
    }

    /// The partner for a waiter by a call or a use of its own handle.
    fn partner_by_lot(&self, waiter: &Waiter) -> Option<UserId> {
        self.partner_for(waiter, |n| Dice::of(self.seed, self.position).below(n))
    }

    fn partner_for(&self, waiter: &Waiter, draw: impl FnOnce(u64) -> u64) -> Option<UserId> {
        if !waiter.is_candidate {
            return None;
        }
        let before = self.user(waiter.user).last_partner;
        let fit = |other: UserId| {
            if self.blocked(waiter.user, other) {
                Compatibility::Never
            } else if before == Some(other) || self.user(other).last_partner == Some(waiter.user) {
                Compatibility::LastPartner
            } else {
                Compatibility::Good
            }
        };
        self.queue
            .partner_for(waiter, self.config.matching, fit, draw)
    }

    /// Creates a pair room for the two, with `chatroom.found`. Either may have been waiting.
    fn pair(&mut self, seeker: UserId, partner: UserId) -> RoomId {
        for user in [partner, seeker] {
            if let Some(waiter) = self.queue.leave(user) {
                let wait = self.now.since(waiter.since);
                self.queue.record_wait(wait);
            }
        }
        self.counters.matches += 1;
        let room = self.open_room(Kind::Pair { turns: 0 });
        let now = self.now;
        for (user, other) in [(seeker, partner), (partner, seeker)] {
            self.room_mut(room).join(user, now);
            let participant = self.user_mut(user);
            participant.rooms.push(room);
            participant.pair = Some(room);
            participant.last_partner = Some(other);
        }
        let pair = [self.who(seeker), self.who(partner)];
        self.post(room, Body::Found(pair), None);
        // If a stream closed while its owner waited, no partner was notified of it. The new partner
        // is notified now.
        for user in [seeker.min(partner), seeker.max(partner)] {
            if self.user(user).presence.state == State::Grace {
                self.tell_partner(user, Body::PartnerAway);
            }
        }
        room
    }

    /// Handles the patience timer: from now on the waiter accepts everyone who accepts everyone.
    pub(super) fn patience_due(&mut self, user: UserId) {
        let Some(waiter) = self.queue.take_anyone(user).cloned() else {
            return;
        };
        // Random draws belong to the seeker's own entry. Here the first candidate is taken.
        if let Some(partner) = self.partner_for(&waiter, |_| 0) {
            self.pair(user, partner);
        }
    }

    /// Blocks `other` for `user`. The two are not matched and do not receive each other's messages;
    /// their pair room ends.
    pub(super) fn block(&mut self, user: UserId, other: UserId) -> Outcome {
        self.check_other(user, other)?;
        let limit = self.config.max_blocks;
        let participant = self.user_mut(user);
        let Err(at) = participant.blocks.binary_search(&other) else {
            return Ok(Reply::Done);
        };
        if participant.blocks.len() >= limit as usize {
            return Err(Reject::invalid(Argument::Blocks, Accepted::AtMost(limit)));
        }
        participant.blocks.insert(at, other);
        let pair = participant.pair;
        self.index.blocks.insert((other, user));
        if let Some(room) = pair
            && self.room(room).is_member(other)
        {
            self.end_pair(room, EndReason::Blocked, Some(user));
        }
        Ok(Reply::Done)
    }

    /// Removes `user`'s block of `other`, whose registration may have ended. A block in the other
    /// direction stays.
    pub(super) fn unblock(&mut self, user: UserId, other: UserId) -> Outcome {
        check_different(user, other)?;
        let blocks = &mut self.user_mut(user).blocks;
        if let Ok(at) = blocks.binary_search(&other) {
            blocks.remove(at);
            self.index.blocks.remove(&(other, user));
        }
        Ok(Reply::Done)
    }

    /// Checks that `other` is registered and is not `user`.
    pub(super) fn check_other(&self, user: UserId, other: UserId) -> Outcome<()> {
        check_different(user, other)?;
        let found = self.users.get(&other);
        found.map(|_| ()).ok_or(Reject::UserNotFound)
    }
}

fn check_different(user: UserId, other: UserId) -> Outcome<()> {
    let refusal = Reject::invalid(Argument::UserId, Accepted::AnotherParticipant);
    refuse_if(user == other, refusal)
}

/// Interests in the form in which they are compared: in lower case, sorted, without duplicates.
fn tidy(interests: &Arc<[Arc<str>]>) -> Arc<[Arc<str>]> {
    let lower = |text: &str| text.chars().all(|c| c.is_lowercase() || !c.is_alphabetic());
    if interests.is_sorted_by(|a, b| a < b) && interests.iter().all(|one| lower(one)) {
        return Arc::clone(interests);
    }
    let lowered = interests.iter().map(|one| one.to_lowercase().into());
    let mut tidy: Vec<Arc<str>> = lowered.collect();
    tidy.sort_unstable();
    tidy.dedup();
    tidy.into()
}
