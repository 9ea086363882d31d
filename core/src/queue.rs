//! The queue of participants that wait for a partner, and the choice of the next partner.
//!
//! A waiter becomes a candidate once its handle was used, and is then matched at once if a
//! compatible candidate exists. So all candidates are incompatible with one another (by blocks, or
//! by interests not shared while patience runs), and a search passes few of them before it finds a
//! partner.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use chat_types::{Span, Time, UserId, config::Matching};
use serde::{Deserialize, Serialize};

use crate::table::Table;

/// The number of recent waits in the estimate.
const RECENT_WAITS: usize = 32;

/// A place in the queue. Tickets count up and are never reused.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Place(u64);

/// A participant in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiter {
    pub(crate) user: UserId,
    pub(crate) since: Time,
    pub(crate) interests: Arc<[Arc<str>]>,
    /// Whether it accepts anyone: it stated no interests, its patience is over, or interests do not
    /// count. Others accept only participants that share an interest, for now.
    pub(crate) takes_anyone: bool,
    /// Whether others can be matched with it. Not yet if its handle was never used: then its client
    /// may not have received the handle.
    pub(crate) is_candidate: bool,
}

/// The compatibility of two participants, as far as the queue cannot know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compatibility {
    /// Compatible.
    Good,
    /// Partners of their last match: matched only if there is no other candidate.
    LastPartner,
    /// Incompatible: one of them blocked the other.
    Never,
}

/// The queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Queue {
    next: Place,
    line: BTreeMap<Place, Waiter>,
    recent: VecDeque<Span>,
    #[serde(skip)]
    index: Index,
}

/// Finds waiters. It is derived from the line.
#[derive(Clone, Debug, Default, PartialEq)]
struct Index {
    by_user: Table<UserId, Place>,
    /// The candidates.
    candidates: BTreeSet<Place>,
    /// The candidates with each interest.
    by_interest: BTreeMap<Arc<str>, BTreeSet<Place>>,
    /// The candidates that accept anyone.
    open: BTreeSet<Place>,
}

impl Index {
    fn of(line: &BTreeMap<Place, Waiter>) -> Self {
        let mut index = Self::default();
        for (place, waiter) in line {
            index.add(*place, waiter);
        }
        index
    }

    fn add(&mut self, place: Place, waiter: &Waiter) {
        self.by_user.insert(waiter.user, place);
        if waiter.is_candidate {
            self.add_candidate(place, waiter);
        }
    }

    fn add_candidate(&mut self, place: Place, waiter: &Waiter) {
        self.candidates.insert(place);
        for interest in waiter.interests.iter() {
            let those = self.by_interest.entry(Arc::clone(interest));
            those.or_default().insert(place);
        }
        if waiter.takes_anyone {
            self.open.insert(place);
        }
    }
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn contains(&self, user: UserId) -> bool {
        self.index.by_user.get(&user).is_some()
    }

    /// Since when the participant waits; none if it does not.
    pub(crate) fn waiting_since(&self, user: UserId) -> Option<Time> {
        Some(self.line.get(&self.place(user)?)?.since)
    }

