//! Rate limits: a token bucket for each participant, and two for each address: one for all its
//! calls, one for its registrations.
//!
//! The generic cell rate algorithm (ITU-T I.371): a bucket is one instant, at which it will be full
//! again. A call moves it forward by one interval. If it would lie more than a burst ahead, the
//! call is refused.

use std::collections::BTreeMap;

use chat_types::{
    Span, Time,
    config::{Bucket, Config, RateLimit},
};

use crate::reject::{Outcome, Reject, refuse_if};
use crate::table::Table;
use chat_types::{Address, UserId};

/// The largest number of addresses with a bucket. Beyond it, calls from new addresses are refused
/// until other buckets are full again.
pub(super) const ADDRESSES: u64 = 65_536;

/// The number of buckets that are examined for a full one when a new address calls.
const SWEEP: usize = 8;

/// The buckets.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    each: Option<Rate>,
    users: Table<UserId, Time>,
    /// The buckets of reads by reader id.
    readers: Table<UserId, Time>,
    /// All calls, by address.
    calls: Addresses,
    /// Registrations, by address.
    registrations: Addresses,
}

/// The buckets of all addresses.
#[derive(Clone, Debug)]
struct Addresses {
    rate: Option<Rate>,
    full_at: BTreeMap<Address, Time>,
    /// The address at which the search for full buckets continues.
    hand: Address,
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    /// The time in which one call is refilled.
    interval: Span,
    /// The time in which a burst is refilled.
    burst: Span,
}

impl Rate {
    fn new(limit: RateLimit) -> Option<Self> {
        let Bucket { per_second, burst } = limit.limit()?;
        let interval = Span(1_000_000 / u64::from(per_second).max(1)).max(Span(1));
        Some(Self {
            interval,
            burst: interval.times(u64::from(burst)),
        })
    }

    /// The bucket after one more call. As an error, the time until there is space for one.
    fn take(self, full_at: Time, now: Time) -> Outcome<Time> {
        let next = full_at.max(now) + self.interval;
        let ahead = next.since(now);
        refuse_if(ahead > self.burst, Reject::rate_limited(ahead - self.burst))?;
        Ok(next)
    }
}

impl Gate {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            each: Rate::new(config.rate_limit),
            users: Table::default(),
            readers: Table::default(),
            calls: Addresses::new(config.address_rate_limit),
            registrations: Addresses::new(config.registration_rate_limit),
        }
    }

    /// Admits a call from the address: by the participant, or (`None`) by one that registers.
    pub(super) fn admit(&mut self, now: Time, from: Address, user: Option<UserId>) -> Outcome<()> {
        self.calls.admit(now, from)?;
        match (user, self.each) {
            (None, _) => self.registrations.admit(now, from),
            (Some(user), Some(rate)) => charge(&mut self.users, rate, user, now),
            (Some(_), None) => Ok(()),
        }
    }

    /// Admits a read by the participant's reader id. The participant's own bucket is not charged.
    pub(super) fn admit_reader(&mut self, now: Time, from: Address, user: UserId) -> Outcome<()> {
        self.calls.admit(now, from)?;
        if let Some(rate) = self.each {
            charge(&mut self.readers, rate, user, now)?;
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, user: UserId) {
        self.users.remove(&user);
        self.readers.remove(&user);
    }

    /// The number of addresses with a bucket, in the larger of the two tables.
    pub(super) fn addresses(&self) -> usize {
        let (calls, registrations) = (&self.calls.full_at, &self.registrations.full_at);
        calls.len().max(registrations.len())
    }
}

impl Addresses {
    fn new(limit: RateLimit) -> Self {
        Self {
            rate: Rate::new(limit),
            full_at: BTreeMap::new(),
            hand: Address(0),
        }
    }

    fn admit(&mut self, now: Time, from: Address) -> Outcome<()> {
        let Some(rate) = self.rate else {
            return Ok(());
        };
        if let Some(full_at) = self.full_at.get_mut(&from) {
            *full_at = rate.take(*full_at, now)?;
            return Ok(());
        }
        self.make_space(now, rate)?;
        self.full_at.insert(from, rate.take(Time(0), now)?);
        Ok(())
    }

