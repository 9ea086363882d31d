//! The tables in PostgreSQL, the transactions that write them, and the rows of `history.db` that are copied.
//!
//! Links of the journal at places of the copy tell a copy that another member has written further from one of
//! another history: of entries that the journal has lost, or has never had.

use std::path::{Path, PathBuf};

use chat_core::Position;
use rusqlite::Connection;
use tokio_postgres::{Client, Transaction};

use super::CopyError;
use crate::blocking;
use crate::history::sums::{KINDS, Kind, PLACE, open_to_read};
use crate::history::tables::CUTS;
use crate::journal::JournalReader;
use crate::sqlite::{unsigned, value};

/// The version of the tables.
const FORMAT: i32 = 3;

/// The number of the lock that members take while they make the tables: "talk".
const LOCK: i64 = 0x7461_6c6b;

/// The largest number of messages that one transaction deletes.
const BATCH: i64 = 500;

/// The largest number of messages that one transaction copies.
const COPIED: i64 = 500;

/// The number of links that the copy keeps: the newest.
const LINKS_KEPT: i64 = 256;

/// Instants are microseconds since 1970, as in `history.db`. Views show them as times.
const SCHEMA: &str = "
    CREATE TABLE place (format INTEGER NOT NULL, realm BYTEA NOT NULL, position BIGINT NOT NULL);
    CREATE TABLE messages (
        id BIGINT PRIMARY KEY, room BIGINT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL,
        participant BIGINT NOT NULL, chosen_id TEXT, name TEXT NOT NULL, epoch BIGINT,
        addressees TEXT, text TEXT NOT NULL, words TSVECTOR NOT NULL, UNIQUE (room, seq)
    );
    CREATE INDEX messages_words ON messages USING GIN (words);
    CREATE TABLE rooms (
        room BIGINT PRIMARY KEY, name TEXT, position BIGINT NOT NULL, at BIGINT NOT NULL,
        ended_position BIGINT, ended_at BIGINT
    );
    CREATE TABLE memberships (
        participant BIGINT NOT NULL, chosen_id TEXT, name TEXT NOT NULL, room BIGINT NOT NULL,
        from_seq BIGINT NOT NULL, from_position BIGINT NOT NULL, from_at BIGINT NOT NULL,
        to_seq BIGINT, to_position BIGINT, to_at BIGINT,
        PRIMARY KEY (participant, room, from_seq)
    );
    CREATE TABLE IF NOT EXISTS links (position BIGINT PRIMARY KEY, link BYTEA NOT NULL);
    CREATE VIEW participants AS
        SELECT participant, chosen_id, name, min(from_position) AS position, min(from_at) AS at
        FROM memberships GROUP BY participant, chosen_id, name;
    CREATE VIEW spoken AS
        SELECT id, to_timestamp(m.at / 1000000.0) AS time, coalesce(r.name, m.room::text) AS room,
            m.name, m.text
        FROM messages m LEFT JOIN rooms r USING (room);
";

/// Why a copy is not continued whose links all contradict the journal.
const OTHER_HISTORY: &str = "the database has another history than the journal, and no place where both \
                             agree: name another one with --history";

/// Makes the tables if there are none, and returns the position that they have.
pub(super) async fn open(client: &mut Client, realm: u128) -> Result<i64, CopyError> {
    let transaction = client.transaction().await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    let place = "SELECT to_regclass('place') IS NOT NULL";
    let is_there: bool = transaction.query_one(place, &[]).await?.get(0);
    let realm = realm.to_le_bytes();
    if !is_there {
        transaction.batch_execute(SCHEMA).await?;
        let insert = "INSERT INTO place VALUES ($1, $2, 0)";
        transaction.execute(insert, &[&FORMAT, &&realm[..]]).await?;
    }
    let place = "SELECT format, realm, position FROM place";
    let place = transaction.query_one(place, &[]).await?;
    let (found, of): (i32, Vec<u8>) = (place.get(0), place.get(1));
    if found != FORMAT {
        let ours = FORMAT;
        return Err(CopyError::Version { found, ours });
    }
    if of != realm {
        let why = "the database has the history of another realm: name another one with --history";
        return Err(CopyError::Other(why));
    }
    let position = place.get(2);
    transaction.commit().await?;
    Ok(position)
}