    /// The waiters, from the front.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.line.values()
    }

    fn place(&self, user: UserId) -> Option<Place> {
        self.index.by_user.get(&user).copied()
    }

    /// Appends a waiter, which is not in the queue yet.
    pub(crate) fn enter(&mut self, waiter: Waiter) {
        let place = self.next;
        self.next = Place(place.0 + 1);
        self.index.add(place, &waiter);
        self.line.insert(place, waiter);
    }

    /// Rebuilds the index, which a snapshot leaves out.
    pub(crate) fn reindex(&mut self) {
        self.index = Index::of(&self.line);
    }

    /// Removes a waiter.
    pub(crate) fn leave(&mut self, user: UserId) -> Option<Waiter> {
        let index = &mut self.index;
        let place = index.by_user.remove(&user)?;
        let waiter = self.line.remove(&place)?;
        for interest in waiter.interests.iter() {
            if let Some(those) = index.by_interest.get_mut(interest) {
                those.remove(&place);
                if those.is_empty() {
                    index.by_interest.remove(interest);
                }
            }
        }
        index.candidates.remove(&place);
        index.open.remove(&place);
        Some(waiter)
    }

    /// Makes the waiter a candidate. None if it is one already, or does not wait.
    pub(crate) fn admit(&mut self, user: UserId) -> Option<Waiter> {
        let place = self.place(user)?;
        let waiter = self.line.get_mut(&place)?;
        if waiter.is_candidate {
            return None;
        }
        waiter.is_candidate = true;
        self.index.add_candidate(place, waiter);
        Some(waiter.clone())
    }

    /// Ends the patience of the waiter, if the participant is one.
    pub(crate) fn take_anyone(&mut self, user: UserId) -> Option<&Waiter> {
        let place = self.place(user)?;
        let waiter = self.line.get_mut(&place)?;
        waiter.takes_anyone = true;
        if waiter.is_candidate {
            self.index.open.insert(place);
        }
        Some(waiter)
    }

    /// When the waiter's patience ends; none if it has ended.
    pub(crate) fn patience_until(&self, user: UserId, patience: Span) -> Option<Time> {
        let waiter = self.line.get(&self.place(user)?)?;
        (!waiter.takes_anyone).then(|| waiter.since + patience)
    }

    /// The next partner for `waiter`, which may be in the queue already.
    ///
    /// `fit` returns the compatibility of two; `draw(n)` returns a uniform number below `n`.
    pub(crate) fn partner_for(
        &self,
        waiter: &Waiter,
        matching: Matching,
        fit: impl Fn(UserId) -> Compatibility,
        draw: impl FnOnce(u64) -> u64,
    ) -> Option<UserId> {
        let mut last_partner = None;
        let mut fits = |other: &Waiter| {
            if other.user == waiter.user {
                return false;
            }
            match fit(other.user) {
                Compatibility::Good => true,
                Compatibility::LastPartner => {
                    last_partner.get_or_insert(other.user);
                    false
                }
                Compatibility::Never => false,
            }
        };
        let candidates = self.index.candidates.iter();
        let mut candidates = candidates.filter_map(|at| self.line.get(at));
        let chosen = match matching {
            Matching::Fifo => candidates.find(|w| fits(w)).map(|w| w.user),
            Matching::Random => {
                let those: Vec<_> = candidates.filter(|w| fits(w)).collect();
                let n = those.len() as u64;
                let index = if n > 1 { draw(n) } else { 0 };
                let index = usize::try_from(index).unwrap_or_default();
                those.get(index).map(|w| w.user)
            }
            Matching::Interests => self.closest(waiter, fits),
        };
        chosen.or(last_partner)
    }

    /// The waiter with the most shared interests; among equals, the one that waits longest. If none
    /// shares any and `waiter` accepts anyone: the longest waiter that accepts anyone.
    fn closest(&self, waiter: &Waiter, mut fits: impl FnMut(&Waiter) -> bool) -> Option<UserId> {
        let mut shared: BTreeMap<Place, usize> = BTreeMap::new();
        for interest in waiter.interests.iter() {
            let places = self.index.by_interest.get(interest);
            for place in places.into_iter().flatten() {
                *shared.entry(*place).or_default() += 1;
            }
        }
        let mut ranked: Vec<_> = shared.into_iter().collect();
        ranked.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), *place));
        let sharing = ranked.iter().filter_map(|(place, _)| self.line.get(place));
        let open = self.index.open.iter();
        let open = open.filter_map(|place| self.line.get(place));
        let anyone = open.take_while(|_| waiter.takes_anyone);
        let found = sharing.chain(anyone).find(|other| fits(other))?;
        Some(found.user)
    }

    /// Records the waiting time of a match.
    pub(crate) fn record_wait(&mut self, wait: Span) {
        if self.recent.len() >= RECENT_WAITS {
            self.recent.pop_front();
        }
        self.recent.push_back(wait);
    }

    /// The average of recent waits; none before the first.
    pub(crate) fn estimated_wait(&self) -> Option<Span> {
        let sum: u64 = self.recent.iter().map(|wait| wait.0).sum();
        sum.checked_div(self.recent.len() as u64).map(Span)
    }

    /// Shifts all waits by a downtime, which does not count as waiting.
    pub(crate) fn shift(&mut self, down: Span) {
        for waiter in self.line.values_mut() {
            waiter.since += down;
        }
    }

    /// Checks the invariants.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.line.keys().next_back() >= Some(&self.next) {
            return Err("a waiter has a place that was not given yet".into());
        }
        if self.index.by_user.len() != self.line.len() {
            return Err("a participant waits twice".into());
        }
        if self.index != Index::of(&self.line) {
            return Err("the index and the line differ".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(user: u64, interests: &[&str]) -> Waiter {
        Waiter {
            user: UserId(user),
            since: Time(0),
            interests: interests.iter().map(|text| Arc::from(*text)).collect(),
            takes_anyone: interests.is_empty(),
            is_candidate: true,
        }
    }

    fn line() -> Queue {
        let mut queue = Queue::default();
        queue.enter(waiter(1, &["chess"]));
        queue.enter(waiter(2, &[]));
        queue
    }

    #[test]
    fn an_impossible_queue_is_invalid() {
        assert_eq!(line().validate(), Ok(()));
        type Spoil = fn(&mut Queue);
        let wrong: [(&str, Spoil); 6] = [
            ("a place not given yet", |queue| queue.next = Place(1)),
            ("one who waits twice", |queue| queue.enter(waiter(2, &[]))),
            ("a stranger in the index", |queue| {
                queue.index.by_user.insert(UserId(3), Place(0));
            }),
            ("one candidate less", |queue| queue.index.candidates.clear()),
            ("one less who takes anyone", |queue| {
                queue.index.open.clear()
            }),
            ("one less with an interest", |queue| {
                queue.index.by_interest.clear()
            }),
        ];
        for (what, spoil) in wrong {
            let mut queue = line();
            spoil(&mut queue);
            assert!(queue.validate().is_err(), "{what}");
        }
    }

    #[test]
    fn only_a_waiter_has_a_beginning_of_its_wait() {
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