    /// Frees space for a new bucket. A bucket that is full again need not be stored; each call
    /// examines a few.
    fn make_space(&mut self, now: Time, rate: Rate) -> Outcome<()> {
        let next = self.full_at.range(self.hand..).take(SWEEP);
        let next: Vec<(Address, Time)> = next.map(|(address, at)| (*address, *at)).collect();
        self.hand = match next.last() {
            Some((last, _)) if next.len() == SWEEP => Address(last.0.wrapping_add(1)),
            _ => Address(0),
        };
        for (address, full_at) in next {
            if full_at <= now {
                self.full_at.remove(&address);
            }
        }
        let is_full = self.full_at.len() as u64 >= ADDRESSES;
        refuse_if(is_full, Reject::rate_limited(rate.burst))
    }
}

/// Charges one call to the participant's bucket.
fn charge(buckets: &mut Table<UserId, Time>, rate: Rate, user: UserId, now: Time) -> Outcome<()> {
    let full_at = buckets.get_or_default(user);
    *full_at = rate.take(*full_at, now)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(per_second: u32, burst: u32) -> Gate {
        let limit = RateLimit::rate(per_second, burst);
        let config = Config {
            rate_limit: limit,
            address_rate_limit: limit,
            registration_rate_limit: limit,
            ..Config::default()
        };
        Gate::new(&config)
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut gate = gate(10, 3);
        let mut call = |at| gate.admit(Time(at), Address(1), Some(UserId(1)));
        assert_eq!([call(0), call(0), call(0)], [Ok(()); 3]);
        assert_eq!(call(0), Err(Reject::rate_limited(Span::millis(100))));
        assert_eq!(call(100_000), Ok(()));
        assert!(call(150_000).is_err());
        assert_eq!(call(200_000), Ok(()));
    }

    #[test]
    fn only_registrations_take_from_their_bucket() {
        let limit = RateLimit::rate(1, 1);
        let mut gate = Gate::new(&Config {
            rate_limit: RateLimit::None,
            registration_rate_limit: limit,
            ..Config::default()
        });
        let mut call = |address, user| gate.admit(Time(0), Address(address), user);
        assert_eq!(call(1, None), Ok(()));
        assert_eq!([call(1, Some(UserId(1))); 3], [Ok(()); 3]);
        assert!(call(1, None).is_err());
        assert_eq!(call(2, None), Ok(()));
    }

    #[test]
    fn idle_addresses_are_forgotten() {
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
    fn the_sweep_spares_active_addresses() {
        let mut gate = gate(1, 9);
        let mut call = |seconds: u64, address| {
            let at = Time(seconds * 1_000_000);
            assert_eq!(gate.admit(at, Address(address), None), Ok(()));
            gate.addresses()
        };
        // The first eight addresses need four seconds to refill, the last two need one.
        for address in (0..8).flat_map(|address| [address; 4]).chain([8, 9]) {
            call(0, address);
        }
        assert_eq!(
            call(2, 100),
            11,
            "none of the first eight buckets is full again"
        );
        assert_eq!(call(2, 101), 10, "the two behind them have");
        assert_eq!(call(5, 102), 3, "and now the first eight");
    }

    #[test]
    fn a_forgotten_participant_leaves_no_bucket() {
        let mut gate = gate(1, 1);
        assert_eq!(gate.admit(Time(0), Address(1), Some(UserId(1))), Ok(()));
        assert_eq!(gate.admit_reader(Time(9), Address(2), UserId(1)), Ok(()));
        gate.forget(UserId(1));
        assert_eq!((gate.users.len(), gate.readers.len()), (0, 0));
    }

    #[test]
    fn a_reader_leaves_the_participant_s_bucket_alone() {
        let mut gate = gate(1, 1);
        assert_eq!(gate.admit_reader(Time(0), Address(1), UserId(1)), Ok(()));
        assert!(gate.admit_reader(Time(0), Address(2), UserId(1)).is_err());
        assert_eq!(gate.admit(Time(0), Address(3), Some(UserId(1))), Ok(()));
    }
}
