//! Stores the records in SQLite: one row for each batch, with the position of its first entry as
//! key.
//!
//! SQLite commits a row completely or not at all, and its tools back up and inspect the file. It
//! does not detect missing rows: the recovery of a WAL stops at the first damaged frame, and its
//! pages have no checksums. `chat-journal` therefore checks checksums, the chain and contiguity.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chat_core::{Continuity, Position, Time};
use chat_journal::Identity;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use server_settings::Durability;

use crate::private::{self, Access};

/// The oldest SQLite in which a WAL reset loses nothing (3.51.3).
const LEAST_SQLITE: i32 = 3_051_003;

const SCHEMA: &str = "
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS identity (
        realm BLOB NOT NULL, seed BLOB NOT NULL, secret BLOB NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS journal (
        first INTEGER PRIMARY KEY, record BLOB NOT NULL, at INTEGER, kinds TEXT
    ) STRICT;
    -- For people: a row for each entry. The server reads the records alone.
    CREATE VIEW IF NOT EXISTS journal_v AS
        SELECT first + entry.key AS position,
            strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000000.0, 'unixepoch') AS time,
            entry.value AS kind
        FROM journal, json_each(kinds) AS entry;
    COMMIT;
";

/// The one row says up to which place in the log of a cluster the journal is a copy of it.
#[cfg(feature = "cluster")]
const LOG_PLACE: &str = "CREATE TABLE IF NOT EXISTS log_place (
    one INTEGER PRIMARY KEY CHECK (one = 1), place BLOB NOT NULL
) STRICT;";

/// The one row says where the journal ended when a life of the server was lost: at a restore, or when
/// the loss of what came behind was accepted. A journal that has gone on since has passed its numbers.
const LOST_LIFE: &str = "CREATE TABLE IF NOT EXISTS lost_life (
    one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL
) STRICT;";

/// The size that the file of the WAL has from the first batch on. A write that does not make a file
/// longer is synced without the file system's own journal, which takes several times as long, and up
/// to a hundred times while all cores are in use.
const WAL_BYTES: u64 = 8 << 20;

/// The size of a page, and of its head in the WAL.
const PAGE: u64 = 4_096 + 24;

/// How long another program may lock the database before a commit fails.
const BUSY: Duration = Duration::from_secs(5);

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// An error of SQLite.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The stored identity is incomplete.
    #[error("the row that says which journal it is has been lost or damaged")]
    Identity,
    /// The system provides no randomness for a new identity.
    #[error("the machine has no randomness to make secrets of: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// A record of a cluster's log, to be kept.
#[cfg(feature = "cluster")]
#[derive(Clone, Debug)]
pub(super) struct KeptRow {
    pub(super) first: Position,
    pub(super) record: std::sync::Arc<[u8]>,
    /// Its instant, and the kinds of its entries.
    pub(super) at: Time,
    pub(super) kinds: String,
}

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    /// The size to which the WAL grows before a checkpoint.
    wal_bytes: Cell<u64>,
}

impl Database {
    /// Opens the file for writing, and creates it if it is absent.
    pub(super) fn open(path: &Path, durability: Durability) -> Result<Self, DatabaseError> {
        assert!(
            rusqlite::version_number() >= LEAST_SQLITE,
            "the SQLite that is compiled in is too old"
        );
        let connection = private::database(path, Access::Write)?;
        connection.busy_timeout(BUSY)?;
        let synchronous = match durability {
            Durability::Fsync => "FULL",
            Durability::Os => "NORMAL",
        };
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        // Checkpoints are made between batches, when no call waits for them.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self::of(connection))
    }

