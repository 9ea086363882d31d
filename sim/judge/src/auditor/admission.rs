//! What the server may refuse before the journal (docs/protocol.md, 13).

use std::collections::BTreeMap;

use chat_types::config::{Bucket, RateLimit};
use chat_types::{Config, Time};
use sim_model::protocol::{Earlier, Op, Refusal, User};
use sim_model::server::{Ask, Caller};

use super::border::{Border, Call, Stage};
use super::clock::Clock;
use super::{refusal, unknown_handle};

/// The rate limits, and the limits on what waits.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    rate_limit: RateLimit,
    address_rate_limit: RateLimit,
    max_pending: u64,
    max_held: usize,
    users: BTreeMap<User, Time>,
    addresses: BTreeMap<u64, Time>,
}

impl Admission {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            rate_limit: config.rate_limit,
            address_rate_limit: config.address_rate_limit,
            max_pending: u64::from(config.max_pending),
            max_held: config.max_held as usize,
            users: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// The server went down: its buckets are full again.
    pub(super) fn clear(&mut self) {
        self.users.clear();
        self.addresses.clear();
    }

    pub(super) fn forget(&mut self, user: User) {
        self.users.remove(&user);
    }

    /// The refusal that a call is owed at once, if it is owed one.
    pub(super) fn admit(
        &mut self,
        at: Time,
        from: u64,
        ask: &Ask,
        user: Option<User>,
    ) -> Option<Refusal> {
        let may_register = match ask {
            Ask::Operate(_) => return None,
            Ask::Call { caller, .. } => matches!(caller, Caller::New(_)),
            Ask::OpenStream { .. } => false,
        };
        if user.is_none() && !may_register {
            return Some(unknown_handle());
        }
        let limited = || Some(refusal("rate_limited"));
        if let RateLimit::Bucket(bucket) = self.address_rate_limit
            && !charge(self.addresses.entry(from).or_default(), at, bucket)
        {
            return limited();
        }
        if let (RateLimit::Bucket(bucket), Some(user)) = (self.rate_limit, user)
            && !charge(self.users.entry(user).or_default(), at, bucket)
        {
            return limited();
        }
        None
    }

    /// Whether the server may refuse a call that waits for the journal, or is about to.
    pub(super) fn may_refuse(
        &self,
        call: &Call,
        refusal: &Refusal,
        pending: u64,
        (clock, border): (&Clock, &Border),
    ) -> bool {
        match refusal.code {
            "storage_unavailable" => clock.is_in_trouble(),
            "overloaded" => {
                let is_break = matches!(call.op(), Some(Op::Break { .. }));
                pending >= self.max_pending || is_break && border.held() >= self.max_held
            }
            "rate_limited" => {
                matches!(call.stage, Stage::Joining) && refusal.earlier == Earlier::Unknown
            }
            _ => false,
        }
    }
}

/// Takes one call out of a bucket. Whether it had one.
fn charge(full: &mut Time, at: Time, bucket: Bucket) -> bool {
    let interval = (1_000_000 / u64::from(bucket.per_second.max(1))).max(1);
    let next = (*full).max(at).0 + interval;
    let has_one = next - at.0 <= interval * u64::from(bucket.burst);
    if has_one {
        *full = Time(next);
    }
    has_one
}