/// Removes everything after this position: the journal was cut there.
pub(super) async fn cut(client: &mut Client, after: i64) -> Result<(), CopyError> {
    let transaction = client.transaction().await?;
    locked_place(&transaction).await?;
    let of_copy = [
        "DELETE FROM messages WHERE id > $1",
        "DELETE FROM links WHERE position > $1",
        "UPDATE place SET position = $1",
    ];
    for change in of_copy.into_iter().chain(CUTS) {
        transaction.execute(change, &[&after]).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Writes rows after this position, if the tables end there. Returns the position that they have then.
pub(super) async fn write(client: &mut Client, after: i64, rows: &Rows) -> Result<i64, CopyError> {
    let transaction = client.transaction().await?;
    let place = locked_place(&transaction).await?;
    if place != after {
        // Another member was faster.
        return Ok(place);
    }
    for (Kind { table, .. }, list) in KINDS.iter().zip(&rows.tables) {
        let conflict = match *table {
            "rooms" => {
                "(room) DO UPDATE SET ended_position = excluded.ended_position,
                 ended_at = excluded.ended_at"
            }
            "memberships" => {
                "(participant, room, from_seq) DO UPDATE SET to_seq = excluded.to_seq,
                 to_position = excluded.to_position, to_at = excluded.to_at"
            }
            _ => "DO NOTHING",
        };
        let insert = format!(
            "INSERT INTO {table} SELECT * FROM json_populate_recordset(NULL::{table}, $1::text::json)
             ON CONFLICT {conflict}"
        );
        transaction.execute(&insert, &[list]).await?;
    }
    let update = "UPDATE place SET position = $1";
    transaction.execute(update, &[&rows.end]).await?;
    if let Some(link) = &rows.link {
        let insert = "INSERT INTO links VALUES ($1, $2) ON CONFLICT (position)
             DO UPDATE SET link = excluded.link";
        transaction.execute(insert, &[&rows.end, link]).await?;
        let delete = "DELETE FROM links WHERE position <=
             (SELECT position FROM links ORDER BY position DESC OFFSET $1 LIMIT 1)";
        transaction.execute(delete, &[&LINKS_KEPT]).await?;
    }
    transaction.commit().await?;
    Ok(rows.end)
}

/// Deletes old messages, and the memberships and rooms that ended before all others. Returns whether
/// there may be more.
pub(super) async fn trim(client: &mut Client, before: i64) -> Result<bool, CopyError> {
    let transaction = client.transaction().await?;
    let delete = "DELETE FROM messages WHERE id IN (
             SELECT id FROM (SELECT id, at FROM messages ORDER BY id LIMIT $2) AS oldest
             WHERE at < $1)";
    let deleted = transaction.execute(delete, &[&before, &BATCH]).await?;
    for delete in [
        "DELETE FROM memberships WHERE to_position <
             (SELECT coalesce(min(id), (SELECT position FROM place)) FROM messages)",
        "DELETE FROM rooms WHERE ended_position <
             (SELECT coalesce(min(id), (SELECT position FROM place)) FROM messages)",
    ] {
        if deleted > 0 {
            transaction.execute(delete, &[]).await?;
        }
    }
    transaction.commit().await?;
    Ok(i64::try_from(deleted).is_ok_and(|deleted| deleted == BATCH))
}

/// The position of the tables. No other transaction moves it until this one ends.
async fn locked_place(transaction: &Transaction<'_>) -> Result<i64, CopyError> {
    let place = "SELECT position FROM place FOR UPDATE";
    Ok(transaction.query_one(place, &[]).await?.get(0))
}

/// Compares the copy's links with the journal in this folder, the newest first. Returns the position
/// after which the copy is of another history; none if nothing contradicts it.
///
/// # Errors
/// One of them cannot be read, or no link of several agrees.
pub(super) async fn compare_links(
    client: &Client,
    folder: PathBuf,
) -> Result<Option<i64>, CopyError> {
    let select = "SELECT position, link FROM links ORDER BY position DESC";
    let rows = client.query(select, &[]).await?;
    let compared = blocking(move || -> Result<_, CopyError> {
        let journal = JournalReader::open(&folder)?;
        let mut is_contradicted = false;
        for row in rows {
            let (position, link): (i64, &[u8]) = (row.get(0), row.get(1));
            match journal.has_link(Position(unsigned(position)), link)? {
                Some(true) => return Ok(is_contradicted.then_some(position)),
                Some(false) => is_contradicted = true,
                // The journal is not there yet, or begins later.
                None => {}
            }
        }
        match is_contradicted {
            true => Err(CopyError::Other(OTHER_HISTORY)),
            false => Ok(None),
        }
    });
    compared.await?
}

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
pub(super) fn rows_of(file: &Path, after: i64) -> rusqlite::Result<Option<Rows>> {
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
    let last = moment.query_row(last, [after, COPIED, end], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    if let (Some(last), COPIED) = last {
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
    value(file, &select, [after, end])
}
