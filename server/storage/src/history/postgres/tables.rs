//! The tables in PostgreSQL, and the transactions that write them.

use tokio_postgres::{Client, Transaction};

use super::rows::Rows;
use super::{CopyError, links};
use crate::history::sums::{KINDS, Kind};
use crate::history::tables::CUTS;

/// The version of the tables.
const FORMAT: i32 = 2;

/// The version before, whose words lacked their rooms.
const BEFORE: i32 = 1;

/// The number of the lock that members take while they make the tables: "talk".
const LOCK: i64 = 0x7461_6c6b;

/// The largest number of messages that one transaction deletes.
const BATCH: i64 = 500;

/// Instants are microseconds since 1970, as in `history.db`. Views show them as times.
const SCHEMA: &str = "
    CREATE TABLE place (format INTEGER NOT NULL, realm BYTEA NOT NULL, position BIGINT NOT NULL);
    CREATE TABLE messages (
        id BIGINT PRIMARY KEY, room BIGINT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL,
        participant BIGINT NOT NULL, chosen_id TEXT, name TEXT NOT NULL, epoch BIGINT,
        text TEXT NOT NULL, words TSVECTOR NOT NULL, UNIQUE (room, seq)
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
    CREATE VIEW participants AS
        SELECT participant, chosen_id, name, min(from_position) AS position, min(from_at) AS at
        FROM memberships GROUP BY participant, chosen_id, name;
    CREATE VIEW spoken AS
        SELECT id, to_timestamp(m.at / 1000000.0) AS time, coalesce(r.name, m.room::text) AS room,
            m.name, m.text
        FROM messages m LEFT JOIN rooms r USING (room);
";

/// Tables of an earlier version lack this one.
const LINKS: &str = "CREATE TABLE IF NOT EXISTS links (
        position BIGINT PRIMARY KEY, link BYTEA NOT NULL
    )";

/// Puts their rooms before the words of the version before.
const SCOPE: &str = "UPDATE messages SET words = (SELECT coalesce(string_agg(
        quote_literal(room || 'x' || lexeme) || ':' || array_to_string(positions, ','), ' '
    ), '')::tsvector FROM unnest(words))";

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
    transaction.batch_execute(LINKS).await?;
    let place = "SELECT format, realm, position FROM place";
    let place = transaction.query_one(place, &[]).await?;
    let (mut format, of): (i32, Vec<u8>) = (place.get(0), place.get(1));
    if format == BEFORE && of == realm {
        transaction.execute(SCOPE, &[]).await?;
        let update = "UPDATE place SET format = $1";
        transaction.execute(update, &[&FORMAT]).await?;
        format = FORMAT;
    }
    if format != FORMAT {
        return Err(CopyError::Version {
            found: format,
            ours: FORMAT,
        });
    }
    if of != realm {
        return Err(CopyError::Elsewhere);
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
        links::add(&transaction, rows.end, link).await?;
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
