//! A pool of one resource, with a share for each source.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat_core::Address;

use crate::refusal::Refusal;

/// How many sources it takes to use up a pool.
const PARTS: u64 = 16;

/// How many sources it takes at least, where a part would be too little for one.
const FEW: u64 = 4;

/// When a client should come again that found a pool used up, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// What a pool is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Connections.
    Connections,
    /// Sessions of MCP.
    Sessions,
    /// Streams of events and of pushes.
    Streams,
    /// Bytes of requests, and of what was parsed of them.
    RequestBytes,
    /// Bytes of answers that their readers have not taken.
    AnswerBytes,
}

impl Resource {
    /// Its name in the metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Sessions => "sessions",
            Self::Streams => "streams",
            Self::RequestBytes => "request_bytes",
            Self::AnswerBytes => "answer_bytes",
        }
    }

    /// What there are so many of.
    const fn words(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Sessions => "sessions of MCP",
            Self::Streams => "open streams",
            Self::RequestBytes => "bytes of requests in work",
            Self::AnswerBytes => "bytes of answers that were not read yet",
        }
    }
}

/// How much of a resource there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// For all together.
    pub all: u64,
    /// For one source.
    pub each: u64,
}

impl Share {
    /// So much for all, and a sixteenth of it for each. Where that is less than `least`, each has `least`,
    /// or a quarter of all if that is less.
    #[must_use]
    pub const fn of(all: u64, least: u64) -> Self {
        let (part, quarter) = (all / PARTS, all / FEW);
        let least = if least < quarter { least } else { quarter };
        let each = if part < least { least } else { part };
        let each = if each == 0 { 1 } else { each };
        Self { all, each }
    }

    /// The same with at least so much for each, as far as there is so much.
    #[must_use]
    pub fn at_least(self, each: u64) -> Self {
        Self {
            each: self.each.max(each.min(self.all)),
            ..self
        }
    }

    /// So much for all, of which one source may have all.
    #[must_use]
    pub const fn whole(all: u64) -> Self {
        Self { all, each: all }
    }

    /// This share with at most so much for all. What one source has becomes less as well, unless it was
    /// raised.
    #[must_use]
    pub fn within(self, all: u64, least: u64) -> Self {
        if all >= self.all {
            return self;
        }
        let each = match self.each <= Self::of(self.all, least).each {
            true => Self::of(all, least).each,
            false => self.each.min(all),
        };
        Self { all, each }
    }
}

/// A pool of one resource.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    resource: Resource,
    share: Share,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    all: u64,
    /// Without those that have nothing.
    of: BTreeMap<Address, u64>,
    refused: u64,
}

/// Why a pool gives nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The source has its share.
    #[error(
        "one address or token may have {limit} {}, and yours has as many; close some, or try again \
         in a moment", resource.words()
    )]
    Source {
        /// Of what.
        resource: Resource,
        /// How much.
        limit: u64,
    },
    /// All sources together have what there is.
    #[error(
        "the server takes {limit} {} in all, and has as many; try again in a moment",
        resource.words()
    )]
    All {
        /// Of what.
        resource: Resource,
        /// How much.
        limit: u64,
    },
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Self {
        Self::overloaded(full.to_string(), RETRY_MS)
    }
}

impl Pool {
    /// A pool of this size.
    #[must_use]
    pub fn new(resource: Resource, share: Share) -> Self {
        Self(Arc::new(Inner {
            resource,
            share,
            used: Mutex::default(),
        }))
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        // Nothing that holds the lock can panic half way.
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it is of.
    #[must_use]
    pub fn resource(&self) -> Resource {
        self.0.resource
    }

    /// How much there is.
    #[must_use]
    pub fn share(&self) -> Share {
        self.0.share
    }

    /// How much is held, by all together.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.used().all
    }

    /// How much the source holds that holds most.
    #[must_use]
    pub fn most_of_one(&self) -> u64 {
        self.used().of.values().copied().max().unwrap_or(0)
    }

    /// The source that holds most, if it holds more than this one.
    #[must_use]
    pub fn more_than(&self, source: Address) -> Option<Address> {
        let used = self.used();
        let own = used.of.get(&source).copied().unwrap_or(0);
        let most = used.of.iter().max_by_key(|(_, has)| **has)?;
        (*most.1 > own).then_some(*most.0)
    }

    /// How often it gave nothing.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.used().refused
    }

    /// Takes so much for a source.
    ///
    /// # Errors
    /// When the source has its share, or all together have what there is.
    pub fn take(&self, source: Address, amount: u64) -> Result<Held, Full> {
        let mut held = self.nothing(source);
        held.grow(amount)?;
        Ok(held)
    }

    /// Takes so much for a source, whatever it has by now: what cannot be refused any more is
    /// counted all the same.
    #[must_use]
    pub fn charge(&self, source: Address, amount: u64) -> Held {
        let mut held = self.nothing(source);
        self.used().add(source, amount);
        held.amount = amount;
        held
    }

    /// Whether the source, or all together, have more than there is for them.
    ///
    /// # Errors
    /// What is used up.
    pub fn check(&self, source: Address) -> Result<(), Full> {
        self.allow(&mut self.used(), source, 1)
    }

    /// Nothing yet, to grow later.
    #[must_use]
    pub fn nothing(&self, source: Address) -> Held {
        Held {
            pool: self.clone(),
            source,
            amount: 0,
        }
    }

    fn allow(&self, used: &mut Used, source: Address, amount: u64) -> Result<(), Full> {
        let Share { all, each } = self.0.share;
        let resource = self.0.resource;
        let has = used.of.get(&source).copied().unwrap_or(0);
        let full = if has.saturating_add(amount) > each {
            Full::Source {
                resource,
                limit: each,
            }
        } else if used.all.saturating_add(amount) > all {
            Full::All {
                resource,
                limit: all,
            }
        } else {
            return Ok(());
        };
        used.refused += 1;
        Err(full)
    }
}

