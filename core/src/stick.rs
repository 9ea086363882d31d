//! The talking stick of one room: who holds it, until when, and who is next.
//!
//! Floor control in the field's terms: claims are granted in order, a grant has a lease and a
//! number (its epoch), and ends by release or expiry. A stale epoch never speaks again.

use std::collections::VecDeque;

use chat_types::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::id::{Epoch, UserId};

/// One room's stick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stick {
    /// The number of the current grant, or of the last one.
    epoch: Epoch,
    holder: Option<Holder>,
    /// Who claimed it and waits, in order. Never the holder; nobody twice.
    line: VecDeque<UserId>,
}

/// A grant that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) user: UserId,
    /// The lease runs from the grant and is not renewed.
    pub(crate) lease_until: Time,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nobody held it: it is granted.
    Granted,
    /// In line from now on, at this place from 1.
    Queued(u32),
    /// As before: 0 holds it.
    Unchanged(u32),
}

/// What came of giving up holding it or waiting for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// The holder's grant of this number ended.
    Released(Epoch),
    /// A claim was withdrawn.
    Withdrawn,
    /// There was nothing to give up.
    Nothing,
}

impl Stick {
    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) const fn holder(&self) -> Option<Holder> {
        self.holder
    }

    pub(crate) fn holds(&self, user: UserId) -> bool {
        self.holder.is_some_and(|holder| holder.user == user)
    }

    pub(crate) fn line(&self) -> &VecDeque<UserId> {
        &self.line
    }

    /// When the current grant ends.
    pub(crate) fn lease_until(&self) -> Option<Time> {
        self.holder.map(|holder| holder.lease_until)
    }

    /// 0 holds it, 1 is next.
    pub(crate) fn place(&self, user: UserId) -> Option<u32> {
        if self.holds(user) {
            return Some(0);
        }
        let behind = self.line.iter().position(|waiting| *waiting == user)?;
        u32::try_from(behind + 1).ok()
    }

    /// Claims it for `user`. A repeated claim keeps its place.
    pub(crate) fn claim(&mut self, user: UserId, now: Time, lease: Span) -> Claim {
        if let Some(place) = self.place(user) {
            return Claim::Unchanged(place);
        }
        self.line.push_back(user);
        if self.grant_next(now, lease).is_some() {
            return Claim::Granted;
        }
        Claim::Queued(u32::try_from(self.line.len()).unwrap_or(u32::MAX))
    }

    /// Grants it to whoever is next, if nobody holds it.
    pub(crate) fn grant_next(&mut self, now: Time, lease: Span) -> Option<UserId> {
        if self.holder.is_some() {
            return None;
        }
        let user = self.line.pop_front()?;
        self.epoch = self.epoch.next();
        self.holder = Some(Holder {
            user,
            lease_until: now + lease,
        });
        Some(user)
    }

    /// `user` neither holds it nor waits for it any more.
    pub(crate) fn give_up(&mut self, user: UserId) -> GivenUp {
        if self.holds(user) {
            self.holder = None;
            return GivenUp::Released(self.epoch);
        }
        let before = self.line.len();
        self.line.retain(|waiting| *waiting != user);
        if self.line.len() < before {
            GivenUp::Withdrawn
        } else {
            GivenUp::Nothing
        }
    }

    /// The lease ran out: the holder, whose grant ends.
    pub(crate) fn expire(&mut self, now: Time) -> Option<UserId> {
        let holder = self.holder.filter(|holder| holder.lease_until <= now)?;
        self.holder = None;
        Some(holder.user)
    }

    /// The server was off for so long; the lease was not running.
    pub(crate) fn shift(&mut self, down: Span) {
        if let Some(holder) = &mut self.holder {
            holder.lease_until += down;
        }
    }

    /// What must hold of it, whatever happened.
    pub(crate) fn validate(&self, is_member: impl Fn(UserId) -> bool) -> Result<(), String> {
        let mut seen: Vec<UserId> = self.holder.iter().map(|holder| holder.user).collect();
        seen.extend(&self.line);
        if let Some(stranger) = seen.iter().find(|user| !is_member(**user)) {
            return Err(format!(
                "{stranger} holds or awaits the stick of a room it is not in"
            ));
        }
        if self.holder.is_none() && !self.line.is_empty() {
            return Err("the stick is free, and somebody waits for it".into());
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() < count {
            return Err("somebody holds or awaits the stick twice".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Span = Span::secs(4);
    const ANN: UserId = UserId(1);
    const BEN: UserId = UserId(2);

    #[test]
    fn claims_are_granted_in_order_each_with_an_epoch_of_its_own() {
        let mut stick = Stick::default();
        assert_eq!(stick.claim(ANN, Time(0), LEASE), Claim::Granted);
        assert_eq!(stick.claim(BEN, Time(1), LEASE), Claim::Queued(1));
        assert_eq!(stick.claim(BEN, Time(2), LEASE), Claim::Unchanged(1));
        assert_eq!(stick.expire(Time(3_999_999)), None);
        assert_eq!(stick.expire(Time(4_000_000)), Some(ANN));
        assert_eq!(stick.grant_next(Time(4_000_000), LEASE), Some(BEN));
        assert_eq!(
            (stick.epoch(), stick.lease_until()),
            (Epoch(2), Some(Time(8_000_000)))
        );
        assert_eq!(stick.give_up(BEN), GivenUp::Released(Epoch(2)));
        assert_eq!(stick.give_up(BEN), GivenUp::Nothing);
    }

    #[test]
    fn who_waits_may_withdraw_and_is_not_granted_it_then() {
        let mut stick = Stick::default();
        stick.claim(ANN, Time(0), LEASE);
        stick.claim(BEN, Time(0), LEASE);
        assert_eq!(stick.give_up(BEN), GivenUp::Withdrawn);
        assert_eq!(stick.give_up(BEN), GivenUp::Nothing);
        assert_eq!(stick.give_up(ANN), GivenUp::Released(Epoch(1)));
        assert_eq!(stick.grant_next(Time(1), LEASE), None);
    }

    #[test]
    fn a_stick_that_nobody_could_have_made_is_not_valid() {
        let mut stick = Stick::default();
        stick.claim(ANN, Time(0), LEASE);
        stick.claim(BEN, Time(0), LEASE);
        assert_eq!(stick.validate(|_| true), Ok(()));
        assert!(stick.validate(|user| user == ANN).is_err());
        let free = Stick {
            holder: None,
            ..stick.clone()
        };
        assert!(free.validate(|_| true).is_err());
        for twice in [ANN, BEN] {
            let mut stick = stick.clone();
            stick.line.push_back(twice);
            assert!(stick.validate(|_| true).is_err());
        }
    }
}
