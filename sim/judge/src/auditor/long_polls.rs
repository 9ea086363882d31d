//! Waiting checks, at most one for each participant, and their *seen* entries (docs/protocol.md,
//! 9.5 and 12.5).

use std::collections::BTreeSet;

use chat_types::{Config, Span, Time};
use rustc_hash::FxHashMap;
use sim_model::protocol::User;
use sim_model::server::Ticket;

/// The longest time between two *seen* entries of a waiting check. Also the shortest time from the
/// beginning of its wait to the first notice for its rooms, and between two such notices.
const LONGEST_BEAT: Span = Span::secs(10);

/// A check that waits.
#[derive(Clone, Copy, Debug)]
struct Wait {
    ticket: Ticket,
    since: Time,
    until: Time,
    /// When the server next examines it.
    next: Time,
    /// When its rooms last received a notice, or `since`.
    noticed: Time,
}

/// What is due for a waiting check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitEvent {
    /// Its wait has ended.
    Over(Ticket),
    /// A *seen* entry of this participant; and how long the check has waited, if the rooms receive
    /// a notice.
    Beat(User, Option<Span>),
}

/// The waiting checks.
#[derive(Clone, Debug, Default)]
pub(super) struct LongPolls {
    waits: FxHashMap<User, Wait>,
    by_next: BTreeSet<(Time, User)>,
}

impl LongPolls {
    /// The participant's check waits from now on.
    pub(super) fn wait(
        &mut self,
        config: &Config,
        user: User,
        ticket: Ticket,
        (since, until): (Time, Time),
    ) {
        let next = until.min(since + beat(config));
        self.by_next.insert((next, user));
        let wait = Wait {
            ticket,
            since,
            until,
            next,
            noticed: since,
        };
        self.waits.insert(user, wait);
    }

    /// Ends the participant's wait.
    pub(super) fn end(&mut self, user: User) -> Option<Ticket> {
        let wait = self.waits.remove(&user)?;
        self.by_next.remove(&(wait.next, user));
        Some(wait.ticket)
    }

    /// Ends all waits.
    pub(super) fn end_all(&mut self) -> Vec<Ticket> {
        let mut waits: Vec<_> = std::mem::take(self).waits.into_iter().collect();
        waits.sort_unstable_by_key(|(user, _)| *user);
        waits.into_iter().map(|(_, wait)| wait.ticket).collect()
    }

    /// Ends the wait of this call of the participant, if it is the one that waits.
    pub(super) fn end_call(&mut self, user: User, ticket: Ticket) {
        let wait = self.waits.get(&user);
        if wait.is_some_and(|wait| wait.ticket == ticket) {
            self.end(user);
        }
    }

    /// When the server must next examine a waiting check, and whose it is.
    pub(super) fn next(&self) -> Option<(Time, User)> {
        self.by_next.first().copied()
    }

    /// The server examines its timers: returns what is due by `at`, one item for each call.
    pub(super) fn pop(&mut self, config: &Config, at: Time) -> Option<WaitEvent> {
        let (next, user) = self.next().filter(|(next, _)| *next <= at)?;
        let wait = self.waits.get_mut(&user)?;
        if wait.until <= at {
            return self.end(user).map(WaitEvent::Over);
        }
        wait.next = wait.until.min(at + beat(config));
        self.by_next.remove(&(next, user));
        self.by_next.insert((wait.next, user));
        let is_noticed = at.since(wait.noticed) >= LONGEST_BEAT;
        if is_noticed {
            wait.noticed = at;
        }
        let waited = is_noticed.then(|| at.since(wait.since));
        Some(WaitEvent::Beat(user, waited))
    }
}

/// The time between two *seen* entries of a waiting check.
fn beat(config: &Config) -> Span {
    let shortest = config.idle_timeout.min(config.queue_timeout);
    LONGEST_BEAT.min(Span(shortest.0 / 4))
}