impl Used {
    fn add(&mut self, source: Address, amount: u64) {
        if amount > 0 {
            self.all += amount;
            *self.of.entry(source).or_default() += amount;
        }
    }

    fn remove(&mut self, source: Address, amount: u64) {
        self.all -= amount;
        if let Some(has) = self.of.get_mut(&source) {
            *has -= amount;
            if *has == 0 {
                self.of.remove(&source);
            }
        }
    }
}

/// An amount of a resource. It goes back when this is dropped.
#[derive(Debug)]
pub struct Held {
    pool: Pool,
    source: Address,
    amount: u64,
}

impl Held {
    /// How much.
    #[must_use]
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// Takes more, until it is so much.
    ///
    /// # Errors
    /// When there is not so much. What was held stays held.
    pub fn grow(&mut self, to: u64) -> Result<(), Full> {
        let Some(more) = to.checked_sub(self.amount).filter(|more| *more > 0) else {
            return Ok(());
        };
        let mut used = self.pool.used();
        self.pool.allow(&mut used, self.source, more)?;
        used.add(self.source, more);
        drop(used);
        self.amount = to;
        Ok(())
    }

    /// The same amount, from now on counted as another source's.
    #[must_use]
    pub fn given_to(mut self, source: Address) -> Self {
        let mut used = self.pool.used();
        used.remove(self.source, self.amount);
        used.add(source, self.amount);
        drop(used);
        self.source = source;
        self
    }

    /// Gives the rest back, until it is so much.
    pub fn shrink(&mut self, to: u64) {
        if let Some(less) = self.amount.checked_sub(to) {
            self.pool.used().remove(self.source, less);
            self.amount = to;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool::new(Resource::Streams, Share { all: 10, each: 6 })
    }

    #[test]
    fn a_source_has_its_share_and_others_have_the_rest() {
        let (pool, ann, ben) = (pool(), Address(1), Address(2));
        let first = pool.take(ann, 6).unwrap();
        let full = pool.take(ann, 1).unwrap_err();
        assert!(matches!(full, Full::Source { limit: 6, .. }), "{full}");
        assert!(full.to_string().contains("6 open streams"), "{full}");
        let second = pool.take(ben, 4).unwrap();
        let full = pool.take(ben, 1).unwrap_err();
        assert!(matches!(full, Full::All { limit: 10, .. }), "{full}");
        assert_eq!(
            (pool.held(), pool.most_of_one(), pool.refused()),
            (10, 6, 2)
        );
        drop((first, second));
        assert_eq!((pool.held(), pool.most_of_one()), (0, 0));
        assert!(pool.used().of.is_empty());
    }

    #[test]
    fn what_is_held_grows_shrinks_and_goes_back() {
        let pool = pool();
        let mut held = pool.nothing(Address(1));
        held.grow(4).unwrap();
        held.grow(2).unwrap();
        assert_eq!(pool.held(), 4);
        assert!(held.grow(7).is_err());
        assert_eq!((held.amount(), pool.held()), (4, 4));
        held.shrink(1);
        assert_eq!(pool.held(), 1);
        drop(held);
        assert_eq!(pool.held(), 0);
    }

    #[test]
    fn what_is_given_to_another_is_the_other_s() {
        let (pool, ann, ben) = (pool(), Address(1), Address(2));
        let (most, less) = (pool.take(ann, 6).unwrap(), pool.take(ben, 4).unwrap());
        assert_eq!(
            (pool.more_than(ben), pool.more_than(ann)),
            (Some(ann), None)
        );
        let most = most.given_to(ben);
        assert_eq!((pool.held(), pool.most_of_one()), (10, 10));
        assert_eq!(pool.more_than(ann), Some(ben));
        drop((most, less));
        assert!(pool.used().of.is_empty());
    }

    #[test]
    fn a_charge_is_taken_past_the_share_and_then_told() {
        let (pool, ann) = (pool(), Address(1));
        let charged = pool.charge(ann, 8);
        assert!(matches!(pool.check(ann), Err(Full::Source { .. })));
        assert_eq!(pool.check(Address(2)), Ok(()));
        drop(charged);
        assert_eq!(pool.check(ann), Ok(()));
    }

    #[test]
    fn a_share_is_a_sixteenth_and_no_less_than_a_source_needs() {
        let each = |all, least| Share::of(all, least).each;
        assert_eq!(
            [each(1_600, 64), each(800, 64), each(100, 64)],
            [100, 64, 25]
        );
        assert_eq!(each(1, 64), 1);
        let share = Share::of(1_600, 64);
        assert_eq!(share.within(800, 64), Share { all: 800, each: 64 });
        assert_eq!(share.within(2_000, 64), share);
        let raised = share.at_least(600);
        assert_eq!(
            raised.within(400, 64),
            Share {
                all: 400,
                each: 400
            }
        );
        assert_eq!(share.at_least(10_000).each, 1_600);
    }
}
