//! Checksums of rows, and checks of the whole file. SQLite has none of its own: it returns a text in
//! which the disk changed a letter.
//!
//! Two functions for statements, beside `scoped`: `row_sum(a, b, …)` is the checksum of these values
//! and their types; `checked(sum, a, b, …)` is 1 if it is `sum`, and otherwise fails as SQLite fails
//! at a damaged page. Where a row was found by an index, the statement passes the values that it
//! searched for, so that a damaged index is detected, too.

use std::path::Path;
use std::time::Duration;

use chat_core::{mix, mix_bytes};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, ffi};

use super::tables::{FORMAT, INDEX, SCHEMA};
use super::words::scoped;
use crate::private::{self, Access};
use crate::sqlite::{exists, value};

/// The checksum of no values: the first digits of the golden ratio.
const EMPTY: u64 = 0x9e37_79b9_7f4a_7c15;

/// How long a reader waits while another program locks the database.
const BUSY: Duration = Duration::from_secs(1);

/// The condition that a row of messages is as it was written.
pub const MESSAGE: &str =
    "checked(sum, id, room, seq, at, user, chosen_id, name, epoch, addressees, text)";
/// The condition for a row of rooms.
pub const ROOM: &str =
    "checked(sum, room, name, position, at) AND checked(end_sum, room, ended_position, ended_at)";
/// The condition for a row of memberships.
pub const MEMBERSHIP: &str =
    "checked(sum, id, user, chosen_id, name, room, from_seq, from_position, from_at)
     AND checked(end_sum, id, to_seq, to_position, to_at)";
/// The condition for the row of the place in the journal.
pub const PLACE: &str = "checked(sum, format, realm, position, link, lost)";

/// A table whose rows are what the journal caused.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) table: &'static str,
    /// The key, by which it is read.
    pub(super) key: &'static str,
    /// The column with the position of the entry that caused a row.
    pub(super) position: &'static str,
    /// All columns but those that triggers fill.
    pub(super) columns: &'static str,
    pub(super) sums: &'static str,
}

pub(super) const KINDS: [Kind; 3] = [
    Kind {
        table: "rooms",
        key: "room",
        position: "position",
        columns: "room, name, position, at, ended_position, ended_at",
        sums: ROOM,
    },
    Kind {
        table: "memberships",
        key: "id",
        position: "from_position",
        columns: "id, user, chosen_id, name, room, from_seq, from_position, from_at, to_seq, \
                  to_position, to_at",
        sums: MEMBERSHIP,
    },
    Kind {
        table: "messages",
        key: "id",
        position: "id",
        columns: "id, room, seq, at, user, chosen_id, name, epoch, addressees, text, sum",
        sums: MESSAGE,
    },
];

/// Opens the file read-only.
///
/// # Errors
/// The file does not exist, or cannot be opened.
pub fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let connection = private::database(path, Access::Read)?;
    connection.busy_timeout(BUSY)?;
    define(&connection)?;
    Ok(connection)
}

/// Defines the functions.
pub(super) fn define(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("scoped", 2, flags, |call| {
        let (room, text) = (call.get_raw(0).as_i64()?, call.get_raw(1).as_str()?);
        Ok(scoped(room, text))
    })?;
    #[cfg(feature = "postgres")]
    connection.create_scalar_function("vector", 2, flags, |call| {
        let (room, text) = (call.get_raw(0).as_i64()?, call.get_raw(1).as_str()?);
        Ok(super::words::vector(room, text))
    })?;
    #[cfg(feature = "postgres")]
    connection.create_scalar_function("printable", 1, flags, |call| {
        // PostgreSQL's texts cannot have the character NUL: its symbol stands in.
        let text = call.get_raw(0).as_str_or_null()?;
        Ok(text.map(|text| text.replace('\0', "\u{2400}")))
    })?;
    connection.create_scalar_function("row_sum", -1, flags, |call| Ok(sum_from(call, 0)))?;
    connection.create_scalar_function("checked", -1, flags, |call| {
        let is_right =
            matches!(call.get_raw(0), ValueRef::Integer(sum) if sum == sum_from(call, 1));
        match is_right {
            true => Ok(1),
            false => Err(corrupt()),
        }
    })
}

