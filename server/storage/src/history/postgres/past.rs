//! Reads of the copy: only those messages that the reader was there for.

use std::sync::Arc;

use chat_core::{Body, Epoch, Event, RoomId, RoomSeq, Time, UserId, Who};
use tokio_postgres::{Client, Row};

use super::{SharedError, number, words};
use crate::history::past::{Match, PageBuilder, Past, PastReading, QueryWords, ROOMS};
use crate::history::tables::{signed, unsigned};

/// The number of rows that one statement returns, at most.
const ROWS: i64 = 1_000;

const COLUMNS: &str =
    "m.id, m.room, m.seq, m.at, m.participant, m.chosen_id, m.name, m.epoch, m.text";

/// The condition that the reader ($1) was there.
const THERE: &str = "EXISTS (SELECT 1 FROM memberships s WHERE s.participant = $1
     AND s.room = m.room AND s.from_seq < m.seq AND (s.to_seq IS NULL OR m.seq < s.to_seq))";

/// Whether the participant is or was a member of the room.
pub(in crate::history) async fn was_in(
    client: &Client,
    user: UserId,
    room: RoomId,
) -> Result<bool, SharedError> {
    let select = "SELECT 1 FROM memberships WHERE participant = $1 AND room = $2 LIMIT 1";
    let found = client
        .query_opt(select, &[&number(user.0), &number(room.0)])
        .await?;
    Ok(found.is_some())
}

/// The room's messages before `before`, the newest first.
pub(in crate::history) async fn room(
    client: &Client,
    room: RoomId,
    before: Option<RoomSeq>,
    reading: &PastReading,
) -> Result<Past, SharedError> {
    let mut answer = PageBuilder::new(reading);
    let mut before = before.map_or(i64::MAX, |seq| signed(seq.0));
    let select = format!(
        "SELECT {COLUMNS} FROM messages m WHERE m.room = $2 AND m.seq < $3 AND {THERE}
         ORDER BY m.seq DESC LIMIT $4"
    );
    let (user, room) = (number(reading.user.0), number(room.0));
    loop {
        let rows = client
            .query(&select, &[&user, &room, &before, &ROWS])
            .await?;
        for row in &rows {
            before = row.get(2);
            if !answer.try_add(message(row)) {
                return Ok(answer.past(true));
            }
        }
        if (rows.len() as i64) < ROWS {
            return Ok(answer.past(false));
        }
    }
}

/// The messages with all of these words, the newest first, and whether there are older ones.
pub(in crate::history) async fn search(
    client: &Client,
    query: &QueryWords,
    (room, before): (Option<RoomId>, Option<u64>),
    reading: &PastReading,
) -> Result<(Vec<Match>, bool), SharedError> {
    let mut found = Vec::new();
    let Some(query) = words::query(query) else {
        return Ok((found, false));
    };
    let user = number(reading.user.0);
    let rooms = match room {
        Some(room) => vec![number(room.0)],
        None => rooms_of(client, user).await?,
    };
    let select = format!(
        "SELECT {COLUMNS} FROM messages m WHERE m.words @@ ($2::text)::tsquery AND m.id < $3
         AND m.room = ANY($4) AND {THERE} ORDER BY m.id DESC LIMIT $5"
    );
    let mut before = before.map_or(i64::MAX, signed);
    let mut answer = PageBuilder::new(reading);
    loop {
        let rows = client
            .query(&select, &[&user, &query, &before, &rooms, &ROWS])
            .await?;
        for row in &rows {
            before = row.get(0);
            if !answer.try_add_match(&mut found, unsigned(before), message(row)) {
                return Ok((found, true));
            }
        }
        if (rows.len() as i64) < ROWS {
            return Ok((found, false));
        }
    }
}

async fn rooms_of(client: &Client, user: i64) -> Result<Vec<i64>, SharedError> {
    let select = "SELECT room FROM memberships WHERE participant = $1
         GROUP BY room ORDER BY max(from_position) DESC LIMIT $2";
    let rows = client.query(select, &[&user, &ROOMS]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The message of a row of `COLUMNS`.
fn message(row: &Row) -> Event {
    let id = |column: usize| {
        let id: i64 = row.get(column);
        u32::try_from(id).unwrap_or_default()
    };
    let (chosen_id, name): (Option<&str>, &str) = (row.get(5), row.get(6));
    let (epoch, text): (Option<i64>, &str) = (row.get(7), row.get(8));
    Event {
        room: RoomId(id(1)),
        room_seq: RoomSeq(unsigned(row.get(2))),
        at: Time(unsigned(row.get(3))),
        body: Body::Message {
            sender: Arc::new(Who {
                id: UserId(id(4)),
                chosen_id: chosen_id.map(Into::into),
                name: name.into(),
            }),
            text: text.into(),
            epoch: epoch.map(|epoch| Epoch(unsigned(epoch))),
        },
    }
}
