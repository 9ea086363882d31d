//! Checks that wait for something to come. At most one for each participant.

use std::collections::BTreeSet;

use chat_types::{Span, Time};

use super::Ticket;
use crate::id::{Seq, UserId};
use crate::table::Table;

/// How often the rooms of one who waits are told so, at most.
pub(super) const WAIT_NOTICE: Span = Span::secs(10);

/// A check that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) ticket: Ticket,
    pub(super) start: Seq,
    pub(super) max: usize,
    pub(super) since: Time,
    pub(super) until: Time,
    /// When its rooms were last told so, or `since`.
    pub(super) told: Time,
}

/// What is due of a parked check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Its time is up.
    Over(UserId, Waiting),
    /// It goes on waiting. Its rooms are told, where given, for how long it has waited.
    Beat(UserId, Option<Span>),
}

/// The parked checks.
#[derive(Clone, Debug, Default)]
pub(super) struct Parked {
    /// Each with the instant at which it is looked at next.
    by_user: Table<UserId, (Time, Waiting)>,
    by_ticket: Table<Ticket, UserId>,
    due: BTreeSet<(Time, UserId)>,
}

impl Parked {
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
        let users = self.by_user.sorted_keys();
        users
            .into_iter()
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