    /// Opens the file read-only, also while the server writes it. Unlike one for writing, such a
    /// connection leaves the WAL as it is when it closes.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, DatabaseError> {
        let connection = private::database(path, Access::Read)?;
        connection.busy_timeout(BUSY)?;
        Ok(Self::of(connection))
    }

    const fn of(connection: Connection) -> Self {
        Self {
            connection,
            wal_bytes: Cell::new(WAL_BYTES),
        }
    }

    /// The size of the records, and of what belongs to them. Deleted ones leave room for new ones.
    pub(super) fn bytes(&self) -> rusqlite::Result<u64> {
        let bytes = "SELECT (page_count - freelist_count) * page_size
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let mut bytes = self.connection.prepare_cached(bytes)?;
        let bytes: i64 = bytes.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Writes zeros behind the end of the WAL, up to its usual size, of which a small disk with so much
    /// free space has less. SQLite takes them for the rest of an older WAL. A checkpoint lets it write
    /// from the beginning again.
    pub(super) fn reserve(&self, free: u64) -> io::Result<()> {
        let Some(wal) = self.wal() else {
            return Ok(());
        };
        self.wal_bytes.set(WAL_BYTES.min(free / 8));
        let mut wal = private::open(&wal, File::options().write(true))?;
        let end = wal.seek(SeekFrom::End(0))?;
        let zeros = self.wal_bytes.get().saturating_sub(end);
        let zeros = usize::try_from(zeros).unwrap_or(0);
        wal.write_all(&vec![0; zeros])?;
        wal.sync_all()
    }

    /// Whether a checkpoint is due when these records, of this size altogether, are in the WAL.
    pub(super) const fn is_full(&self, records: u64, bytes: u64) -> bool {
        // A record takes part of a page, often its parent, and pages of its own if it is long.
        bytes / 4_096 * PAGE + records * 2 * PAGE > self.wal_bytes.get()
    }

    fn wal(&self) -> Option<PathBuf> {
        let path = self.connection.path()?;
        Some(PathBuf::from(format!("{path}-wal")))
    }

    /// Whether the WAL is far longer than usual: a reader kept the writer from its beginning.
    pub(super) fn is_wal_long(&self) -> bool {
        let bytes = self.wal().and_then(|wal| wal.metadata().ok());
        bytes.is_some_and(|wal| wal.len() > 2 * WAL_BYTES)
    }

    /// Whether a crash ended the creation of the file before its tables were committed.
    pub(super) fn is_empty(&self) -> Result<bool, rusqlite::Error> {
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = self.connection.query_row(tables, [], |row| row.get(0))?;
        Ok(tables == 0)
    }

    /// The identity of the journal; none if a crash ended its creation.
    pub(super) fn identity(&self) -> Result<Option<Identity>, DatabaseError> {
        let read = "SELECT realm, seed, secret FROM identity";
        let found = self
            .connection
            .query_row(read, [], |row| {
                Ok((
                    row.get::<_, Vec<u8>>(0)?,
                    row.get::<_, Vec<u8>>(1)?,
                    row.get::<_, Vec<u8>>(2)?,
                ))
            })
            .optional()?;
        let Some((realm, seed, secret)) = found else {
            // A journal with records must have an identity.
            return match self.last_first()? {
                Some(_) => Err(DatabaseError::Identity),
                None => Ok(None),
            };
        };
        let whole = |(realm, seed, secret): (Vec<u8>, Vec<u8>, Vec<u8>)| {
            Some(Identity {
                realm: u128::from_le_bytes(realm.try_into().ok()?),
                seed: u64::from_le_bytes(seed.try_into().ok()?),
                secret: secret.try_into().ok()?,
            })
        };
        let identity = whole((realm, seed, secret)).ok_or(DatabaseError::Identity)?;
        Ok(Some(identity))
    }

    /// Stores the identity of a new journal.
    pub(super) fn set_identity(&self, identity: &Identity) -> Result<(), rusqlite::Error> {
        let insert = "INSERT INTO identity (realm, seed, secret) VALUES (?1, ?2, ?3)";
        let (realm, seed) = (identity.realm.to_le_bytes(), identity.seed.to_le_bytes());
        self.connection
            .execute(insert, params![realm, seed, identity.secret])?;
        Ok(())
    }

    /// The key of the last record.
    pub(super) fn last_first(&self) -> Result<Option<Position>, rusqlite::Error> {
        let last = "SELECT max(first) FROM journal";
        let found: Option<i64> = self.connection.query_row(last, [], |row| row.get(0))?;
        Ok(found.map(position))
    }

    /// Appends a record, in a separate transaction. `at` and `kinds` repeat its instant and the
    /// kinds of its entries.
    pub(super) fn append(
        &self,
        first: Position,
        record: &[u8],
        (at, kinds): (Time, &str),
    ) -> Result<(), rusqlite::Error> {
        let insert = "INSERT INTO journal (first, record, at, kinds) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.connection.prepare_cached(insert)?;
        let at = i64::try_from(at.0).unwrap_or(i64::MAX);
        insert.execute(params![key(first), record, at, kinds])?;
        Ok(())
    }

    /// Appends records of a cluster's log, and replaces the place in it, in one transaction.
    #[cfg(feature = "cluster")]
    pub(super) fn append_kept(&self, rows: &[KeptRow], place: &[u8]) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        for KeptRow {
            first,
            record,
            at,
            kinds,
        } in rows
        {
            self.append(*first, record, (*at, kinds))?;
        }
        self.set_log_place(place)?;
        transaction.commit()
    }

    /// Replaces the place in the log of a cluster.
    #[cfg(feature = "cluster")]
    pub(super) fn set_log_place(&self, place: &[u8]) -> rusqlite::Result<()> {
        self.connection.execute_batch(LOG_PLACE)?;
        let replace = "INSERT INTO log_place (one, place) VALUES (1, ?1)
             ON CONFLICT DO UPDATE SET place = excluded.place";
        self.connection.execute(replace, [place])?;
        Ok(())
    }

    /// The place in the log of a cluster, of which the journal is a copy; none if it is not.
    #[cfg(feature = "cluster")]
    pub(super) fn log_place(&self) -> rusqlite::Result<Option<Vec<u8>>> {
        if !self.is_copy_of_log()? {
            return Ok(None);
        }
        let place = "SELECT place FROM log_place";
        self.connection
            .query_row(place, [], |row| row.get(0))
            .optional()
    }

    /// Whether the journal is a copy of the log of a cluster.
    pub(super) fn is_copy_of_log(&self) -> rusqlite::Result<bool> {
        self.has_table("log_place")
    }

    /// Forgets the place in the log of a cluster: the journal goes on without it.
    pub(super) fn forget_log_place(&self) -> rusqlite::Result<()> {
        self.connection
            .execute_batch("DROP TABLE IF EXISTS log_place")
    }

    fn has_table(&self, name: &str) -> rusqlite::Result<bool> {
        let table = "SELECT 1 FROM sqlite_schema WHERE name = ?1";
        self.connection.prepare(table)?.exists([name])
    }

    /// Notes that a life was lost behind this position.
    pub(super) fn set_lost_life(&self, position: Position) -> rusqlite::Result<()> {
        self.connection.execute_batch(LOST_LIFE)?;
        let replace = "INSERT INTO lost_life (one, position) VALUES (1, ?1)
             ON CONFLICT DO UPDATE SET position = excluded.position";
        self.connection.execute(replace, [key(position)])?;
        Ok(())
    }

    /// Whether a life was lost behind `end`, the end of the journal.
    pub(super) fn continuity(&self, end: Position) -> rusqlite::Result<Continuity> {
        if !self.has_table("lost_life")? {
            return Ok(Continuity::Whole);
        }
        let lost = "SELECT 1 FROM lost_life WHERE position = ?1";
        let lost = self.connection.prepare(lost)?.exists([key(end)])?;
        Ok(match lost {
            true => Continuity::Broken,
            false => Continuity::Whole,
        })
    }

    /// The record with this key.
    pub(super) fn record(&self, first: Position) -> Result<Option<Vec<u8>>, rusqlite::Error> {
        let select = "SELECT record FROM journal WHERE first = ?1";
        self.connection
            .query_row(select, [key(first)], |row| row.get(0))
            .optional()
    }

    /// The record of the last entry up to this position, if the journal goes back to it.
    #[cfg(feature = "postgres")]
    pub(super) fn record_of(&self, position: Position) -> rusqlite::Result<Option<Vec<u8>>> {
        let select = "SELECT record FROM journal WHERE first <= ?1 ORDER BY first DESC LIMIT 1";
        self.connection
            .query_row(select, [key(position)], |row| row.get(0))
            .optional()
    }

    /// Passes the records after this position to `take`, in order.
    pub(super) fn records(
        &self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), rusqlite::Error> {
        let select = "SELECT first, record FROM journal WHERE first > ?1 ORDER BY first";
        let mut select = self.connection.prepare(select)?;
        let mut rows = select.query([key(after)])?;
        while let Some(row) = rows.next()? {
            let first = position(row.get(0)?);
            let record = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            if take(first, record).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Deletes the oldest records up to this position, at most `most`, and returns their number.
    pub(super) fn delete_to(&self, end: Position, most: u64) -> Result<u64, rusqlite::Error> {
        let delete = "DELETE FROM journal WHERE first IN
             (SELECT first FROM journal WHERE first <= ?1 ORDER BY first LIMIT ?2)";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let deleted = self
            .connection
            .prepare_cached(delete)?
            .execute(params![key(end), most])?;
        Ok(deleted as u64)
    }

    /// Moves the records from this position on into a separate table.
    pub(super) fn set_aside(&self, from: Position) -> Result<(), rusqlite::Error> {
        let aside = format!("lost_{}", from.0);
        self.connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS {aside} (first INTEGER NOT NULL, record BLOB NOT NULL) STRICT;
             INSERT INTO {aside} SELECT first, record FROM journal WHERE first >= {from};
             DELETE FROM journal WHERE first >= {from};
             COMMIT;",
            from = key(from),
        ))
    }

    /// Copies the WAL into the database, as far as readers allow. If that is all of it, the next
    /// record is written to the beginning of the WAL. One that is far longer than usual is emptied, if
    /// no reader holds it now. Returns whether that was done.
    pub(super) fn checkpoint(&self) -> Result<bool, rusqlite::Error> {
        let passive = "PRAGMA wal_checkpoint(PASSIVE)";
        self.connection.query_row(passive, [], |_| Ok(()))?;
        if !self.is_wal_long() {
            return Ok(false);
        }
        // Not waiting for readers, because calls wait.
        self.connection.busy_timeout(Duration::ZERO)?;
        let emptied = self.truncate();
        self.connection.busy_timeout(BUSY)?;
        emptied
    }

    /// Copies the whole WAL into the database and empties it. False if a reader prevented it.
    pub(super) fn truncate(&self) -> Result<bool, rusqlite::Error> {
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = self.connection.query_row(truncate, [], |row| row.get(0))?;
        Ok(busy == 0)
    }
}

/// Draws the identity of a new journal, or of the log of a new cluster.
///
/// # Errors
/// The operating system has no random numbers.
pub fn new_identity() -> Result<Identity, getrandom::Error> {
    let (mut realm, mut seed, mut secret) = ([0; 16], [0; 8], [0; 32]);
    for drawn in [&mut realm[..], &mut seed, &mut secret] {
        getrandom::fill(drawn)?;
    }
    Ok(Identity {
        realm: u128::from_le_bytes(realm),
        seed: u64::from_le_bytes(seed),
        secret,
    })
}

/// Whether an append with this error has certainly written nothing.
pub(super) fn is_certain(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::ReadOnly | ErrorCode::DatabaseBusy)
    )
}

/// SQLite's integers are signed; positions never become that large.
fn key(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

/// A key below 1 is no position, and becomes 0, which no record has.
fn position(key: i64) -> Position {
    Position(u64::try_from(key).unwrap_or(0))
}
