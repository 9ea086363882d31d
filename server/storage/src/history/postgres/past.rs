//! Reads of the copy: only those messages that the reader was there for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_core::{Body, Epoch, Event, RoomId, RoomSeq, Time, UserId, Who};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::SharedError;
use crate::history::PastError;
use crate::history::past::{Found, PageBuilder, Past, PastReading, ROOMS, Work};
use crate::history::tables::{signed, unsigned};
use crate::history::words::QueryWords;

/// The number of rows that one statement returns, at most.
const ROWS: i64 = 1_000;

/// The number of positions that the first statement of a search covers. Each further one covers four
/// times as many, so that a search that is too long has an answer all the same.
const POSITIONS: i64 = 20_000;

/// How long a read goes on with further statements.
const READ: Duration = Duration::from_secs(1);

const COLUMNS: &str = "m.room, m.seq, m.at, m.participant, m.chosen_id, m.name, m.epoch, m.text";

/// The condition that the reader ($1) was there.
const THERE: &str = "EXISTS (SELECT 1 FROM memberships s WHERE s.participant = $1
     AND s.room = m.room AND s.from_seq < m.seq AND (s.to_seq IS NULL OR m.seq < s.to_seq))";

/// The room's messages before `before`. None if the reader never was a member. When the work or the
/// time is used up, the answer is what was found so far.
pub(in crate::history) async fn room(
    client: &Client,
    room: RoomId,
    before: Option<RoomSeq>,
    reading: &PastReading,
) -> Result<Option<Past>, SharedError> {
    let (user, room) = (signed(reading.user.0), signed(room.0));
    let was_in = "SELECT 1 FROM memberships WHERE participant = $1 AND room = $2 LIMIT 1";
    if client.query_opt(was_in, &[&user, &room]).await?.is_none() {
        return Ok(None);
    }
    let by = Instant::now() + READ;
    let mut work = Work::default();
    let mut answer = PageBuilder::new(reading);
    let start = before.map_or(i64::MAX, |seq| signed(seq.0));
    let mut done = start;
    let is_whole = loop {
        let keys = format!(
            "SELECT m.seq, m.id, m.participant FROM messages m WHERE m.room = $2 AND m.seq < $3
             AND {THERE} ORDER BY m.seq DESC LIMIT $4"
        );
        let keys = client.query(&keys, &[&user, &room, &done, &ROWS]).await;
        let Some(keys) = in_time(keys, done < start)? else {
            break false;
        };
        let hides = |key: &Row| reading.hidden.contains(&user_of(key, 2));
        let shown = keys.iter().filter(|key| !hides(key)).map(|key| key.get(1));
        let shown: Vec<i64> = shown.take(reading.limit + 1).collect();
        let select = format!("SELECT {COLUMNS} FROM messages m WHERE m.id = ANY($1) ORDER BY m.id");
        let rows = client.query(&select, &[&shown]).await;
        let Some(mut rows) = in_time(rows, done < start)? else {
            break false;
        };
        let mut is_full = false;
        for key in &keys {
            is_full = !work.visit();
            if !is_full && !hides(key) {
                // A message that was deleted meanwhile, or is beyond those that were asked for.
                let Some(row) = rows.pop() else {
                    is_full = true;
                    break;
                };
                is_full = !answer.try_add(message(&row));
            }
            if is_full {
                break;
            }
            done = key.get(0);
        }
        if is_full || by <= Instant::now() {
            break false;
        }
        if (keys.len() as i64) < ROWS {
            break true;
        }
    };
    Ok(Some(Past {
        messages: answer.messages,
        next: (!is_whole).then(|| RoomSeq(unsigned(done))),
    }))
}

