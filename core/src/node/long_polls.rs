//! Long polls: checks that wait for events. At most one for each participant.

use std::collections::BTreeSet;

use chat_types::{Seq, Span, Ticket, Time, UserId};

use crate::table::Table;

/// The shortest time between two notices that a member waits.
pub(super) const WAIT_NOTICE: Span = Span::secs(10);

/// A check that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) ticket: Ticket,
    pub(super) start: Seq,
    pub(super) max: usize,
    pub(super) since: Time,
    pub(super) until: Time,
    /// When its rooms last received a notice of it, or `since`.
    pub(super) told: Time,
}

/// A due action of a long poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Its time is over.
    Over(UserId, Waiting),
    /// It continues. Its rooms receive the given waiting time as a notice.
    Beat(UserId, Option<Span>),
}

/// The long polls.
#[derive(Clone, Debug, Default)]
pub(super) struct LongPolls {
    /// Each with the instant of its next action.
    by_user: Table<UserId, (Time, Waiting)>,
    by_ticket: Table<Ticket, UserId>,
    due: BTreeSet<(Time, UserId)>,
}

impl LongPolls {
    pub(super) fn len(&self) -> usize {
        self.by_user.len()
    }

    pub(super) fn park(&mut self, user: UserId, waiting: Waiting, beat: Span) {
        let at = waiting.until.min(waiting.since + beat);
        self.due.insert((at, user));
        self.by_ticket.insert(waiting.ticket, user);
        self.by_user.insert(user, (at, waiting));
    }

    pub(super) fn take(&mut self, user: UserId) -> Option<Waiting> {
        let (at, waiting) = self.by_user.remove(&user)?;
        self.due.remove(&(at, user));
        self.by_ticket.remove(&waiting.ticket);
        Some(waiting)
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        if let Some(user) = self.by_ticket.get(&ticket).copied() {
            self.take(user);
        }
    }

    pub(super) fn take_all(&mut self) -> Vec<(UserId, Waiting)> {
        let users = self.by_user.sorted_keys().into_iter();
        users
            .filter_map(|user| Some((user, self.take(user)?)))
            .collect()
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    pub(super) fn pop_due(&mut self, now: Time, beat: Span) -> Option<Due> {
        let &(at, user) = self.due.first()?;
        if at > now {
            return None;
        }
        let mut waiting = self.take(user)?;
        if waiting.until <= now {
            return Some(Due::Over(user, waiting));
        }
        let tells = now.since(waiting.told) >= WAIT_NOTICE;
        let waited = tells.then(|| now.since(waiting.since));
        if tells {
            waiting.told = now;
        }
        let next = waiting.until.min(now + beat);
        self.due.insert((next, user));
        self.by_ticket.insert(waiting.ticket, user);
        self.by_user.insert(user, (next, waiting));
        Some(Due::Beat(user, waited))
    }
}
