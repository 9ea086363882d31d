//! Reads of the copy: only those messages that the reader was there for.

use std::time::{Duration, Instant};

use chat_core::{Event, RoomId, Time, UserId};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::{CopyError, is_slow};
use crate::history::past::{PageBuilder, Past, PastQuery, PastReading, ROOMS, VISITED, said};
use crate::history::words::QueryWords;
use crate::sqlite::{signed, unsigned};

/// The number of rows that one statement returns, at most.
const ROWS: i64 = 1_000;

/// The number of positions that the first statement of a search covers. Each further one covers four
/// times as many, so that a search that is too long has an answer all the same.
const POSITIONS: i64 = 20_000;

/// How long a read goes on with further statements.
const READ: Duration = Duration::from_secs(1);

const COLUMNS: &str =
    "m.room, m.seq, m.at, m.participant, m.chosen_id, m.name, m.epoch, m.addressees, m.text";

/// The condition that the reader ($1) was there.
const THERE: &str = "EXISTS (SELECT 1 FROM memberships s WHERE s.participant = $1
     AND s.room = m.room AND s.from_seq < m.seq AND (s.to_seq IS NULL OR m.seq < s.to_seq))";

/// The messages. None if the reader never was a member of the room. When the work or
/// the time is used up, the answer is what was found so far.
pub(in crate::history) async fn read(
    client: &Client,
    reading: &PastReading,
) -> Result<Option<Past>, CopyError> {
    let asked = reading.query.room();
    let (rooms, since) = rooms_of(client, reading.user, asked).await?;
    if rooms.is_empty() {
        return Ok(asked.is_none().then(Past::default));
    }
    let mut page = PageBuilder::new(reading, VISITED);
    let is_whole = match &reading.query {
        PastQuery::Room(room) => add_room(client, signed(room.0), &mut page).await?,
        PastQuery::Search(words, _) => {
            page.since = Some(since);
            add_matches(client, words, &rooms, &mut page).await?
        }
    };
    Ok(Some(page.finish(is_whole)))
}

/// Adds messages of a room. False if there may be more.
async fn add_room(
    client: &Client,
    room: i64,
    page: &mut PageBuilder<'_>,
) -> Result<bool, CopyError> {
    let user = signed(page.reading.user.0);
    let by = Instant::now() + READ;
    loop {
        let keys = format!(
            "SELECT m.seq, m.id, m.participant FROM messages m WHERE m.room = $2 AND m.seq < $3
             AND {THERE} ORDER BY m.seq DESC LIMIT $4"
        );
        let keys = client
            .query(&keys, &[&user, &room, &page.done, &ROWS])
            .await;
        let Some(keys) = in_time(keys, page)? else {
            return Ok(false);
        };
        let reading = page.reading;
        let hides = |key: &Row| reading.hidden.contains(&UserId(unsigned(key.get(2))));
        let shown = keys.iter().filter(|key| !hides(key)).map(|key| key.get(1));
        let shown: Vec<i64> = shown.take(reading.limit + 1).collect();
        let select = format!("SELECT {COLUMNS} FROM messages m WHERE m.id = ANY($1) ORDER BY m.id");
        let Some(mut rows) = in_time(client.query(&select, &[&shown]).await, page)? else {
            return Ok(false);
        };
        for key in &keys {
            if !page.visit() {
                return Ok(false);
            }
            if !hides(key) {
                // A message that was deleted meanwhile, or is beyond those that were asked for.
                let Some(row) = rows.pop() else {
                    return Ok(false);
                };
                if !page.try_add(message(&row)) {
                    return Ok(false);
                }
            }
            page.done = key.get(0);
        }
        let is_whole = (keys.len() as i64) < ROWS;
        if is_whole || by <= Instant::now() {
            return Ok(is_whole);
        }
    }
}

/// Adds messages with all of these words, of these rooms. False if there may be more.
async fn add_matches(
    client: &Client,
    words: &QueryWords,
    rooms: &[i64],
    page: &mut PageBuilder<'_>,
) -> Result<bool, CopyError> {
    let select = format!(
        "SELECT {COLUMNS}, m.id FROM messages m WHERE m.words @@ ($2::text)::tsquery AND m.id < $3
         AND m.id >= $7 AND m.participant <> ALL($4) AND m.room = ANY($5) AND {THERE}
         ORDER BY m.id DESC LIMIT $6"
    );
    let (user, query) = (signed(page.reading.user.0), words.in_rooms(rooms));
    let hidden = page.reading.hidden.iter();
    let hidden: Vec<i64> = hidden.map(|user| signed(user.0)).collect();
    let newest = "SELECT coalesce(max(id), 0) FROM messages";
    let newest: i64 = client.query_one(newest, &[]).await?.get(0);
    page.begin_before(newest + 1);
    let mut span = POSITIONS;
    let limit = page.reading.limit as i64 + 1;
    let by = Instant::now() + READ;
    loop {
        let from = page.done.saturating_sub(span);
        let values: [&(dyn ToSql + Sync); 7] =
            [&user, &query, &page.done, &hidden, &rooms, &limit, &from];
        let Some(rows) = in_time(client.query(&select, &values).await, page)? else {
            return Ok(false);
        };
        for row in rows {
            if !page.try_add(message(&row)) {
                return Ok(false);
            }
            page.done = row.get(9);
        }
        page.done = from;
        if from <= 0 || by <= Instant::now() {
            return Ok(from <= 0);
        }
        span = span.saturating_mul(4);
    }
}

/// The rows of a statement. None if its time is over, and there is an answer without them.
fn in_time(
    rows: Result<Vec<Row>, tokio_postgres::Error>,
    page: &PageBuilder<'_>,
) -> Result<Option<Vec<Row>>, CopyError> {
    match rows {
        Err(error) if is_slow(&error) && page.has_moved() => Ok(None),
        rows => Ok(Some(rows?)),
    }
}

/// This room, or all, of those in which the participant is or was, the last joined first; and when it
/// joined the first of them.
async fn rooms_of(
    client: &Client,
    user: UserId,
    room: Option<RoomId>,
) -> Result<(Vec<i64>, Time), CopyError> {
    let select = "SELECT room, min(from_at) FROM memberships
         WHERE participant = $1 AND room = coalesce($2, room)
         GROUP BY room ORDER BY max(from_position) DESC LIMIT $3";
    let (user, room) = (signed(user.0), room.map(|room| signed(room.0)));
    let rows = client.query(select, &[&user, &room, &ROOMS]).await?;
    let since = rows.iter().map(|row| row.get::<_, i64>(1)).min();
    let rooms = rows.iter().map(|row| row.get(0)).collect();
    Ok((rooms, Time(unsigned(since.unwrap_or(0)))))
}

/// The message of a row of `COLUMNS`.
fn message(row: &Row) -> Event {
    let numbers = [0, 1, 2, 3].map(|column| row.get(column));
    said(
        numbers,
        (row.get(4), row.get(5)),
        (row.get(6), row.get(7), row.get(8)),
    )
}
