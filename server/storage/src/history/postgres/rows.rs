//! Rows of `history.db`, to be copied.

use std::path::Path;

use rusqlite::{Connection, params};
use tokio_postgres::types::ToSql;

use crate::history::sums::{MEMBERSHIP, MESSAGE, PLACE, ROOM, open_to_read};

/// The largest number of messages that one transaction copies.
const MESSAGES: i64 = 500;

/// A table that is copied.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// The columns of the file, in the order of the copy's.
    columns: &'static [&'static str],
    /// Whether the entry that caused a row, or its end, is after position ?1 and not after ?2.
    is_new: &'static str,
    /// The condition that a row is as it was written.
    sums: &'static str,
    /// What becomes of a row that the copy has.
    pub(super) conflict: &'static str,
}

/// The tables. The last one is that of messages.
pub(super) const TABLES: [Table; 3] = [
    Table {
        name: "rooms",
        columns: &[
            "room",
            "name",
            "position",
            "at",
            "ended_position",
            "ended_at",
        ],
        is_new: "((position > ?1 AND position <= ?2)
                  OR (ended_position > ?1 AND ended_position <= ?2))",
        sums: ROOM,
        conflict: "(room) DO UPDATE
            SET ended_position = excluded.ended_position, ended_at = excluded.ended_at",
    },
    Table {
        name: "memberships",
        columns: &[
            "user",
            "chosen_id",
            "name",
            "room",
            "from_seq",
            "from_position",
            "from_at",
            "to_seq",
            "to_position",
            "to_at",
        ],
        is_new: "((from_position > ?1 AND from_position <= ?2)
                  OR (to_position > ?1 AND to_position <= ?2))",
        sums: MEMBERSHIP,
        conflict: "(participant, room, from_seq) DO UPDATE SET to_seq = excluded.to_seq,
            to_position = excluded.to_position, to_at = excluded.to_at",
    },
    Table {
        name: "messages",
        columns: &[
            "id",
            "room",
            "seq",
            "at",
            "user",
            "chosen_id",
            "name",
            "epoch",
            "text",
            "vector(room, text)",
        ],
        is_new: "id > ?1 AND id <= ?2",
        sums: MESSAGE,
        conflict: "DO NOTHING",
    },
];

/// The values of a column, as PostgreSQL takes them.
#[derive(Debug)]
pub(super) enum Column {
    Whole(Vec<Option<i64>>),
    Text(Vec<Option<String>>),
    /// Literals of a `tsvector`.
    Words(Vec<Option<String>>),
}

impl Column {
    /// The column with this name, without values.
    fn of(name: &&str) -> Self {
        match *name {
            "chosen_id" | "name" | "text" => Self::Text(Vec::new()),
            "vector(room, text)" => Self::Words(Vec::new()),
            _ => Self::Whole(Vec::new()),
        }
    }

    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Whole(_) => "bigint[]",
            Self::Text(_) => "text[]",
            Self::Words(_) => "text[]::tsvector[]",
        }
    }

    pub(super) fn values(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Whole(values) => values,
            Self::Text(values) | Self::Words(values) => values,
        }
    }
}

/// Rows of the file after one position, up to another one.
#[derive(Debug)]
pub(super) struct Rows {
    /// The last position.
    pub(super) end: i64,
    /// The link of the journal there, if a record ends there.
    pub(super) link: Option<Vec<u8>>,
    /// The columns of each table.
    pub(super) tables: Vec<Vec<Column>>,
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
    let tables = TABLES.iter().map(|table| table.read(&moment, after, end));
    let tables = tables.collect::<rusqlite::Result<_>>()?;
    Ok(Some(Rows { end, link, tables }))
}

impl Table {
    fn read(&self, file: &Connection, after: i64, end: i64) -> rusqlite::Result<Vec<Column>> {
        let select = format!(
            "SELECT {} FROM {} WHERE {} AND {}",
            self.columns.join(", "),
            self.name,
            self.is_new,
            self.sums
        );
        let mut columns: Vec<_> = self.columns.iter().map(Column::of).collect();
        let mut select = file.prepare(&select)?;
        let mut rows = select.query(params![after, end])?;
        while let Some(row) = rows.next()? {
            for (index, column) in columns.iter_mut().enumerate() {
                match column {
                    Column::Whole(values) => values.push(row.get(index)?),
                    Column::Text(values) | Column::Words(values) => {
                        let text: Option<String> = row.get(index)?;
                        // PostgreSQL's texts cannot have the character NUL: its symbol stands in.
                        values.push(text.map(|text| text.replace('\0', "\u{2400}")));
                    }
                }
            }
        }
        Ok(columns)
    }
}
