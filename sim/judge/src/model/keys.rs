//! Request keys: each participant remembers the outcomes of its last calls with a key. // 3

use std::collections::VecDeque;

use chat_types::Time;
use rustc_hash::FxHashMap;
use sim_model::protocol::{Op, Outcome};

/// The remembered keys of one participant.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The keys, oldest first.
    order: VecDeque<u128>,
    remembered: FxHashMap<u128, Box<Remembered>>,
}

/// The first outcome of a call.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub(super) op: Op,
    pub(super) outcome: Outcome,
    /// When the answer may leave: later than the call only for a delayed break. // 10.5
    pub(super) answer_at: Time,
}

impl Keys {
    /// The number of remembered keys.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Looks up a key, without changing its age.
    pub(super) fn get(&self, key: u128) -> Option<&Remembered> {
        self.remembered.get(&key).map(Box::as_ref)
    }

    pub(super) fn get_mut(&mut self, key: u128) -> Option<&mut Remembered> {
        self.remembered.get_mut(&key).map(Box::as_mut)
    }

    /// Remembers the outcome of a call under a new key, and removes the oldest keys beyond the
    /// limit.
    pub(super) fn remember(&mut self, key: u128, remembered: Remembered, limit: u32) {
        self.order.push_back(key);
        self.remembered.insert(key, Box::new(remembered));
        while self.order.len() > limit as usize {
            if let Some(oldest) = self.order.pop_front() {
                self.remembered.remove(&oldest);
            }
        }
    }
}
