//! Delayed answers: of breaks that were taken at the boss's highest alert level.
//!
//! Only the answer waits: the break is in the journal, and no other call is delayed. Delayed
//! answers are lost with the node, like all open calls. A repeated call with the same key is
//! delayed until the same instant.

use std::collections::BTreeSet;

use chat_types::{Reply, Response, Span, Ticket, Time, UserId};

use super::{Node, OVERLOAD_RETRY};
use crate::reject::{Outcome, Reject, refuse_if};
use crate::table::Table;

/// The delay after which a participant with its share of delayed answers should try again.
const SHARE_RETRY: Span = Span::secs(1);

/// The delayed answers, and the breaks whose answers may be delayed.
#[derive(Clone, Debug, Default)]
pub(super) struct DelayedReplies {
    /// Breaks that are not decided yet.
    expected: Table<Ticket, Expected>,
    answers: Table<Ticket, Answer>,
    due: BTreeSet<(Time, Ticket)>,
    /// The answers and the breaks of each participant that is registered.
    by_user: BTreeSet<(UserId, Ticket)>,
}

#[derive(Clone, Copy, Debug)]
struct Expected {
    user: Option<UserId>,
    /// Whether the caller is still connected.
    is_wanted: bool,
}

#[derive(Clone, Debug)]
struct Answer {
    user: UserId,
    at: Time,
    reply: Reply,
}

impl DelayedReplies {
    pub(super) fn len(&self) -> usize {
        self.answers.len() + self.expected.len()
    }

    fn of(&self, user: UserId) -> impl Iterator<Item = Ticket> {
        let whole = (user, Ticket(0))..=(user, Ticket(u64::MAX));
        self.by_user.range(whole).map(|(_, ticket)| *ticket)
    }

    /// Adds a proposed break, of a participant or of one who is not registered yet.
    pub(super) fn expect(&mut self, ticket: Ticket, user: Option<UserId>) {
        let is_wanted = true;
        self.expected.insert(ticket, Expected { user, is_wanted });
        self.by_user.extend(user.map(|user| (user, ticket)));
    }

    /// Removes a decided break. Returns whether the caller is still connected.
    pub(super) fn decided(&mut self, ticket: Ticket) -> bool {
        let Some(Expected { user, is_wanted }) = self.expected.remove(&ticket) else {
            return false;
        };
        if let Some(user) = user {
            self.by_user.remove(&(user, ticket));
        }
        is_wanted
    }

    fn hold(&mut self, ticket: Ticket, answer: Answer) {
        self.due.insert((answer.at, ticket));
        self.by_user.insert((answer.user, ticket));
        self.answers.insert(ticket, answer);
    }

    fn take(&mut self, ticket: Ticket) -> Option<Answer> {
        let answer = self.answers.remove(&ticket)?;
        self.due.remove(&(answer.at, ticket));
        self.by_user.remove(&(answer.user, ticket));
        Some(answer)
    }

    /// Drops the answer of a caller that disconnected.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        if let Some(expected) = self.expected.get_mut(&ticket) {
            expected.is_wanted = false;
        }
        self.take(ticket);
    }

    /// Removes the delayed calls of a participant whose registration ended.
    pub(super) fn forget(&mut self, user: UserId) -> Vec<Ticket> {
        let mut tickets: Vec<_> = self.of(user).collect();
        tickets.retain(|ticket| self.take(*ticket).is_some());
        tickets
    }

    /// The breaks whose answers are delayed.
    pub(super) fn delayed(&self) -> impl Iterator<Item = Ticket> {
        self.due.iter().map(|(_, ticket)| *ticket)
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}

impl Node {
    /// Checks that one more answer could be delayed, of this participant and of all.
    pub(super) fn check_delayed_space(&self, user: Option<UserId>) -> Outcome<()> {
        let config = self.hub.config();
        let share = user.map_or(0, |user| self.delayed.of(user).count());
        if share >= config.max_held_each as usize {
            return Err(Reject::rate_limited(SHARE_RETRY));
        }
        let is_full = self.delayed.len() >= config.max_held as usize;
        refuse_if(is_full, Reject::overloaded(OVERLOAD_RETRY))
    }

    /// Sends the answer to a decided command: now, or when it is due if the command was a break.
    pub(super) fn answer(&mut self, now: Time, ticket: Ticket, outcome: Outcome) {
        let wanted = self.delayed.decided(ticket);
        match outcome {
            Ok(Reply::OnBreak {
                user, answer_at, ..
            }) if answer_at > now => {
                if let (true, Ok(reply)) = (wanted, outcome) {
                    let at = answer_at;
                    self.delayed.hold(ticket, Answer { user, at, reply });
                }
            }
            outcome => self.reply(ticket, outcome.map(Response::Done)),
        }
    }

    /// Sends the delayed answers that are due `by` then: `now`, or at any time if the server stops. They
    /// show the levels at the current instant.
    pub(super) fn answer_delayed(&mut self, by: Time, now: Time) {
        while let Some(&(at, ticket)) = self.delayed.due.first()
            && at <= by
            && let Some(mut answer) = self.delayed.take(ticket)
        {
            if let Reply::OnBreak {
                stress, boss_alert, ..
            } = &mut answer.reply
                && let Some(mood) = self.hub.mood(answer.user, now)
            {
                (*stress, *boss_alert) = mood;
            }
            self.reply(ticket, Ok(Response::Done(answer.reply)));
        }
    }
}
