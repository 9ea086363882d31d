//! What all databases of SQLite share.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Params};

/// SQLite's integers are signed; positions, places and instants never become that large.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A stored number; a negative one was never written, and becomes 0.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The size of the tables. Deleted rows leave room for new ones.
pub(crate) fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let bytes = "SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    value(connection, bytes, []).map(unsigned)
}

/// Copies the whole WAL into the database and empties it. False if a reader prevented it.
pub(crate) fn empty_wal(connection: &Connection) -> rusqlite::Result<bool> {
    let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = value(connection, truncate, [])?;
    Ok(busy == 0)
}

/// The first column of the only row of this query.
pub(crate) fn value<T: FromSql>(
    connection: &Connection,
    query: &str,
    given: impl Params,
) -> rusqlite::Result<T> {
    let mut query = connection.prepare_cached(query)?;
    query.query_row(given, |row| row.get(0))
}

/// Whether this query has a row.
pub(crate) fn exists(
    connection: &Connection,
    query: &str,
    given: impl Params,
) -> rusqlite::Result<bool> {
    connection.prepare_cached(query)?.exists(given)
}

/// Executes a statement that is used again. Returns the number of changed rows.
pub(crate) fn execute(
    connection: &Connection,
    statement: &str,
    given: impl Params,
) -> rusqlite::Result<u64> {
    let changed = connection.prepare_cached(statement)?.execute(given)?;
    Ok(changed as u64)
}
