//! Index of the participants of each address, and of those that give way. When space runs out, a
//! newcomer replaces one of the latter. A mute of an address reads the former.

use std::collections::{BTreeMap, BTreeSet};

use crate::participant::{Ghost, Participant, Presence};
use chat_types::{Address, UserId};

/// A participant that gives way, in the order in which they do.
type Yielding = (Ghost, UserId);

/// The participants by address, and all that are away.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Away {
    all: BTreeSet<Yielding>,
    by_address: BTreeMap<Address, Registered>,
    /// The number of addresses with one participant, with two, and so on. The largest count per
    /// address is then known without a search.
    sizes: Vec<usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Registered {
    participants: BTreeSet<UserId>,
    ghosts: BTreeSet<Yielding>,
}

impl Away {
    /// Adds a registered participant.
    pub(super) fn add(&mut self, user: UserId, participant: &Participant) {
        let address = participant.address;
        let registered = self.by_address.entry(address).or_default();
        registered.participants.insert(user);
        let after = registered.participants.len();
        self.resized(after - 1, after);
        self.insert(address, user, participant.presence);
    }

    /// Removes a participant whose registration ended.
    pub(super) fn remove(&mut self, user: UserId, participant: &Participant) {
        let address = participant.address;
        self.withdraw(address, user, participant.presence);
        if let Some(registered) = self.by_address.get_mut(&address) {
            registered.participants.remove(&user);
            let after = registered.participants.len();
            if after == 0 {
                self.by_address.remove(&address);
            }
            self.resized(after + 1, after);
        }
    }

    /// The number of participants of an address changed.
    fn resized(&mut self, before: usize, after: usize) {
        if self.sizes.len() < after {
            self.sizes.resize(after, 0);
        }
        // Addresses without participants are not counted.
        if let Some(addresses) = after.checked_sub(1).and_then(|at| self.sizes.get_mut(at)) {
            *addresses += 1;
        }
        if let Some(addresses) = before.checked_sub(1).and_then(|at| self.sizes.get_mut(at)) {
            *addresses -= 1;
        }
        while self.sizes.last() == Some(&0) {
            self.sizes.pop();
        }
    }

    /// Records the presence of a participant from the address.
    pub(super) fn insert(&mut self, address: Address, user: UserId, presence: Presence) {
        let Some(ghost) = presence.ghost() else {
            return;
        };
        if matches!(ghost, Ghost::Away(_)) {
            self.all.insert((ghost, user));
        }
        let registered = self.by_address.entry(address).or_default();
        registered.ghosts.insert((ghost, user));
    }

    /// Records that a participant from the address no longer has this presence.
    pub(super) fn withdraw(&mut self, address: Address, user: UserId, presence: Presence) {
        let Some(ghost) = presence.ghost() else {
            return;
        };
        self.all.remove(&(ghost, user));
        if let Some(registered) = self.by_address.get_mut(&address) {
            registered.ghosts.remove(&(ghost, user));
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
        self.sizes.len()
    }

    /// The first participant of the address that gives way, but for those `without`.
    pub(super) fn first_from(
        &self,
        address: Address,
        without: &BTreeSet<UserId>,
    ) -> Option<UserId> {
        first(&self.by_address.get(&address)?.ghosts, without)
    }

    /// The participant that has been away longest, but for those `without`.
    pub(super) fn longest(&self, without: &BTreeSet<UserId>) -> Option<UserId> {
        first(&self.all, without)
    }
}

fn first(ghosts: &BTreeSet<Yielding>, without: &BTreeSet<UserId>) -> Option<UserId> {
    let mut users = ghosts.iter().map(|(_, user)| *user);
    users.find(|user| !without.contains(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_knows_the_participants_of_each_address() {
        let mut away = Away::default();
        let resized = |away: &mut Away, before, after| {
            away.resized(before, after);
            away.most_from_one()
        };
        assert_eq!(resized(&mut away, 0, 1), 1);
        assert_eq!(resized(&mut away, 1, 2), 2);
        assert_eq!(resized(&mut away, 0, 1), 2);
        assert_eq!(resized(&mut away, 1, 2), 2);
        assert_eq!(resized(&mut away, 2, 3), 3);
        assert_eq!(resized(&mut away, 3, 2), 2);
        assert_eq!(resized(&mut away, 2, 1), 2);
        assert_eq!(resized(&mut away, 1, 1), 2);
        assert_eq!(resized(&mut away, 1, 0), 2);
        assert_eq!(resized(&mut away, 2, 1), 1);
        assert_eq!(resized(&mut away, 1, 0), 0);
    }
}
