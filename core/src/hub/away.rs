//! Index of the participants of each address, and of those that have been away longest. When space
//! runs out, a newcomer replaces one of the latter. A mute of an address reads the former.

use std::collections::{BTreeMap, BTreeSet};

use chat_types::Time;

use crate::id::{Address, UserId};
use crate::participant::{Participant, Presence};

/// A participant that is away, preceded by the instant at which its registration expires.
type Absent = (Time, UserId);

/// The participants by address, and all that are away.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Away {
    all: BTreeSet<Absent>,
    by_address: BTreeMap<Address, Registered>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Registered {
    participants: BTreeSet<UserId>,
    away: BTreeSet<Absent>,
}

impl Away {
    /// Adds a registered participant.
    pub(super) fn add(&mut self, user: UserId, participant: &Participant) {
        let address = participant.address;
        let registered = self.by_address.entry(address).or_default();
        registered.participants.insert(user);
        if let Presence::Away { until } = participant.presence {
            self.leave(address, (until, user));
        }
    }

    /// Removes a participant whose registration ended.
    pub(super) fn remove(&mut self, user: UserId, participant: &Participant) {
        let address = participant.address;
        if let Presence::Away { until } = participant.presence {
            self.come_back(address, (until, user));
        }
        if let Some(registered) = self.by_address.get_mut(&address) {
            registered.participants.remove(&user);
            if registered.participants.is_empty() {
                self.by_address.remove(&address);
            }
        }
    }

    /// Records that a participant from the address went away.
    pub(super) fn leave(&mut self, address: Address, absent: Absent) {
        self.all.insert(absent);
        let registered = self.by_address.entry(address).or_default();
        registered.away.insert(absent);
    }

    /// Records that a participant from the address came back.
    pub(super) fn come_back(&mut self, address: Address, absent: Absent) {
        self.all.remove(&absent);
        if let Some(registered) = self.by_address.get_mut(&address) {
            registered.away.remove(&absent);
        }
    }

    /// The number of participants registered from the address.
    pub(super) fn registered_from(&self, address: Address) -> usize {
        let registered = self.by_address.get(&address);
        registered.map_or(0, |registered| registered.participants.len())
    }

    /// The participants registered from the address, in the order of their ids.
    pub(super) fn of_address(&self, address: Address) -> impl Iterator<Item = UserId> {
        let registered = self.by_address.get(&address).into_iter();
        registered.flat_map(|registered| registered.participants.iter().copied())
    }

    /// The largest number of participants that are registered from one address.
    pub(super) fn most_from_one(&self) -> usize {
        let registered = self.by_address.values();
        let participants = registered.map(|registered| registered.participants.len());
        participants.max().unwrap_or_default()
    }

    /// The participant of the address that has been away longest.
    pub(super) fn longest_from(&self, address: Address) -> Option<UserId> {
        let registered = self.by_address.get(&address)?;
        registered.away.first().map(|(_, user)| *user)
    }

    /// The participant that has been away longest.
    pub(super) fn longest(&self) -> Option<UserId> {
        self.all.first().map(|(_, user)| *user)
    }
}