/// The checksum of the arguments from this one on.
fn sum_from(call: &Context<'_>, first: usize) -> i64 {
    let sum = (first..call.len()).fold(EMPTY, |sum, index| {
        let add = |kind, bytes: &[u8]| mix_bytes(mix(sum, kind), bytes);
        match call.get_raw(index) {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(number) => add(1, &number.to_le_bytes()),
            ValueRef::Real(number) => add(2, &number.to_le_bytes()),
            ValueRef::Text(text) => add(3, text),
            ValueRef::Blob(bytes) => add(4, bytes),
        }
    });
    i64::from_le_bytes(sum.to_le_bytes())
}

/// The error of a damaged file.
pub(super) fn corrupt() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None)
}

/// Whether the error says that the file is not what was written, and not that it cannot be used now.
#[must_use]
pub fn is_damage(error: &rusqlite::Error) -> bool {
    // The statements are fixed: with sound tables, none fails for another reason.
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::PermissionDenied
                | ErrorCode::OperationAborted
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::OperationInterrupted
                | ErrorCode::SystemIoFailure
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::SchemaChanged
                | ErrorCode::NoLargeFileSupport
                | ErrorCode::AuthorizationForStatementDenied
        )
    )
}

/// What is in the file of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The position up to which it follows the journal.
    pub position: i64,
    /// The number of messages.
    pub messages: i64,
    /// The number of rows that were damaged, and that the journal no longer had.
    pub lost: i64,
}

/// The sentence about a damaged file.
pub const DAMAGED: &str = "the history is damaged; the next start rebuilds it from the journal";

/// What the file has. None if there is no file of this version.
///
/// # Errors
/// What is wrong with it.
pub fn contents(path: &Path) -> Result<Option<Contents>, String> {
    if !path.exists() {
        return Ok(None);
    }
    let read = || -> rusqlite::Result<Option<Contents>> {
        let connection = open_to_read(path)?;
        if !has_sums(&connection)? {
            return Ok(None);
        }
        // All of one moment, beside a server that writes.
        let moment = connection.unchecked_transaction()?;
        let format = format!("SELECT format FROM place WHERE {PLACE}");
        let format: i64 = value(&moment, &format, [])?;
        if format != FORMAT {
            return Ok(None);
        }
        verify_rows(&moment)?;
        let select = "SELECT position, (SELECT count(*) FROM messages), lost FROM place";
        let found = moment.query_row(select, [], |row| {
            Ok(Contents {
                position: row.get(0)?,
                messages: row.get(1)?,
                lost: row.get(2)?,
            })
        });
        found.map(Some)
    };
    read().map_err(|error| match is_damage(&error) {
        true => DAMAGED.into(),
        false => format!("the history cannot be read: {error}"),
    })
}

/// Whether the tables have checksums. Those of older versions have none.
///
/// # Errors
/// The file cannot be read.
pub fn has_sums(connection: &Connection) -> rusqlite::Result<bool> {
    let sum = "SELECT 1 FROM pragma_table_info('place') WHERE name = 'sum'";
    exists(connection, sum, [])
}

/// Checks all, with the index of words. The connection must be one for writing: the index is checked
/// by a statement that SQLite takes for a change.
pub(super) fn verify(connection: &Connection) -> rusqlite::Result<()> {
    verify_rows(connection)?;
    // With the rank 1, the index is compared with the texts.
    let index = "INSERT INTO words (words, rank) VALUES ('integrity-check', 1)";
    connection.execute(index, [])?;
    Ok(())
}

/// Checks the tables, their indices and the checksum of each row.
fn verify_rows(connection: &Connection) -> rusqlite::Result<()> {
    let sound = Connection::open_in_memory()?;
    define(&sound)?;
    sound.execute_batch(SCHEMA)?;
    sound.execute_batch(INDEX)?;
    let mut right = schema(connection)? == schema(&sound)?;
    let whole: String = value(connection, "PRAGMA integrity_check(1)", [])?;
    right &= whole == "ok";
    // Each row is read.
    let count = |table: &str, sums: &str| -> rusqlite::Result<i64> {
        let all = format!("SELECT count(*) FROM {table} WHERE {sums}");
        value(connection, &all, [])
    };
    right &= count("place", PLACE)? == 1;
    for Kind { table, sums, .. } in &KINDS {
        count(table, sums)?;
    }
    match right {
        true => Ok(()),
        false => Err(corrupt()),
    }
}

/// The statements that made the tables.
fn schema(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let select = "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '')
         FROM sqlite_schema ORDER BY name";
    let mut select = connection.prepare(select)?;
    let rows = select.query_map([], |row| row.get(0))?;
    rows.collect()
}
