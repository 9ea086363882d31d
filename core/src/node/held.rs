//! Answers held back: of breaks that were taken under the eyes of a boss who is fully alert.
//!
//! Only the answer waits. The break is in the journal, and nothing else waits for it. What is held
//! here is gone with the node, as all calls are: whoever asks again with the same key is held back
//! until the same instant.

use std::collections::BTreeSet;

use chat_types::Time;

use super::{Node, OVERLOAD_RETRY, Response, Ticket};
use crate::breaks::Mood;
use crate::id::UserId;
use crate::reject::{Earlier, Reject};
use crate::reply::Reply;
use crate::table::Table;

/// The answers held back, and the breaks that may have to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Breaks that are not decided yet: whether somebody still waits for the answer.
    expected: Table<Ticket, bool>,
    answers: Table<Ticket, Answer>,
    due: BTreeSet<(Time, Ticket)>,
    by_user: BTreeSet<(UserId, Ticket)>,
}

#[derive(Clone, Debug)]
struct Answer {
    user: UserId,
    at: Time,
    reply: Reply,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.answers.len() + self.expected.len()
    }

    /// A break is proposed, and its answer may have to be held back.
    pub(super) fn expect(&mut self, ticket: Ticket) {
        self.expected.insert(ticket, true);
    }

    /// The break is decided: whether somebody still waits for the answer.
    pub(super) fn decided(&mut self, ticket: Ticket) -> bool {
        self.expected.remove(&ticket).unwrap_or(false)
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

    /// The caller is gone: nobody waits for this answer.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        if let Some(wanted) = self.expected.get_mut(&ticket) {
            *wanted = false;
        }
        self.take(ticket);
    }

    /// The participant is gone: the calls of its that were held back.
    pub(super) fn forget(&mut self, user: UserId) -> Vec<Ticket> {
        let whole = (user, Ticket(0))..=(user, Ticket(u64::MAX));
        let tickets: Vec<_> = self
            .by_user
            .range(whole)
            .map(|(_, ticket)| *ticket)
            .collect();
        for ticket in &tickets {
            self.take(*ticket);
        }
        tickets
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}

impl Node {
    /// Whether the answers of one more break could be held back.
    pub(super) fn check_held(&self) -> Result<(), Reject> {
        if self.held.len() >= self.hub.config().max_held as usize {
            return Err(Reject::Overloaded {
                retry_after: OVERLOAD_RETRY,
                earlier: Earlier::Unasked,
            });
        }
        Ok(())
    }

    /// A break is decided: its answer leaves now, or when it may.
    pub(super) fn answer_break(
        &mut self,
        now: Time,
        ticket: Ticket,
        outcome: Result<Reply, Reject>,
    ) {
        let wanted = self.held.decided(ticket);
        match outcome {
            Ok(Reply::OnBreak {
                user, answer_at, ..
            }) if answer_at > now => {
                if let (true, Ok(reply)) = (wanted, outcome) {
                    let at = answer_at;
                    self.held.hold(ticket, Answer { user, at, reply });
                }
            }
            outcome => self.reply(ticket, outcome.map(Response::Done)),
        }
    }

    /// Gives the answers whose time has come.
    pub(super) fn answer_held(&mut self, now: Time) {
        while let Some(&(at, ticket)) = self.held.due.first()
            && at <= now
        {
            self.answer_late(now, ticket);
        }
    }

    /// Gives all answers before their time: the server stops.
    pub(super) fn answer_all_held(&mut self, now: Time) {
        while let Some(&(_, ticket)) = self.held.due.first() {
            self.answer_late(now, ticket);
        }
    }

    /// The answer tells how things stand at the moment at which it leaves.
    fn answer_late(&mut self, now: Time, ticket: Ticket) {
        let Some(mut answer) = self.held.take(ticket) else {
            return;
        };
        if let Reply::OnBreak {
            stress, boss_alert, ..
        } = &mut answer.reply
            && let Some(mood) = self.hub.mood(answer.user, now)
        {
            Mood {
                stress: *stress,
                boss_alert: *boss_alert,
            } = mood;
        }
        self.reply(ticket, Ok(Response::Done(answer.reply)));
    }
}