/// The messages with all of these words. None if the reader never was a member of the room. When the
/// time is used up, the answer is what was found so far.
pub(in crate::history) async fn search(
    client: &Client,
    words: &QueryWords,
    (room, before): (Option<RoomId>, Option<u64>),
    reading: &PastReading,
) -> Result<Option<Found>, SharedError> {
    let user = signed(reading.user.0);
    let asked = room.map(|room| signed(room.0));
    let (rooms, since) = rooms_of(client, user, asked).await?;
    if rooms.is_empty() {
        return Ok(room.is_none().then(Found::default));
    }
    let select = format!(
        "SELECT {COLUMNS}, m.id FROM messages m WHERE m.words @@ ($2::text)::tsquery AND m.id < $3
         AND m.id >= $7 AND m.participant <> ALL($4) AND m.room = ANY($5) AND {THERE}
         ORDER BY m.id DESC LIMIT $6"
    );
    let query = words.in_rooms(&rooms);
    let hidden: Vec<i64> = reading.hidden.iter().map(|user| signed(user.0)).collect();
    let newest = "SELECT coalesce(max(id), 0) FROM messages";
    let newest: i64 = client.query_one(newest, &[]).await?.get(0);
    let start = before.map_or(i64::MAX, signed).min(newest + 1);
    let (mut done, mut span) = (start, POSITIONS);
    let limit = reading.limit as i64 + 1;
    let by = Instant::now() + READ;
    let mut answer = PageBuilder::new(reading);
    let is_whole = loop {
        let from = done.saturating_sub(span);
        let values: [&(dyn ToSql + Sync); 7] =
            [&user, &query, &done, &hidden, &rooms, &limit, &from];
        let rows = client.query(&select, &values).await;
        let Some(rows) = in_time(rows, done < start)? else {
            break false;
        };
        let is_full = rows.iter().any(|row| {
            let fits = answer.try_add(message(row));
            done = if fits { row.get(8) } else { done };
            !fits
        });
        if is_full {
            break false;
        }
        done = from;
        if from <= 0 || by <= Instant::now() {
            break from <= 0;
        }
        span = span.saturating_mul(4);
    };
    Ok(Some(Found {
        messages: answer.messages,
        next: (!is_whole).then(|| unsigned(done)),
        since: Some(since),
    }))
}

/// The rows of a statement. None if its time is over, and there is an answer without them.
fn in_time(
    rows: Result<Vec<Row>, tokio_postgres::Error>,
    has_answer: bool,
) -> Result<Option<Vec<Row>>, SharedError> {
    match rows.map_err(SharedError::from) {
        Err(SharedError::Past(PastError::Slow)) if has_answer => Ok(None),
        rows => rows.map(Some),
    }
}

/// This room, or all, of those in which the participant is or was, the last joined first; and when it
/// joined the first of them.
async fn rooms_of(
    client: &Client,
    user: i64,
    room: Option<i64>,
) -> Result<(Vec<i64>, Time), SharedError> {
    let select = "SELECT room, min(from_at) FROM memberships
         WHERE participant = $1 AND room = coalesce($2, room)
         GROUP BY room ORDER BY max(from_position) DESC LIMIT $3";
    let rows = client.query(select, &[&user, &room, &ROOMS]).await?;
    let since = rows.iter().map(|row| row.get::<_, i64>(1)).min();
    let rooms = rows.iter().map(|row| row.get(0)).collect();
    Ok((rooms, Time(unsigned(since.unwrap_or(0)))))
}

fn user_of(row: &Row, column: usize) -> UserId {
    UserId(unsigned(row.get(column)))
}

/// The message of a row of `COLUMNS`.
fn message(row: &Row) -> Event {
    let (chosen_id, name): (Option<&str>, &str) = (row.get(4), row.get(5));
    let (epoch, text): (Option<i64>, &str) = (row.get(6), row.get(7));
    Event {
        room: RoomId(unsigned(row.get(0))),
        room_seq: RoomSeq(unsigned(row.get(1))),
        at: Time(unsigned(row.get(2))),
        body: Body::Message {
            sender: Arc::new(Who {
                id: user_of(row, 3),
                chosen_id: chosen_id.map(Into::into),
                name: name.into(),
            }),
            text: text.into(),
            epoch: epoch.map(|epoch| Epoch(unsigned(epoch))),
        },
    }
}
