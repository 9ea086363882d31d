//! Request keys: each participant remembers the outcomes of its last calls with a key. // 3

use std::collections::VecDeque;

use chat_types::RequestKey;
use rustc_hash::FxHashMap;
use sim_model::protocol::Decided;

/// The remembered keys of one participant.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    remembered: FxHashMap<RequestKey, Remembered>,
    /// The keys, oldest first.
    by_age: VecDeque<RequestKey>,
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
        self.by_age.len()
    }

    /// Looks up a key, without changing its age.
    pub(super) fn get(&self, key: RequestKey) -> Option<&Remembered> {
        self.remembered.get(&key)
    }

    pub(super) fn get_mut(&mut self, key: RequestKey) -> Option<&mut Remembered> {
        self.remembered.get_mut(&key)
    }

    /// Remembers the outcome of a call under a new key, and removes the oldest keys beyond the
    /// limit.
    pub(super) fn remember(&mut self, key: RequestKey, remembered: Remembered, limit: u32) {
        while self.by_age.len() >= limit as usize
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.remembered.remove(&oldest);
        }
        self.by_age.push_back(key);
        self.remembered.insert(key, remembered);
    }
}
