//! What all databases of SQLite share.

use rusqlite::Connection;

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
    let mut bytes = connection.prepare_cached(bytes)?;
    Ok(unsigned(bytes.query_row([], |row| row.get(0))?))
}

/// Copies the whole WAL into the database and empties it. False if a reader prevented it.
pub(crate) fn empty_wal(connection: &Connection) -> rusqlite::Result<bool> {
    let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = connection.query_row(truncate, [], |row| row.get(0))?;
    Ok(busy == 0)
}
