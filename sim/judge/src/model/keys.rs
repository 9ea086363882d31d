//! Request keys: each participant remembers the outcomes of its last calls with a key. // 3

use std::collections::VecDeque;

use chat_types::Time;
use rustc_hash::FxHashMap;
use sim_model::protocol::Outcome;

/// The remembered keys of one participant.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The outcomes with their keys, oldest first.
    remembered: VecDeque<(u128, Remembered)>,
    /// The number of earlier remembered outcomes, for each key.
    places: FxHashMap<u128, usize>,
    /// The number of outcomes that are no longer remembered.
    gone: usize,
}

/// The first outcome of a call.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    /// The hash of the command, so that its text need not be kept.
    pub(super) asked: u64,
    pub(super) outcome: Outcome,
    /// When the answer may leave: later than the call only for a delayed break. // 10.5
    pub(super) answer_at: Time,
}

impl Keys {
    /// The number of remembered keys.
    pub(super) fn len(&self) -> usize {
        self.remembered.len()
    }

    /// Looks up a key, without changing its age.
    pub(super) fn get(&self, key: u128) -> Option<&Remembered> {
        let place = self.places.get(&key)? - self.gone;
        self.remembered.get(place).map(|(_, remembered)| remembered)
    }

    pub(super) fn get_mut(&mut self, key: u128) -> Option<&mut Remembered> {
        let place = self.places.get(&key)? - self.gone;
        let remembered = self.remembered.get_mut(place);
        remembered.map(|(_, remembered)| remembered)
    }

    /// Remembers the outcome of a call under a new key, and removes the oldest keys beyond the
    /// limit.
    pub(super) fn remember(&mut self, key: u128, remembered: Remembered, limit: u32) {
        while self.remembered.len() >= limit as usize
            && let Some((oldest, _)) = self.remembered.pop_front()
        {
            self.places.remove(&oldest);
            self.gone += 1;
        }
        self.places.insert(key, self.gone + self.remembered.len());
        self.remembered.push_back((key, remembered));
    }
}
