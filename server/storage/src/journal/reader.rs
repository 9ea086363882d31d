//! Reads a journal beside the server that writes it: records and snapshots.
//!
//! A read takes a few records and ends, so that it does not keep the writer from emptying its WAL.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use chat_core::{Config, Position};
use chat_journal::{Identity, Loss, Origin, Recovered, RecoveryError, Store, recover};

use super::database::{Database, DatabaseError};
use super::folder;

/// The largest number of records of one read.
const RECORDS: usize = 512;

/// The size of records after which a read ends.
const BYTES: usize = 4 << 20;

/// A journal, open for reading.
#[derive(Debug)]
pub struct JournalReader {
    folder: PathBuf,
    pub(super) database: Database,
}

impl JournalReader {
    /// Opens the journal in this folder.
    ///
    /// # Errors
    /// It is absent, or no database.
    pub fn open(folder: &Path) -> Result<Self, DatabaseError> {
        let path = folder::database_in(folder);
        let database = Database::open_to_read(&path)?;
        Ok(Self {
            folder: folder.into(),
            database,
        })
    }

    /// Opens the journal in this folder, which is empty if there is none yet.
    pub(super) fn found(folder: &Path) -> Result<Self, DatabaseError> {
        Ok(Self {
            folder: folder.into(),
            database: Database::open_to_read_or_empty(&folder::database_in(folder))?,
        })
    }

    /// The key of the oldest record.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn first(&self) -> Result<Option<Position>, DatabaseError> {
        Ok(self.database.first_after(Position(0))?)
    }

    /// The record with this key.
    ///
    /// # Errors
    /// It cannot be read.
    #[cfg(feature = "cluster")]
    pub fn record(&self, first: Position) -> Result<Option<Vec<u8>>, DatabaseError> {
        Ok(self.database.record(first)?)
    }

    /// The next records after this position, with their keys.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batch(&self, after: Position) -> Result<Vec<(Position, Vec<u8>)>, DatabaseError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        self.database.records(after, &mut |key, record| {
            bytes += record.len();
            batch.push((key, record.to_vec()));
            if batch.len() >= RECORDS || bytes >= BYTES {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(batch)
    }

    /// Whether the record that ends at this position has this link. None if the journal does not have the
    /// position, or ends there.
    ///
    /// # Errors
    /// The journal cannot be read.
    #[cfg(feature = "postgres")]
    pub fn has_link(&self, position: Position, link: &[u8]) -> Result<Option<bool>, DatabaseError> {
        let next = self.database.first_after(position)?;
        // Without a later record, the end of the last one is not known.
        let (Some(next), Some(record)) = (next, self.database.record_of(position)?) else {
            return Ok(None);
        };
        // A record ends with its link.
        let own = record.last_chunk::<16>();
        Ok(Some(
            next == position.next() && own.is_some_and(|own| own[..] == *link),
        ))
    }

    /// The positions of the snapshots, newest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn snapshots(&self) -> io::Result<Vec<Position>> {
        folder::snapshots(&self.folder)
    }

    /// The file of a snapshot.
    ///
    /// # Errors
    /// It cannot be read: the writer may have replaced it.
    pub fn snapshot(&self, position: Position) -> io::Result<Vec<u8>> {
        folder::read_snapshot(&self.folder, position)
    }

    /// The beginning of the journal.
    ///
    /// # Errors
    /// It cannot be read, or is absent.
    pub fn origin(&self) -> Result<Origin, DatabaseError> {
        let identity = self.identity()?.ok_or(DatabaseError::Identity)?;
        Ok(identity.origin())
    }

    /// The identity of the journal; none of a new one.
    pub(super) fn identity(&self) -> Result<Option<Identity>, DatabaseError> {
        self.database.identity()
    }

    /// Recovers the state as a start would, and changes nothing.
    ///
    /// # Errors
    /// A start would be refused.
    pub fn recover(&self, origin: &Origin) -> Result<Recovered, RecoveryError<DatabaseError>> {
        // The first record has the limits. Without one, nothing depends on them.
        self.recovered(origin, &Config::default(), Loss::Refused)
    }

    pub(super) fn recovered(
        &self,
        origin: &Origin,
        config: &Config,
        loss: Loss,
    ) -> Result<Recovered, RecoveryError<DatabaseError>> {
        let look = &mut |_: &_, _, _: &_, _: &_| {};
        recover(&mut &*self, origin, config, loss, look)
    }

    /// The content of the file of marks; empty if it is absent.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn marks(&self) -> io::Result<Vec<u8>> {
        folder::read_marks(&self.folder)
    }
}

impl Store for &JournalReader {
    type Error = DatabaseError;

    fn snapshot(&mut self, number: usize) -> Result<Option<Vec<u8>>, DatabaseError> {
        let positions = self.snapshots()?;
        let position = positions.get(number);
        let file = position.map(|position| JournalReader::snapshot(self, *position));
        Ok(file.transpose()?)
    }

    fn marks(&mut self) -> Result<Vec<u8>, DatabaseError> {
        Ok(JournalReader::marks(self)?)
    }

    fn records(
        &mut self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        Ok(self.database.records(after, take)?)
    }
}

/// The path of the file of marks in a folder.
#[must_use]
pub fn marks_in(folder: &Path) -> PathBuf {
    folder.join("marks")
}

/// The path of a snapshot in a folder.
#[must_use]
pub fn snapshot_in(folder: &Path, position: Position) -> PathBuf {
    folder::snapshot_path(folder, position)
}
