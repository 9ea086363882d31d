//! A pool of one resource, with a share for each source.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use server_storage::lock;

use super::Source;
use crate::refusal::Refusal;

/// The number of sources that use up a pool, if each has its full share.
const PARTS: u64 = 16;

/// The least such number, if a share would otherwise be too small for one source.
const FEW: u64 = 4;

/// The retry delay of refusals, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// The size of a pool, and the share of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The size of the pool.
    pub all: u64,
    /// The share of one source.
    pub each: u64,
}

impl Share {
    /// A pool of this size; each source may use `1 / parts` of it.
    #[must_use]
    pub fn of(all: u64, least: u64) -> Self {
        let each = (all / PARTS).max(least.min(all / FEW)).max(1);
        Self { all, each }
    }

    /// Raises the share of a source to `each`, up to the size of the pool.
    pub(crate) fn at_least(self, each: u64) -> Self {
        Self {
            each: self.each.max(each.min(self.all)),
            ..self
        }
    }

    /// Limits this share to `all` for all sources. The share of one source becomes smaller as well,
    /// unless it was raised.
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
pub struct Pool {
    /// Its word in the metrics.
    pub name: &'static str,
    /// What it holds, in words.
    words: &'static str,
    /// The size and the share.
    pub share: Share,
    used: Arc<Mutex<Used>>,
}

#[derive(Debug, Default)]
struct Used {
    all: u64,
    /// Sources with an amount above zero.
    of: BTreeMap<Source, u64>,
    refused: u64,
}

/// Why a pool refuses an amount: with what it holds, in words, and the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The source has used up its share.
    #[error(
        "one address or token may have {1} {0}, and yours has as many; close some, or try \
         again in a moment"
    )]
    Source(&'static str, u64),
    /// The pool is used up.
    #[error("the server takes {1} {0} in all, and has as many; try again in a moment")]
    All(&'static str, u64),
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Self {
        Self::overloaded(full.to_string(), RETRY_MS)
    }
}

impl Pool {
    /// Creates a pool of this size, with its word in the metrics, and what it holds in words.
    #[must_use]
    pub fn new((name, words): (&'static str, &'static str), share: Share) -> Self {
        Self {
            name,
            words,
            share,
            used: Arc::default(),
        }
    }

    /// The total amount in use.
    #[must_use]
    pub fn held(&self) -> u64 {
        lock(&self.used).all
    }

    /// The largest amount that one source uses.
    #[must_use]
    pub fn most_of_one(&self) -> u64 {
        lock(&self.used).of.values().copied().max().unwrap_or(0)
    }

    /// The source that uses most, if it uses more than this one.
    #[must_use]
    pub fn more_than(&self, source: Source) -> Option<Source> {
        let used = lock(&self.used);
        let own = used.of.get(&source).copied().unwrap_or(0);
        let most = used.of.iter().max_by_key(|(_, has)| **has)?;
        (*most.1 > own).then_some(*most.0)
    }

    /// The number of refusals.
    #[must_use]
    pub fn refused(&self) -> u64 {
        lock(&self.used).refused
    }

    /// Takes an amount for a source.
    ///
    /// # Errors
    /// The source has used up its share, or the pool is used up.
    pub fn take(&self, source: Source, amount: u64) -> Result<Reservation, Full> {
        let mut held = self.nothing(source);
        held.grow(amount)?;
        Ok(held)
    }

    /// Takes an amount for a source, even beyond its share: for resources that are in use already.
    #[must_use]
    pub fn charge(&self, source: Source, amount: u64) -> Reservation {
        let mut held = self.nothing(source);
        lock(&self.used).add(source, amount);
        held.amount = amount;
        held
    }

    /// Checks that neither the source nor the pool exceeds its limit.
    ///
    /// # Errors
    /// The resource without free capacity.
    pub fn check(&self, source: Source) -> Result<(), Full> {
        self.allow(&mut lock(&self.used), source, 1)
    }

    /// An empty amount, to grow later.
    #[must_use]
    pub fn nothing(&self, source: Source) -> Reservation {
        Reservation {
            pool: self.clone(),
            source,
            amount: 0,
        }
    }

    fn allow(&self, used: &mut Used, source: Source, amount: u64) -> Result<(), Full> {
        let Share { all, each } = self.share;
        let has = used.of.get(&source).copied().unwrap_or(0);
        let full = if has.saturating_add(amount) > each {
            Full::Source(self.words, each)
        } else if used.all.saturating_add(amount) > all {
            Full::All(self.words, all)
        } else {
            return Ok(());
        };
        used.refused += 1;
        Err(full)
    }
}

impl Used {
    fn add(&mut self, source: Source, amount: u64) {
        if amount > 0 {
            self.all += amount;
            *self.of.entry(source).or_default() += amount;
        }
    }

    fn remove(&mut self, source: Source, amount: u64) {
        self.all -= amount;
        if let Some(has) = self.of.get_mut(&source) {
            *has -= amount;
            if *has == 0 {
                self.of.remove(&source);
            }
        }
    }
}

/// An amount of a resource. It returns to the pool on drop.
#[derive(Debug)]
pub struct Reservation {
    pool: Pool,
    source: Source,
    /// The amount.
    pub amount: u64,
}

impl Reservation {
    /// Grows the amount to `to`.
    ///
    /// # Errors
    /// The share or the pool is used up. The amount stays as it was.
    pub fn grow(&mut self, to: u64) -> Result<(), Full> {
        let Some(more) = to.checked_sub(self.amount).filter(|more| *more > 0) else {
            return Ok(());
        };
        let mut used = lock(&self.pool.used);
        self.pool.allow(&mut used, self.source, more)?;
        used.add(self.source, more);
        drop(used);
        self.amount = to;
        Ok(())
    }

    /// Shrinks the amount to `to`.
    pub fn shrink(&mut self, to: u64) {
        if let Some(less) = self.amount.checked_sub(to) {
            lock(&self.pool.used).remove(self.source, less);
            self.amount = to;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool::new(("streams", "open streams"), Share { all: 10, each: 6 })
    }

    #[test]
    fn a_source_has_its_share_and_others_have_the_rest() {
        let (pool, ann, ben) = (pool(), Source(1), Source(2));
        let first = pool.take(ann, 6).unwrap();
        let full = pool.take(ann, 1).unwrap_err();
        assert!(matches!(full, Full::Source(_, 6)), "{full}");
        assert!(full.to_string().contains("6 open streams"), "{full}");
        let second = pool.take(ben, 4).unwrap();
        let full = pool.take(ben, 1).unwrap_err();
        assert!(matches!(full, Full::All(_, 10)), "{full}");
        assert_eq!(
            (pool.held(), pool.most_of_one(), pool.refused()),
            (10, 6, 2)
        );
        drop((first, second));
        assert_eq!((pool.held(), pool.most_of_one()), (0, 0));
        assert!(lock(&pool.used).of.is_empty());
    }

    #[test]
    fn a_hold_grows_shrinks_and_returns_to_the_pool() {
        let pool = pool();
        let mut held = pool.nothing(Source(1));
        held.grow(4).unwrap();
        held.grow(2).unwrap();
        assert_eq!(pool.held(), 4);
        assert!(held.grow(7).is_err());
        assert_eq!((held.amount, pool.held()), (4, 4));
        held.shrink(1);
        assert_eq!(pool.held(), 1);
        drop(held);
        assert_eq!(pool.held(), 0);
    }

    #[test]
    fn the_source_with_most_is_known_to_those_with_less() {
        let (pool, ann, ben) = (pool(), Source(1), Source(2));
        let _held = (pool.take(ann, 6).unwrap(), pool.take(ben, 4).unwrap());
        assert_eq!(
            (pool.more_than(ben), pool.more_than(ann)),
            (Some(ann), None)
        );
    }

    #[test]
    fn a_charge_beyond_the_share_is_taken_and_reported() {
        let (pool, ann) = (pool(), Source(1));
        let charged = pool.charge(ann, 8);
        assert!(matches!(pool.check(ann), Err(Full::Source { .. })));
        assert_eq!(pool.check(Source(2)), Ok(()));
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
