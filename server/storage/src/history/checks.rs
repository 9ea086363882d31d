//! Checks of the whole file: its tables, the checksum of each row, the index of words.

use std::path::Path;

use rusqlite::Connection;

use super::sums::{KINDS, Kind, PLACE, corrupt, define, is_damage, open_to_read};
use super::tables::{FORMAT, INDEX, SCHEMA};

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
pub const DAMAGED: &str = "the history is damaged; a start builds it anew from the journal";

/// What the file has, or what is wrong with it. None if there is no file of this version.
pub fn contents(path: &Path) -> Option<Result<Contents, String>> {
    if !path.exists() {
        return None;
    }
    let read = || -> rusqlite::Result<Option<Contents>> {
        let connection = open_to_read(path)?;
        if !has_sums(&connection)? {
            return Ok(None);
        }
        // All of one moment, beside a server that writes.
        let moment = connection.unchecked_transaction()?;
        let format = format!("SELECT format FROM place WHERE {PLACE}");
        let format: i64 = moment.query_row(&format, [], |row| row.get(0))?;
        if format != FORMAT {
            return Ok(None);
        }
        verify_rows(&moment)?;
        let select = "SELECT position, (SELECT count(*) FROM messages), lost FROM place";
        moment
            .query_row(select, [], |row| {
                Ok(Contents {
                    position: row.get(0)?,
                    messages: row.get(1)?,
                    lost: row.get(2)?,
                })
            })
            .map(Some)
    };
    match read() {
        Ok(found) => found.map(Ok),
        Err(error) if is_damage(&error) => Some(Err(DAMAGED.into())),
        Err(error) => Some(Err(format!("the history cannot be read: {error}"))),
    }
}

/// Whether the tables have checksums. Those of older versions have none.
///
/// # Errors
/// The file cannot be read.
pub fn has_sums(connection: &Connection) -> rusqlite::Result<bool> {
    let sum = "SELECT 1 FROM pragma_table_info('place') WHERE name = 'sum'";
    connection.prepare(sum)?.exists([])
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
    let whole: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    right &= whole == "ok";
    // Each row is read.
    let count = |table: &str, sums: &str| -> rusqlite::Result<i64> {
        let all = format!("SELECT count(*) FROM {table} WHERE {sums}");
        connection.query_row(&all, [], |row| row.get(0))
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
