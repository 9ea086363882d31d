//! Request keys: each participant remembers the outcomes of its last calls that had one. // 3

use std::collections::VecDeque;

use chat_types::Time;
use rustc_hash::FxHashMap;
use sim_model::protocol::{Op, Outcome};

/// What one participant remembers.
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
    /// When the answer may leave: later than the call only for a held break. // 10.5
    pub(super) answer_at: Time,
}

impl Keys {
    /// How many are remembered.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Looks a key up, which does not make it younger.
    pub(super) fn get(&self, key: u128) -> Option<&Remembered> {
        self.remembered.get(&key).map(Box::as_ref)
    }

    pub(super) fn get_mut(&mut self, key: u128) -> Option<&mut Remembered> {
        self.remembered.get_mut(&key).map(Box::as_mut)
    }

    /// Remembers the outcome of a call under a key that is not remembered. The oldest go first.
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
