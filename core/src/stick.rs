//! The talking stick of one room: its holder, the lease, and the line of claims.
//!
//! Floor control in the field's terms: claims are granted in order. A grant has a lease and a
//! number (its epoch), and ends by release or expiry. A message with a stale epoch is refused.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chat_types::{Epoch, Span, Time, UserId, Who};
use serde::{Deserialize, Serialize};

/// One room's stick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stick {
    /// The epoch of the current grant, or of the last one.
    pub(crate) epoch: Epoch,
    pub(crate) holder: Option<Holder>,
    /// The claimants in order. The holder is not among them, and no member is listed twice.
    pub(crate) line: VecDeque<UserId>,
    /// What claimants say as soon as they hold the stick, which then passes on. Few have a message, and the
    /// line is searched for each call.
    messages: BTreeMap<UserId, Speech>,
}

/// A message that may be said: its text, and the members that it is addressed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Speech {
    pub(crate) text: Arc<str>,
    pub(crate) to: Box<[Arc<Who>]>,
}

/// The current grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) user: UserId,
    /// The lease runs from the grant and is not renewed.
    pub(crate) lease_until: Time,
}

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The stick was free and is granted.
    Granted,
    /// The claim was queued at this place, from 1.
    Queued(u32),
    /// The member had claimed it before; 0 means that it is the holder.
    Unchanged(u32),
}

/// The result of giving up the stick or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// The grant with this epoch ended.
    Released(Epoch),
    /// A claim was withdrawn.
    Withdrawn,
    /// The member neither held the stick nor waited for it.
    Nothing,
}

impl Stick {
    pub(crate) fn holds(&self, user: UserId) -> bool {
        self.holder.is_some_and(|holder| holder.user == user)
    }

    /// The end of the current lease.
    pub(crate) fn lease_until(&self) -> Option<Time> {
        self.holder.map(|holder| holder.lease_until)
    }

    /// The member's place: 0 is the holder, 1 is next.
    pub(crate) fn place(&self, user: UserId) -> Option<u32> {
        if self.holds(user) {
            return Some(0);
        }
        let behind = self.line.iter().position(|waiting| *waiting == user)?;
        u32::try_from(behind + 1).ok()
    }

    /// Claims the stick for `user`. A repeated claim keeps its place.
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

    /// Leaves a message with the claim of `user`, in place of an earlier one. Returns whether it has a claim.
    pub(crate) fn leave_message(&mut self, user: UserId, message: &Speech) -> bool {
        let waits = self.line.contains(&user);
        if waits {
            self.messages.insert(user, message.clone());
        }
        waits
    }

    /// Grants a free stick to the first in line, and returns it with the message that waited for this.
    pub(crate) fn grant_next(
        &mut self,
        now: Time,
        lease: Span,
    ) -> Option<(UserId, Option<Speech>)> {
        if self.holder.is_some() {
            return None;
        }
        let user = self.line.pop_front()?;
        self.epoch = self.epoch.next();
        self.holder = Some(Holder {
            user,
            lease_until: now + lease,
        });
        Some((user, self.take_message(user)))
    }

    /// Almost always there is none.
    fn take_message(&mut self, user: UserId) -> Option<Speech> {
        match self.messages.is_empty() {
            true => None,
            false => self.messages.remove(&user),
        }
    }

    /// Ends the grant or the claim of `user`.
    pub(crate) fn give_up(&mut self, user: UserId) -> GivenUp {
        if self.holds(user) {
            self.holder = None;
            return GivenUp::Released(self.epoch);
        }
        let before = self.line.len();
        self.line.retain(|waiting| *waiting != user);
        self.take_message(user);
        if self.line.len() < before {
            GivenUp::Withdrawn
        } else {
            GivenUp::Nothing
        }
    }

    /// Ends the grant if its lease is over. Returns the former holder.
    pub(crate) fn expire(&mut self, now: Time) -> Option<UserId> {
        let holder = self.holder.filter(|holder| holder.lease_until <= now)?;
        self.holder = None;
        Some(holder.user)
    }

    /// Ends the grant, and continues behind this epoch. Returns the former holder.
    pub(crate) fn pass_to(&mut self, epoch: Epoch) -> Option<UserId> {
        self.epoch = epoch;
        self.holder.take().map(|holder| holder.user)
    }

    /// Extends the lease by a downtime.
    pub(crate) fn shift(&mut self, down: Span) {
        if let Some(holder) = &mut self.holder {
            holder.lease_until += down;
        }
    }

    /// Checks the invariants.
    pub(crate) fn validate(&self, is_member: impl Fn(UserId) -> bool) -> Result<(), String> {
        let mut seen: Vec<UserId> = self.holder.iter().map(|holder| holder.user).collect();
        seen.extend(&self.line);
        if let Some(stranger) = seen.iter().find(|user| !is_member(**user)) {
            return Err(format!(
                "{stranger} holds or awaits the stick of a room it is not in"
            ));
        }
        if !self.messages.keys().all(|user| self.line.contains(user)) {
            return Err("a message waits for the stick without a claim".into());
        }
        if self.holder.is_none() && !self.line.is_empty() {
            return Err("the stick is free, and a member waits for it".into());
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() < count {
            return Err("a member holds or awaits the stick twice".into());
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
        let granted = stick.grant_next(Time(4_000_000), LEASE);
        assert_eq!(granted, Some((BEN, None)));
        assert_eq!(
            (stick.epoch, stick.lease_until()),
            (Epoch(2), Some(Time(8_000_000)))
        );
        assert_eq!(stick.give_up(BEN), GivenUp::Released(Epoch(2)));
        assert_eq!(stick.give_up(BEN), GivenUp::Nothing);
    }

    #[test]
    fn a_withdrawn_claim_is_not_granted() {
        let mut stick = Stick::default();
        stick.claim(ANN, Time(0), LEASE);
        stick.claim(BEN, Time(0), LEASE);
        assert_eq!(stick.give_up(BEN), GivenUp::Withdrawn);
        assert_eq!(stick.give_up(BEN), GivenUp::Nothing);
        assert_eq!(stick.give_up(ANN), GivenUp::Released(Epoch(1)));
        assert_eq!(stick.grant_next(Time(1), LEASE), None);
    }

    #[test]
    fn an_impossible_stick_is_invalid() {
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
