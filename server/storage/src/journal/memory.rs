//! A journal that stores nothing.

use chat_core::{Entry, Hub, Position, Time};

use super::{Fate, FateReporter, Journal, NoWrite};

/// Numbers entries and drops them: everything is lost when the server stops.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    last: u64,
}

impl Journal for MemoryJournal {
    fn attach(&mut self, _: FateReporter) {}

    fn append(&mut self, now: Time, entries: &[Entry]) -> Option<Fate> {
        let first = Position(self.last + 1);
        self.last += entries.len() as u64;
        Some(Fate::Committed { first, at: now })
    }

    fn close(&mut self, _: &Hub) -> Result<(), NoWrite> {
        Ok(())
    }
}
