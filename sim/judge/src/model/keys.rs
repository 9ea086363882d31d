//! Request keys: each participant remembers the outcomes of its last calls that had one. // 3

use std::collections::VecDeque;

use chat_types::Time;
use sim_model::protocol::{Op, Outcome};

/// What one participant remembers, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    keys: VecDeque<u128>,
    /// What is remembered under the key of the same index.
    remembered: VecDeque<Remembered>,
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
    /// Looks a key up, which does not make it younger.
    pub(super) fn get(&self, key: u128) -> Option<&Remembered> {
        let index = self.keys.iter().position(|known| *known == key)?;
        self.remembered.get(index)
    }

    pub(super) fn get_mut(&mut self, key: u128) -> Option<&mut Remembered> {
        let index = self.keys.iter().position(|known| *known == key)?;
        self.remembered.get_mut(index)
    }

    /// Remembers the outcome of a call under a key that is not remembered. The oldest go first.
    pub(super) fn remember(&mut self, key: u128, remembered: Remembered, limit: u32) {
        self.keys.push_back(key);
        self.remembered.push_back(remembered);
        let excess = self.keys.len().saturating_sub(limit as usize);
        self.keys.drain(..excess);
        self.remembered.drain(..excess);
    }
}
