//! Reads a journal beside the server that writes it: records and snapshots.
//!
//! A read takes a few records and ends, so that it does not keep the writer from emptying its WAL.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use chat_core::{Config, Position};
use chat_journal::{Loss, Origin, Recovered, RecoveryError, Store, recover};

use super::database::{Database, DatabaseError};
use super::folder;

/// The largest number of records of one read.
const RECORDS: usize = 512;

/// The size of records after which a read ends.
const BYTES: usize = 4 << 20;

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An error of SQLite.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A file cannot be read.
    #[error("{}", server_settings::os_error::reason(_0))]
    File(#[from] std::io::Error),
}

/// A journal, open for reading.
#[derive(Debug)]
pub struct JournalReader {
    folder: PathBuf,
    database: Database,
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

    /// The key of the oldest record.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn first(&self) -> Result<Option<Position>, rusqlite::Error> {
        let mut first = None;
        self.database.records(Position(0), &mut |key, _| {
            first = Some(key);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// The record with this key.
    ///
    /// # Errors
    /// It cannot be read.
    #[cfg(feature = "cluster")]
    pub fn record(&self, first: Position) -> Result<Option<Vec<u8>>, rusqlite::Error> {
        self.database.record(first)
    }

    /// The next records after this position, with their keys.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batch(&self, after: Position) -> Result<Vec<(Position, Vec<u8>)>, rusqlite::Error> {
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

    /// The link of the record that ends at this position.
    ///
    /// # Errors
    /// The journal cannot be read.
    #[cfg(feature = "postgres")]
    pub fn link_at(&self, position: Position) -> Result<LinkAt, rusqlite::Error> {
        let mut next = None;
        self.database.records(position, &mut |key, _| {
            next = Some(key);
            ControlFlow::Break(())
        })?;
        let record = self.database.record_of(position)?;
        Ok(match (next, record) {
            // Without a later record, the end of the last one is not known.
            (None, _) | (_, None) => LinkAt::Unknown,
            (Some(next), Some(record)) if next == position.next() => {
                let link = record.len().saturating_sub(size_of::<[u64; 2]>());
                LinkAt::Known(record[link..].to_vec())
            }
            (Some(_), Some(_)) => LinkAt::Elsewhere,
        })
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
        let identity = self.database.identity()?.ok_or(DatabaseError::Identity)?;
        Ok(identity.origin())
    }

    /// Recovers the state as a start would, and changes nothing.
    ///
    /// # Errors
    /// A start would be refused.
    pub fn recover(&self, origin: &Origin) -> Result<Recovered, RecoveryError<ReadError>> {
        let mut stored = Stored {
            folder: &self.folder,
            database: Some(&self.database),
        };
        let look = &mut |_: &_, _, _: &_, _: &_| {};
        // The first record has the limits. Without one, nothing depends on them.
        recover(&mut stored, origin, &Config::default(), Loss::Refused, look)
    }

    /// The content of the file of marks; empty if it is absent.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn marks(&self) -> io::Result<Vec<u8>> {
        folder::read_marks(&self.folder)
    }
}

/// A link of the journal.
#[cfg(feature = "postgres")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkAt {
    /// The link at the position.
    Known(Vec<u8>),
    /// No record ends at the position.
    Elsewhere,
    /// The journal does not have the position, or ends there.
    Unknown,
}

/// A folder with its database, for reading. A new folder has none.
pub(super) struct Stored<'f> {
    pub(super) folder: &'f Path,
    pub(super) database: Option<&'f Database>,
}

impl Store for Stored<'_> {
    type Error = ReadError;

    fn snapshot(&mut self, number: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let positions = folder::snapshots(self.folder)?;
        let Some(position) = positions.get(number) else {
            return Ok(None);
        };
        Ok(Some(folder::read_snapshot(self.folder, *position)?))
    }

    fn marks(&mut self) -> Result<Vec<u8>, ReadError> {
        Ok(folder::read_marks(self.folder)?)
    }

    fn records(
        &mut self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        if let Some(database) = self.database {
            database.records(after, take)?;
        }
        Ok(())
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
