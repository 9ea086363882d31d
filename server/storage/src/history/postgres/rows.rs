//! Rows of `history.db`, to be copied.

use std::path::Path;

use rusqlite::Connection;

use crate::history::sums::{KINDS, Kind, PLACE, open_to_read};

/// The largest number of messages that one transaction copies.
const MESSAGES: i64 = 500;

/// Rows of the file after one position, up to another one.
#[derive(Debug)]
pub(super) struct Rows {
    /// The last position.
    pub(super) end: i64,
    /// The link of the journal there, if a record ends there.
    pub(super) link: Option<Vec<u8>>,
    /// The rows of each of `KINDS`, as a JSON list.
    pub(super) tables: Vec<String>,
}

/// The next rows after this position, or none if the file has none.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub(super) fn read(file: &Path, after: i64) -> rusqlite::Result<Option<Rows>> {
    let connection = open_to_read(file)?;
    // All of one moment, beside the follower, which writes.
    let moment = connection.unchecked_transaction()?;
    let place = format!("SELECT position, link FROM place WHERE {PLACE}");
    let (mut end, mut link): (i64, Option<Vec<u8>>) =
        moment.query_row(&place, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if end <= after {
        return Ok(None);
    }
    let last = "SELECT max(id), count(*) FROM
        (SELECT id FROM messages WHERE id > ?1 AND id <= ?3 ORDER BY id LIMIT ?2)";
    let last = moment.query_row(last, [after, MESSAGES, end], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    if let (Some(last), MESSAGES) = last {
        link = link.filter(|_| last == end);
        end = last;
    }
    let tables = KINDS.iter().map(|kind| list(kind, &moment, after, end));
    let tables = tables.collect::<rusqlite::Result<_>>()?;
    Ok(Some(Rows { end, link, tables }))
}

/// The rows of a table that began or ended after one position, up to another one: JSON objects with the
/// columns of the copy.
fn list(kind: &Kind, file: &Connection, after: i64, end: i64) -> rusqlite::Result<String> {
    let mut columns: Vec<String> = kind
        .columns
        .split(", ")
        .map(|column| match column {
            "user" => "'participant', user".into(),
            "chosen_id" | "name" | "text" => format!("'{column}', printable({column})"),
            _ => format!("'{column}', {column}"),
        })
        .collect();
    if kind.table == "messages" {
        columns.push("'words', vector(room, text)".into());
    }
    let ends = ["ended_position", "to_position"].into_iter();
    let ends = ends.filter(|end| kind.columns.contains(end));
    let is_new = |column: &str| format!("({column} > ?1 AND {column} <= ?2)");
    let is_new: Vec<_> = [kind.position]
        .into_iter()
        .chain(ends)
        .map(is_new)
        .collect();
    let select = format!(
        "SELECT json_group_array(json_object({})) FROM {} WHERE ({}) AND {}",
        columns.join(", "),
        kind.table,
        is_new.join(" OR "),
        kind.sums
    );
    file.query_row(&select, [after, end], |row| row.get(0))
}
