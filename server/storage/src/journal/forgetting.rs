//! Deletes records that neither a recovery nor an operator needs, in small batches.

use std::io;
use std::path::Path;

use chat_core::Position;
use server_settings::JournalSettings;

use super::database::Database;
use super::folder;

/// The largest number of records that one transaction deletes.
const BATCH: u64 = 500;

/// What the journal may forget.
#[derive(Debug)]
pub(super) struct Forgetting {
    /// The number of last entries to keep; none to keep all.
    entries: Option<u64>,
    /// The size of the records to keep; none to keep all.
    bytes: Option<u64>,
    /// A recovery needs the records after this position, and no others.
    needed_after: Position,
    /// All records up to this position are deleted.
    done: Position,
}

impl Forgetting {
    /// For the journal in this folder.
    pub(super) fn new(folder: &Path, settings: &JournalSettings) -> io::Result<Self> {
        Ok(Self {
            entries: settings.entries,
            bytes: settings.bytes,
            needed_after: folder::oldest_kept(folder)?,
            done: Position(0),
        })
    }

    /// Whether a snapshot is due after records of this size. Two are kept, and the records between
    /// them and after them.
    pub(super) fn wants_snapshot(&self, grown: u64) -> bool {
        self.bytes.is_some_and(|most| grown > most / 4)
    }

    /// Takes notice of a new snapshot.
    pub(super) fn snapshot_made(&mut self, folder: &Path) {
        match folder::oldest_kept(folder) {
            Ok(position) => self.needed_after = position,
            Err(error) => tracing::warn!(%error, "the snapshots cannot be listed"),
        }
    }

    /// Deletes one batch of a journal that ends at `last`, if there is something to delete.
    pub(super) fn some(&mut self, database: &Database, last: Position) {
        let by_number = self.entries.map_or(0, |most| last.0.saturating_sub(most));
        let needed = self.needed_after.0;
        // Whether the records take more bytes than they may.
        let is_over = |most| database.bytes().is_ok_and(|bytes| bytes > most);
        let is_more = by_number < needed && self.done.0 < needed;
        let end = match is_more && self.bytes.is_some_and(is_over) {
            true => needed,
            false => by_number.min(needed),
        };
        if end <= self.done.0 {
            return;
        }
        match database.delete_to(Position(end), BATCH) {
            Ok(deleted) if deleted < BATCH => self.done = Position(end),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "old records cannot be deleted"),
        }
    }
}
