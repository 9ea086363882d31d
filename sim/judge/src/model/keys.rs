//! Request keys: each participant remembers the outcomes of its last calls with a key. // 3

use std::collections::VecDeque;
use std::hash::BuildHasher as _;

use chat_types::RequestKey;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use sim_model::protocol::Decided;

/// The remembered keys of one participant.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The outcomes with their keys, oldest first.
    remembered: VecDeque<(RequestKey, Remembered)>,
    /// The place of each key: the number of outcomes that were remembered before it.
    places: HashTable<u32>,
    /// The number of outcomes that are no longer remembered.
    gone: u32,
}

/// The first outcome of a call.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    /// The hash of the command, so that its text need not be kept.
    pub(super) asked: u64,
    pub(super) outcome: Decided,
}

impl Keys {
    /// The number of remembered keys.
    pub(super) fn len(&self) -> usize {
        self.remembered.len()
    }

    /// Looks up a key, without changing its age.
    pub(super) fn get(&self, key: RequestKey) -> Option<&Remembered> {
        let index = self.index(key)?;
        self.remembered.get(index).map(|(_, remembered)| remembered)
    }

    pub(super) fn get_mut(&mut self, key: RequestKey) -> Option<&mut Remembered> {
        let index = self.index(key)?;
        let remembered = self.remembered.get_mut(index);
        remembered.map(|(_, remembered)| remembered)
    }

    fn index(&self, key: RequestKey) -> Option<usize> {
        let is_of_key = |place: &u32| self.remembered[(place - self.gone) as usize].0 == key;
        let place = self.places.find(hash(key), is_of_key)?;
        Some((place - self.gone) as usize)
    }

    /// Remembers the outcome of a call under a new key, and removes the oldest keys beyond the
    /// limit.
    pub(super) fn remember(&mut self, key: RequestKey, remembered: Remembered, limit: u32) {
        while self.remembered.len() >= limit as usize
            && let Some((oldest, _)) = self.remembered.pop_front()
        {
            let gone = self.gone;
            if let Ok(place) = self.places.find_entry(hash(oldest), |place| *place == gone) {
                place.remove();
            }
            self.gone += 1;
        }
        let place = u32::try_from(self.remembered.len()).expect("the limit is a u32") + self.gone;
        self.remembered.push_back((key, remembered));
        let hash_at = |place: &u32| hash(self.remembered[(place - self.gone) as usize].0);
        self.places.insert_unique(hash(key), place, hash_at);
    }
}

fn hash(key: RequestKey) -> u64 {
    FxBuildHasher.hash_one(key)
}
