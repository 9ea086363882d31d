//! Which participants each address has, and who of them has been away longest: an index, from which
//! a newcomer takes its place where there is none left, and by which a mute of an address finds whom
//! it silences.

use std::collections::{BTreeMap, BTreeSet};

use chat_types::Time;

use crate::id::{Address, UserId};
use crate::participant::{Participant, Presence};

/// A participant that is away, behind the instant at which it is forgotten.
type Absent = (Time, UserId);

/// Participants by address, and those of them that are away.
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
    /// The participant is registered.
    pub(super) fn add(&mut self, user: UserId, participant: &Participant) {
        let address = participant.address;
        let registered = self.by_address.entry(address).or_default();
        registered.participants.insert(user);
        if let Presence::Away { until } = participant.presence {
            self.leave(address, (until, user));
        }
    }

    /// The participant is not registered any more.
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

    /// A participant from the address went away.
    pub(super) fn leave(&mut self, address: Address, absent: Absent) {
        self.all.insert(absent);
        let registered = self.by_address.entry(address).or_default();
        registered.away.insert(absent);
    }

    /// A participant from the address is back.
    pub(super) fn come_back(&mut self, address: Address, absent: Absent) {
        self.all.remove(&absent);
        if let Some(registered) = self.by_address.get_mut(&address) {
            registered.away.remove(&absent);
        }
    }

    /// How many participants are registered from the address.
    pub(super) fn registered_from(&self, address: Address) -> usize {
        let registered = self.by_address.get(&address);
        registered.map_or(0, |registered| registered.participants.len())
    }

    /// Who is registered from the address, in the order of their numbers.
    pub(super) fn of_address(&self, address: Address) -> impl Iterator<Item = UserId> {
        let registered = self.by_address.get(&address).into_iter();
        registered.flat_map(|registered| registered.participants.iter().copied())
    }

    /// The most participants that are registered from one address.
    pub(super) fn most_from_one(&self) -> usize {
        let registered = self.by_address.values();
        let participants = registered.map(|registered| registered.participants.len());
        participants.max().unwrap_or_default()
    }

    /// Who has been away longest of those from the address.
    pub(super) fn longest_from(&self, address: Address) -> Option<UserId> {
        let registered = self.by_address.get(&address)?;
        registered.away.first().map(|(_, user)| *user)
    }

    /// Who has been away longest of all.
    pub(super) fn longest(&self) -> Option<UserId> {
        self.all.first().map(|(_, user)| *user)
    }
}
