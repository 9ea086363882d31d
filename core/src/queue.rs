//! The line of those who wait for a partner, and who is next for whom.
//!
//! Whoever enters is matched at once if anyone compatible waits. So those who stay are
//! incompatible with one another (by blocks, or by interests not shared and patience not over),
//! and a search passes over few before it finds one: the line need not be walked.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use chat_types::{Span, Time, config::Matching};
use serde::{Deserialize, Serialize};

use crate::id::UserId;
use crate::table::Table;

/// How many recent waits the estimate is made from.
const RECENT_WAITS: usize = 32;

/// A place in the line. Counts up, and is never given twice.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Ticket(u64);

/// Somebody in the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiter {
    pub(crate) user: UserId,
    pub(crate) since: Time,
    pub(crate) interests: Arc<[Arc<str>]>,
    pub(crate) taste: Taste,
}

/// Whom a waiter would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Taste {
    /// Only somebody who shares an interest, for now.
    Shared,
    /// Anyone: no interests were stated, or the patience is over, or interests do not count.
    Anyone,
}

/// How two would get on, as far as the line cannot know itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Nothing is against it.
    Good,
    /// They were partners just now: only if nobody else would do.
    LastPartner,
    /// One of them blocked the other.
    Never,
}

/// The line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Queue {
    next: Ticket,
    line: BTreeMap<Ticket, Waiter>,
    recent: VecDeque<Span>,
    #[serde(skip)]
    by_user: Table<UserId, Ticket>,
    #[serde(skip)]
    by_interest: BTreeMap<Arc<str>, BTreeSet<Ticket>>,
    #[serde(skip)]
    open: BTreeSet<Ticket>,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn contains(&self, user: UserId) -> bool {
        self.by_user.get(&user).is_some()
    }

    /// Since when the participant waits; none if it does not.
    pub(crate) fn waiting_since(&self, user: UserId) -> Option<Time> {
        Some(self.line.get(&self.ticket(user)?)?.since)
    }

    /// Who waits, from the front.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.line.values()
    }

    fn ticket(&self, user: UserId) -> Option<Ticket> {
        self.by_user.get(&user).copied()
    }

    /// Stands at the end of the line. The caller is not in it yet.
    pub(crate) fn enter(&mut self, waiter: Waiter) {
        let ticket = self.next;
        self.next = Ticket(ticket.0 + 1);
        self.index(ticket, &waiter);
        self.line.insert(ticket, waiter);
    }

    fn index(&mut self, ticket: Ticket, waiter: &Waiter) {
        self.by_user.insert(waiter.user, ticket);
        for interest in waiter.interests.iter() {
            self.by_interest
                .entry(Arc::clone(interest))
                .or_default()
                .insert(ticket);
        }
        if waiter.taste == Taste::Anyone {
            self.open.insert(ticket);
        }
    }

    /// Makes the indexes again, which a snapshot leaves out.
    pub(crate) fn reindex(&mut self) {
        let line = std::mem::take(&mut self.line);
        for (ticket, waiter) in &line {
            self.index(*ticket, waiter);
        }
        self.line = line;
    }

    /// Leaves the line.
    pub(crate) fn leave(&mut self, user: UserId) -> Option<Waiter> {
        let ticket = self.by_user.remove(&user)?;
        let waiter = self.line.remove(&ticket)?;
        for interest in waiter.interests.iter() {
            if let Some(those) = self.by_interest.get_mut(interest) {
                those.remove(&ticket);
                if those.is_empty() {
                    self.by_interest.remove(interest);
                }
            }
        }
        self.open.remove(&ticket);
        Some(waiter)
    }

    /// The patience of the waiter, if it is one, is over.
    pub(crate) fn take_anyone(&mut self, user: UserId) -> Option<&Waiter> {
        let ticket = self.ticket(user)?;
        let waiter = self.line.get_mut(&ticket)?;
        waiter.taste = Taste::Anyone;
        self.open.insert(ticket);
        Some(waiter)
    }

    /// When the waiter's patience is over, if it is not yet.
    pub(crate) fn patience_until(&self, user: UserId, patience: Span) -> Option<Time> {
        let waiter = self.line.get(&self.ticket(user)?)?;
        (waiter.taste == Taste::Shared).then(|| waiter.since + patience)
    }

    /// Who is next for `waiter`, who may stand in the line already.
    ///
    /// `fit` says what is between the two; `draw(n)` gives a number below `n`.
    pub(crate) fn partner_for(
        &self,
        waiter: &Waiter,
        matching: Matching,
        fit: impl Fn(UserId) -> Fit,
        draw: impl FnOnce(u64) -> u64,
    ) -> Option<UserId> {
        let mut last_partner = None;
        let mut fits = |other: &Waiter| {
            if other.user == waiter.user {
                return false;
            }
            match fit(other.user) {
                Fit::Good => true,
                Fit::LastPartner => {
                    last_partner.get_or_insert(other.user);
                    false
                }
                Fit::Never => false,
            }
        };
        let chosen = match matching {
            Matching::Fifo => self.line.values().find(|w| fits(w)).map(|w| w.user),
            Matching::Random => {
                let those: Vec<_> = self.line.values().filter(|w| fits(w)).collect();
                let n = those.len() as u64;
                let index = if n > 1 { draw(n) } else { 0 };
                usize::try_from(index)
                    .ok()
                    .and_then(|i| those.get(i))
                    .map(|w| w.user)
            }
            Matching::Interests => self.closest(waiter, fits),
        };
        chosen.or(last_partner)
    }

    /// Who shares most interests; of those who share as many, who waits longest. Where nobody
    /// shares any: who waits longest of those who would take anyone, if the waiter would.
    fn closest(&self, waiter: &Waiter, mut fits: impl FnMut(&Waiter) -> bool) -> Option<UserId> {
        let mut shared: BTreeMap<Ticket, usize> = BTreeMap::new();
        for interest in waiter.interests.iter() {
            for ticket in self.by_interest.get(interest).into_iter().flatten() {
                *shared.entry(*ticket).or_default() += 1;
            }
        }
        let mut ranked: Vec<_> = shared.into_iter().collect();
        ranked.sort_by_key(|(ticket, count)| (std::cmp::Reverse(*count), *ticket));
        let sharing = ranked
            .iter()
            .filter_map(|(ticket, _)| self.line.get(ticket));
        let open = self.open.iter().filter_map(|ticket| self.line.get(ticket));
        let anyone = open.take_while(|_| waiter.taste == Taste::Anyone);
        sharing
            .chain(anyone)
            .find(|other| fits(other))
            .map(|other| other.user)
    }

    /// A waiter was matched after so long.
    pub(crate) fn record_wait(&mut self, wait: Span) {
        if self.recent.len() >= RECENT_WAITS {
            self.recent.pop_front();
        }
        self.recent.push_back(wait);
    }

    /// How long recent waits were on average; none when there were none.
    pub(crate) fn estimated_wait(&self) -> Option<Span> {
        let sum: u64 = self.recent.iter().map(|wait| wait.0).sum();
        sum.checked_div(self.recent.len() as u64).map(Span)
    }

    /// The server was off for so long; nobody was waiting then.
    pub(crate) fn shift(&mut self, down: Span) {
        for waiter in self.line.values_mut() {
            waiter.since += down;
        }
    }

    /// What must hold of it, whatever happened.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.line.keys().next_back() >= Some(&self.next) {
            return Err("somebody has a place that was not given yet".into());
        }
        if self.by_user.len() != self.line.len() {
            return Err("somebody waits twice".into());
        }
        let open = self
            .line
            .values()
            .filter(|w| w.taste == Taste::Anyone)
            .count();
        let interests: usize = self.line.values().map(|w| w.interests.len()).sum();
        let indexed: usize = self.by_interest.values().map(BTreeSet::len).sum();
        if self.open.len() != open || indexed != interests {
            return Err("the indexes and the line differ".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(user: u32, interests: &[&str]) -> Waiter {
        let taste = if interests.is_empty() {
            Taste::Anyone
        } else {
            Taste::Shared
        };
        Waiter {
            user: UserId(user),
            since: Time(0),
            interests: interests.iter().map(|text| Arc::from(*text)).collect(),
            taste,
        }
    }

    fn line() -> Queue {
        let mut queue = Queue::default();
        queue.enter(waiter(1, &["chess"]));
        queue.enter(waiter(2, &[]));
        queue
    }

    #[test]
    fn a_line_that_nobody_could_have_made_is_not_valid() {
        assert_eq!(line().validate(), Ok(()));
        type Spoil = fn(&mut Queue);
        let wrong: [(&str, Spoil); 5] = [
            ("a place not given yet", |queue| queue.next = Ticket(1)),
            ("one who waits twice", |queue| queue.enter(waiter(2, &[]))),
            ("a stranger in the index", |queue| {
                queue.by_user.insert(UserId(3), Ticket(0));
            }),
            ("one less who takes anyone", |queue| queue.open.clear()),
            ("one less with an interest", |queue| {
                queue.by_interest.clear()
            }),
        ];
        for (what, spoil) in wrong {
            let mut queue = line();
            spoil(&mut queue);
            assert!(queue.validate().is_err(), "{what}");
        }
    }

    #[test]
    fn only_who_waits_has_waited_since_then() {
        let mut queue = Queue::default();
        let late = Waiter {
            since: Time(7),
            ..waiter(1, &[])
        };
        queue.enter(late);
        assert_eq!(queue.waiting_since(UserId(1)), Some(Time(7)));
        assert_eq!(queue.waiting_since(UserId(2)), None);
    }
}
