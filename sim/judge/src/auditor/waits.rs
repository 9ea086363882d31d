//! Checks that wait, one for each participant at most, and their signs of life
//! (docs/protocol.md, 9.5 and 12.5).

use std::collections::{BTreeMap, BTreeSet};

use chat_types::{Config, Span, Time};
use sim_model::protocol::User;
use sim_model::server::Ticket;

/// The longest span between two signs of life of a check that waits; and the shortest one from its
/// beginning to the first notice that its rooms are given, and between two such notices.
const LONGEST_BEAT: Span = Span::secs(10);

/// A check that waits.
#[derive(Clone, Copy, Debug)]
struct Wait {
    ticket: Ticket,
    since: Time,
    until: Time,
    /// When the server looks at it next.
    next: Time,
    /// When its rooms were last given a notice, or `since`.
    noticed: Time,
}

/// What is due of a waiting check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ripe {
    /// Its time is over.
    Over(Ticket),
    /// A sign of life: whose; and how long the check has waited, where the rooms are given a notice.
    Beat(User, Option<Span>),
}

/// The waiting checks.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    waits: BTreeMap<User, Wait>,
    by_next: BTreeSet<(Time, User)>,
}

impl Waits {
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

    /// The participant's check waits no more.
    pub(super) fn end(&mut self, user: User) -> Option<Ticket> {
        let wait = self.waits.remove(&user)?;
        self.by_next.remove(&(wait.next, user));
        Some(wait.ticket)
    }

    /// No check waits any more.
    pub(super) fn end_all(&mut self) -> Vec<Ticket> {
        let waits = std::mem::take(self).waits;
        waits.into_values().map(|wait| wait.ticket).collect()
    }

    /// This call of the participant waits no more; another one may.
    pub(super) fn end_call(&mut self, user: User, ticket: Ticket) {
        if self
            .waits
            .get(&user)
            .is_some_and(|wait| wait.ticket == ticket)
        {
            self.end(user);
        }
    }

    /// When the server must look at a waiting check, and whose it is.
    pub(super) fn next(&self) -> Option<(Time, User)> {
        self.by_next.first().copied()
    }

    /// The server looks at its timers: what is due by now, one after another.
    pub(super) fn pop(&mut self, config: &Config, at: Time) -> Option<Ripe> {
        let (next, user) = self.next().filter(|(next, _)| *next <= at)?;
        let wait = self.waits.get_mut(&user)?;
        if wait.until <= at {
            return self.end(user).map(Ripe::Over);
        }
        wait.next = wait.until.min(at + beat(config));
        self.by_next.remove(&(next, user));
        self.by_next.insert((wait.next, user));
        let is_noticed = at.since(wait.noticed) >= LONGEST_BEAT;
        if is_noticed {
            wait.noticed = at;
        }
        let waited = is_noticed.then(|| at.since(wait.since));
        Some(Ripe::Beat(user, waited))
    }
}

/// The span between two signs of life of a check that waits.
fn beat(config: &Config) -> Span {
    LONGEST_BEAT.min(Span(config.idle_timeout.0 / 4))
}
