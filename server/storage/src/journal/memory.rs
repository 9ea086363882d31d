//! A journal that stores nothing.

use chat_core::{Entry, Hub, Position, Time};

use super::{Append, Fate, FateReporter, Journal, NoWrite};

/// Numbers entries and drops them: everything is lost when the server stops.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    last: u64,
}

impl Journal for MemoryJournal {
    fn attach(&mut self, _: FateReporter) {}

    fn append(&mut self, now: Time, entries: &[Entry]) -> Append {
        let first = Position(self.last + 1);
        self.last += entries.len() as u64;
        Append::Settled(Fate::Committed { first, at: now })
    }

    fn close(&mut self, _: &Hub) -> Result<(), NoWrite> {
        Ok(())
    }
}
