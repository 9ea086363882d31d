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

use chat_core::{Config, Continuity, Entry, Implied, Operate, Position, Time};
#[cfg(feature = "cluster")]
use chat_journal::Record;
use chat_journal::{Identity, Loss, Origin, Recovered, RecoveryError, Store, recover};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, ToSql, params};
use server_settings::Durability;

use super::folder;
use crate::private::{self, Access};
use crate::random;
use crate::sqlite::{bytes, empty_wal, execute, exists, signed, unsigned, value};

/// The largest number of records of one read.
const RECORDS: usize = 512;

/// The size of records after which a read ends.
const BYTES: usize = 4 << 20;

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
    /// A file beside it cannot be read.
    #[error("{}", server_settings::os_error::reason(_0))]
    File(#[from] io::Error),
    /// The stored identity is incomplete.
    #[error("the row that says which journal it is has been lost or damaged")]
    Identity,
    /// The system provides no randomness for a new identity.
    #[error("the machine has no randomness to make secrets of: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// An open journal. Outside of this module it is only read.
///
/// A read takes a few records and ends, so that it does not keep the writer from emptying its WAL.
#[derive(Debug)]
pub struct Database {
    folder: PathBuf,
    connection: Connection,
    /// The size to which the WAL grows before a checkpoint.
    wal_bytes: Cell<u64>,
}

impl Database {
    /// Opens the journal in this folder for writing, and creates it if it is absent.
    pub(super) fn open_to_write(
        folder: &Path,
        durability: Durability,
    ) -> Result<Self, DatabaseError> {
        assert!(
            rusqlite::version_number() >= LEAST_SQLITE,
            "the SQLite that is compiled in is too old"
        );
        let connection = private::database(&folder::database_in(folder), Access::Write)?;
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
        Ok(Self::of(folder, connection))
    }

    /// Opens the journal in this folder read-only, also while the server writes it. Unlike one for writing,
    /// such a connection leaves the WAL as it is when it closes.
    ///
    /// # Errors
    /// It is absent, or no database.
    pub fn open(folder: &Path) -> Result<Self, DatabaseError> {
        let connection = private::database(&folder::database_in(folder), Access::Read)?;
        connection.busy_timeout(BUSY)?;
        Ok(Self::of(folder, connection))
    }

    /// Opens the journal as [`Database::open`], or a new one in memory if it is absent, or a crash ended its
    /// creation before its tables were committed.
    pub(super) fn open_or_empty(folder: &Path) -> Result<Self, DatabaseError> {
        if folder::database_in(folder).exists() {
            let database = Self::open(folder)?;
            if exists(&database.connection, "SELECT 1 FROM sqlite_schema", [])? {
                return Ok(database);
            }
        }
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self::of(folder, connection))
    }

    fn of(folder: &Path, connection: Connection) -> Self {
        Self {
            folder: folder.into(),
            connection,
            wal_bytes: Cell::new(WAL_BYTES),
        }
    }

    /// The size of the records, and of what belongs to them.
    pub(super) fn bytes(&self) -> rusqlite::Result<u64> {
        bytes(&self.connection)
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

    /// The identity of the journal; none if a crash ended its creation.
    pub(super) fn identity(&self) -> Result<Option<Identity>, DatabaseError> {
        use rusqlite::Error;
        let read = "SELECT realm, seed, secret FROM identity";
        let found = self.connection.query_row(read, [], |row| {
            Ok(Identity {
                realm: u128::from_le_bytes(row.get(0)?),
                seed: u64::from_le_bytes(row.get(1)?),
                secret: row.get(2)?,
            })
        });
        match found {
            // A journal with records must have an identity.
            Err(Error::QueryReturnedNoRows) if self.first_after(Position(0))?.is_none() => Ok(None),
            Err(
                Error::QueryReturnedNoRows
                | Error::FromSqlConversionFailure(..)
                | Error::InvalidColumnType(..),
            ) => Err(DatabaseError::Identity),
            found => Ok(Some(found?)),
        }
    }

    /// Stores the identity of a new journal.
    pub(super) fn set_identity(&self, identity: &Identity) -> Result<(), DatabaseError> {
        let insert = "INSERT INTO identity (realm, seed, secret) VALUES (?1, ?2, ?3)";
        let (realm, seed) = (identity.realm.to_le_bytes(), identity.seed.to_le_bytes());
        let identity = params![realm, seed, identity.secret];
        self.connection.execute(insert, identity)?;
        Ok(())
    }

    /// The key of the first record after this position.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn first_after(&self, after: Position) -> Result<Option<Position>, DatabaseError> {
        let first = "SELECT min(first) FROM journal WHERE first > ?1";
        let first: Option<i64> = value(&self.connection, first, [signed(after.0)])?;
        Ok(first.map(|first| Position(unsigned(first))))
    }

    /// Appends a record, in a separate transaction, and beside it its instant and the kinds of its
    /// entries.
    pub(super) fn append(
        &self,
        first: Position,
        record: &[u8],
        (at, entries): (Time, &[Entry]),
    ) -> Result<(), rusqlite::Error> {
        let insert = "INSERT INTO journal (first, record, at, kinds) VALUES (?1, ?2, ?3, ?4)";
        let row = params![signed(first.0), record, signed(at.0), kinds(entries)];
        execute(&self.connection, insert, row)?;
        Ok(())
    }

    /// Appends records of a cluster's log, and replaces the place in it, in one transaction.
    #[cfg(feature = "cluster")]
    pub(super) fn append_kept(
        &self,
        records: &[(Record, &[u8])],
        place: &[u8],
    ) -> Result<(), DatabaseError> {
        let transaction = self.connection.unchecked_transaction()?;
        for (record, bytes) in records {
            self.append(record.first, bytes, (record.at, &record.entries))?;
        }
        self.set_log_place(place)?;
        Ok(transaction.commit()?)
    }

    /// Replaces the place in the log of a cluster.
    #[cfg(feature = "cluster")]
    pub(super) fn set_log_place(&self, place: &[u8]) -> Result<(), DatabaseError> {
        Ok(self.set_one("log_place", "place BLOB", &place)?)
    }

    /// The place in the log of a cluster, of which the journal is a copy; none if it is not.
    #[cfg(feature = "cluster")]
    pub(super) fn log_place(&self) -> rusqlite::Result<Option<Vec<u8>>> {
        if !self.is_copy_of_log()? {
            return Ok(None);
        }
        value(&self.connection, "SELECT place FROM log_place", []).optional()
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
        exists(&self.connection, table, [name])
    }

    /// Notes that a life was lost behind this position: at a restore, or when the loss of what came
    /// behind was accepted. A journal that has gone on since has passed its numbers.
    pub(super) fn set_lost_life(&self, position: Position) -> rusqlite::Result<()> {
        self.set_one("lost_life", "position INTEGER", &signed(position.0))
    }

    /// Replaces the only row of this table, which is made if it is absent, with this column.
    fn set_one(&self, table: &str, column: &str, value: &dyn ToSql) -> rusqlite::Result<()> {
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {table} (
                 one INTEGER PRIMARY KEY CHECK (one = 1), {column} NOT NULL
             ) STRICT"
        );
        self.connection.execute(&create, [])?;
        let replace = format!("INSERT OR REPLACE INTO {table} VALUES (1, ?1)");
        self.connection.execute(&replace, [value])?;
        Ok(())
    }

    /// Whether a life was lost behind `end`, the end of the journal.
    pub(super) fn continuity(&self, end: Position) -> rusqlite::Result<Continuity> {
        if !self.has_table("lost_life")? {
            return Ok(Continuity::Whole);
        }
        let lost = "SELECT 1 FROM lost_life WHERE position = ?1";
        Ok(match exists(&self.connection, lost, [signed(end.0)])? {
            true => Continuity::Broken,
            false => Continuity::Whole,
        })
    }

    /// The record with this key.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn record(&self, first: Position) -> rusqlite::Result<Option<Vec<u8>>> {
        let select = "SELECT record FROM journal WHERE first = ?1";
        value(&self.connection, select, [signed(first.0)]).optional()
    }

    /// Deletes the oldest records up to this position, at most `most`, and returns their number.
    pub(super) fn delete_to(&self, end: Position, most: u64) -> Result<u64, rusqlite::Error> {
        let delete = "DELETE FROM journal WHERE first IN
             (SELECT first FROM journal WHERE first <= ?1 ORDER BY first LIMIT ?2)";
        execute(&self.connection, delete, [signed(end.0), signed(most)])
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
            from = signed(from.0),
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
    pub(super) fn truncate(&self) -> rusqlite::Result<bool> {
        empty_wal(&self.connection)
    }

    /// The next records after this position, with their keys.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batch(&self, after: Position) -> Result<Vec<(Position, Vec<u8>)>, DatabaseError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        let mut store = self;
        store.records(after, &mut |key, record| {
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
        let next = self.first_after(position)?;
        // Without a later record, the end of the last one is not known.
        let select = "SELECT record FROM journal WHERE first <= ?1 ORDER BY first DESC LIMIT 1";
        let record: Option<Vec<u8>> =
            value(&self.connection, select, [signed(position.0)]).optional()?;
        let (Some(next), Some(record)) = (next, record) else {
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
        private::read(&folder::snapshot_in(&self.folder, position))
    }

    /// The beginning of the journal.
    ///
    /// # Errors
    /// It cannot be read, or is absent.
    pub fn origin(&self) -> Result<Origin, DatabaseError> {
        let identity = self.identity()?.ok_or(DatabaseError::Identity)?;
        Ok(identity.origin())
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

impl Store for &Database {
    type Error = DatabaseError;

    fn snapshot(&mut self, number: usize) -> Result<Option<Vec<u8>>, DatabaseError> {
        let positions = self.snapshots()?;
        let position = positions.get(number);
        let file = position.map(|position| Database::snapshot(self, *position));
        Ok(file.transpose()?)
    }

    fn marks(&mut self) -> Result<Vec<u8>, DatabaseError> {
        Ok(Database::marks(self)?)
    }

    fn records(
        &mut self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        let select = "SELECT first, record FROM journal WHERE first > ?1 ORDER BY first";
        let mut select = self.connection.prepare(select)?;
        let mut rows = select.query([signed(after.0)])?;
        while let Some(row) = rows.next()? {
            let first = Position(unsigned(row.get(0)?));
            let record = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            if take(first, record).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Draws the identity of a new journal, or of the log of a new cluster.
///
/// # Errors
/// The operating system has no random numbers.
pub fn new_identity() -> Result<Identity, getrandom::Error> {
    Ok(Identity {
        realm: u128::from_le_bytes(random()?),
        seed: u64::from_le_bytes(random()?),
        secret: random()?,
    })
}

/// Whether an append with this error has certainly written nothing.
pub(super) fn is_certain(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::ReadOnly | ErrorCode::DatabaseBusy)
    )
}

/// The kinds of a batch's entries, for the eyes of people with ordinary tools: a JSON list, in the order of
/// the entries.
fn kinds(entries: &[Entry]) -> String {
    let kinds: Vec<_> = entries.iter().map(kind).collect();
    format!("[\"{}\"]", kinds.join("\",\""))
}

const fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Call { command, .. } => command.tool(),
        Entry::Implied { implied, .. } => match implied {
            Implied::OpenStream => "stream.opened",
            Implied::CloseStream => "stream.closed",
            Implied::Seen { .. } => "seen",
            Implied::Read { .. } => "read",
        },
        Entry::Operate { act, .. } => of_act(act),
        Entry::Tick => "tick",
        Entry::Started { .. } => "started",
        Entry::Resumed { .. } => "resumed",
        Entry::Stepped => "stepped",
    }
}

const fn of_act(act: &Operate) -> &'static str {
    match act {
        Operate::Mute { .. } => "operator.mute",
        Operate::Unmute { .. } => "operator.unmute",
        Operate::Kick { .. } => "operator.kick",
        Operate::Close { .. } => "operator.close",
        Operate::BanUser { .. } => "operator.ban",
        Operate::MuteAddress { .. } => "operator.mute_address",
        Operate::BanAddress { .. } => "operator.ban_address",
        Operate::Unban { .. } => "operator.unban",
        Operate::UnbanAddress { .. } => "operator.unban_address",
    }
}
