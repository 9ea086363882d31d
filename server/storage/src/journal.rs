//! The journal of the node's batches.

mod database;
mod durable;
pub(crate) mod folder;
#[cfg(feature = "cluster")]
mod kept;
mod opening;

use chat_core::{Entry, Hub, Position, Time};

pub use database::{Database as JournalReader, DatabaseError, new_identity};
pub use durable::DurableJournal;
pub use folder::{NoWrite, database_in, marks_in, snapshot_in};
#[cfg(feature = "cluster")]
pub use kept::{FoundJournal, KeepError, KeptBatch, KeptJournal, find};
pub use opening::{OpenError, Opened, note_lost_life, open};

/// The fate of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The whole batch is durable.
    Committed {
        /// The position of its first entry.
        first: Position,
        /// The instant of all its entries.
        at: Time,
    },
    /// The journal contains nothing of it.
    Failed,
    /// Unknown so far. The journal reports `Committed` or `Failed` when it knows.
    Unknown,
    /// The fate of a batch that was not given yet: the journal would take none. A batch in flight has
    /// a fate of its own.
    Refused,
    /// The writer has panicked, or has no thread: no batch has a fate any more.
    Lost,
}

/// Reports the fate of a pending batch, from any thread.
pub struct FateReporter(Box<dyn Fn(Fate) + Send + Sync>);

impl FateReporter {
    /// Creates a reporter that calls `tell`.
    pub fn new(tell: impl Fn(Fate) + Send + Sync + 'static) -> Self {
        Self(Box::new(tell))
    }

    /// Reports the fate of the batch in flight.
    pub fn tell(&self, fate: Fate) {
        (self.0)(fate);
    }
}

impl Drop for FateReporter {
    fn drop(&mut self) {
        // In the writer. The batch in flight would be waited for without an end.
        if std::thread::panicking() {
            self.tell(Fate::Lost);
        }
    }
}

/// A log of entries. It assigns their positions, from 1 without holes, and their times.
///
/// One batch is in flight at a time. An append that takes long must run on a thread of its own: the
/// driver's must not wait.
pub trait Journal: Send {
    /// Receives, once, the reporter for fates that are not known at once.
    fn attach(&mut self, later: FateReporter);

    /// Appends all of these entries, or none. `now` is the instant of the request. Without a fate the
    /// append continues, and its fate is reported through [`FateReporter`].
    fn append(&mut self, now: Time, entries: &[Entry]) -> Option<Fate>;

    /// Flushes buffered data and closes files; no append follows. `hub` is the state after the last
    /// batch with a reported outcome.
    ///
    /// # Errors
    /// What was accepted is not where the next start looks for it.
    fn close(&mut self, hub: &Hub) -> Result<(), NoWrite>;
}

/// A journal that stores nothing: it numbers entries and drops them. Everything is lost when the server stops.
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
