//! Rate limits: a token bucket for each participant, and one for each address.
//!
//! The generic cell rate algorithm (ITU-T I.371): a bucket is one instant, the one at which it
//! would be full again. A call moves it on by one call's worth; where that lies further ahead than
//! a burst's worth, the call is refused.

use std::collections::BTreeMap;

use chat_types::{
    Span, Time,
    config::{Bucket, Config, RateLimit},
};

use crate::id::{Address, UserId};
use crate::reject::{Earlier, Reject};
use crate::table::Table;

/// How many addresses are told apart. Beyond it new ones are refused until others have rested.
pub(super) const ADDRESSES: u64 = 65_536;

/// How many addresses are looked at for one that has rested, when a new one comes.
const SWEEP: usize = 8;

/// The buckets.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    each: Option<Rate>,
    from: Option<Rate>,
    users: Table<UserId, Time>,
    addresses: BTreeMap<Address, Time>,
    /// Where the sweep for rested addresses goes on.
    hand: Address,
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    /// What one call is worth.
    interval: Span,
    /// What a burst is worth.
    burst: Span,
}

impl Rate {
    fn new(limit: RateLimit) -> Option<Self> {
        let RateLimit::Bucket(Bucket { per_second, burst }) = limit else {
            return None;
        };
        let interval = Span(1_000_000 / u64::from(per_second).max(1)).max(Span(1));
        Some(Self {
            interval,
            burst: interval.times(u64::from(burst)),
        })
    }

    /// The bucket after one more call; or how long until there is room for one.
    fn take(self, full_at: Time, now: Time) -> Result<Time, Reject> {
        let next = full_at.max(now) + self.interval;
        let ahead = next.since(now);
        if ahead > self.burst {
            return Err(Reject::RateLimited {
                retry_after: ahead - self.burst,
                earlier: Earlier::Unasked,
            });
        }
        Ok(next)
    }
}

impl Gate {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            each: Rate::new(config.rate_limit),
            from: Rate::new(config.address_rate_limit),
            users: Table::default(),
            addresses: BTreeMap::new(),
            hand: Address(0),
        }
    }

    pub(super) fn admit(
        &mut self,
        now: Time,
        from: Address,
        user: Option<UserId>,
    ) -> Result<(), Reject> {
        if let Some(rate) = self.from {
            self.make_space(now, from, rate)?;
            let full_at = self.addresses.get(&from).copied().unwrap_or_default();
            self.addresses.insert(from, rate.take(full_at, now)?);
        }
        if let (Some(rate), Some(user)) = (self.each, user) {
            match self.users.get_mut(&user) {
                Some(full_at) => *full_at = rate.take(*full_at, now)?,
                None => {
                    self.users.insert(user, rate.take(Time(0), now)?);
                }
            }
        }
        Ok(())
    }

    /// A bucket that is full again need not be kept: a few are looked at whenever one is added.
    fn make_space(&mut self, now: Time, from: Address, rate: Rate) -> Result<(), Reject> {
        if self.addresses.contains_key(&from) {
            return Ok(());
        }
        let next: Vec<(Address, Time)> = self
            .addresses
            .range(self.hand..)
            .take(SWEEP)
            .map(|(a, t)| (*a, *t))
            .collect();
        self.hand = match next.last() {
            Some((last, _)) if next.len() == SWEEP => Address(last.0.wrapping_add(1)),
            _ => Address(0),
        };
        for (address, full_at) in next {
            if full_at <= now {
                self.addresses.remove(&address);
            }
        }
        if self.addresses.len() as u64 >= ADDRESSES {
            return Err(Reject::RateLimited {
                retry_after: rate.burst,
                earlier: Earlier::Unasked,
            });
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, user: UserId) {
        self.users.remove(&user);
    }

    pub(super) fn addresses(&self) -> usize {
        self.addresses.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(per_second: u32, burst: u32) -> Gate {
        let limit = RateLimit::Bucket(Bucket { per_second, burst });
        let config = Config {
            rate_limit: limit,
            address_rate_limit: limit,
            ..Config::default()
        };
        Gate::new(&config)
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut gate = gate(10, 3);
        let mut call = |at| gate.admit(Time(at), Address(1), Some(UserId(1)));
        assert_eq!([call(0), call(0), call(0)], [Ok(()); 3]);
        assert_eq!(
            call(0),
            Err(Reject::RateLimited {
                retry_after: Span::millis(100),
                earlier: Earlier::Unasked,
            })
        );
        assert_eq!(call(100_000), Ok(()));
        assert!(call(150_000).is_err());
        assert_eq!(call(200_000), Ok(()));
    }

    #[test]
    fn addresses_that_rest_are_forgotten_and_others_keep_their_place() {
        let mut gate = gate(1, 1);
        for address in 0..ADDRESSES {
            assert_eq!(gate.admit(Time(0), Address(address), None), Ok(()));
        }
        assert_eq!(gate.addresses() as u64, ADDRESSES);
        assert!(gate.admit(Time(0), Address(ADDRESSES), None).is_err());
        assert_eq!(
            gate.admit(Time(2_000_000), Address(ADDRESSES), None),
            Ok(())
        );
        assert!(gate.addresses() as u64 <= ADDRESSES);
    }

    #[test]
    fn the_sweep_goes_round_and_spares_who_has_not_rested() {
        let mut gate = gate(1, 9);
        let mut call = |seconds: u64, address| {
            let at = Time(seconds * 1_000_000);
            assert_eq!(gate.admit(at, Address(address), None), Ok(()));
            gate.addresses()
        };
        // The first eight have four seconds to rest, the two behind them one.
        for address in (0..8).flat_map(|address| [address; 4]).chain([8, 9]) {
            call(0, address);
        }
        assert_eq!(call(2, 100), 11, "none of the first eight has rested");
        assert_eq!(call(2, 101), 10, "the two behind them have");
        assert_eq!(call(5, 102), 3, "and now the first eight");
    }

    #[test]
    fn nothing_is_kept_of_one_who_is_forgotten() {
        let mut gate = gate(1, 1);
        assert_eq!(gate.admit(Time(0), Address(1), Some(UserId(1))), Ok(()));
        gate.forget(UserId(1));
        assert_eq!(gate.users.len(), 0);
    }
}
