//! Reads of the copy: only those messages that the reader was there for.

use std::time::{Duration, Instant};

use chat_core::{Event, RoomId, Time, UserId};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::{CopyError, is_slow};
use crate::history::past::{PageBuilder, Past, PastQuery, PastReading, ROOMS, VISITED, said};
use crate::sqlite::{signed, unsigned};

/// The number of places that the first statement of a read covers. Each further one covers four times as
/// many, so that a read that is too long has an answer all the same.
const PLACES: i64 = 20_000;

/// How long a read goes on with further statements.
const READ: Duration = Duration::from_secs(1);

const COLUMNS: &str = "m.room, m.seq, m.at, m.participant, m.chosen_id, m.name, m.epoch, m.text";

/// The condition that the reader ($1) was there.
const THERE: &str = "EXISTS (SELECT 1 FROM memberships s WHERE s.participant = $1
     AND s.room = m.room AND s.from_seq < m.seq AND (s.to_seq IS NULL OR m.seq < s.to_seq))";

/// The messages before `before`. None if the reader never was a member of the room. When the work or
/// the time is used up, the answer is what was found so far.
pub(in crate::history) async fn read(
    client: &Client,
    query: &PastQuery,
    before: Option<u64>,
    reading: &PastReading,
) -> Result<Option<Past>, CopyError> {
    let asked = query.room();
    let (rooms, since) = rooms_of(client, reading.user, asked).await?;
    if rooms.is_empty() {
        return Ok(asked.is_none().then(Past::default));
    }
    let mut page = PageBuilder::new(reading, before, VISITED);
    page.since = Some(since);
    let is_whole = add_messages(client, query, &rooms, &mut page).await?;
    Ok(Some(page.finish(is_whole)))
}

/// Adds messages of these rooms, the newest first: all of one room by their places in it, or those with
/// all of the words by their positions. False if there may be more.
async fn add_messages(
    client: &Client,
    query: &PastQuery,
    rooms: &[i64],
    page: &mut PageBuilder<'_>,
) -> Result<bool, CopyError> {
    let words;
    let (found, of): (_, Vec<&(dyn ToSql + Sync)>) = match query {
        PastQuery::Room(_) => ("m.room = $6", vec![&rooms[0]]),
        PastQuery::Search(asked, _) => {
            words = asked.in_rooms(rooms);
            let found = "m.room = ANY($6) AND m.words @@ ($7::text)::tsquery";
            (found, vec![&rooms, &words])
        }
    };
    let newest = match query {
        PastQuery::Room(_) => {
            let newest = "SELECT coalesce(max(seq), 0) FROM messages WHERE room = $1";
            client.query_one(newest, &[&rooms[0]]).await?
        }
        PastQuery::Search(..) => {
            let newest = "SELECT coalesce(max(id), 0) FROM messages";
            client.query_one(newest, &[]).await?
        }
    };
    let newest: i64 = newest.get(0);
    page.begin_before(newest + 1);
    let key = query.key();
    let select = format!(
        "SELECT {COLUMNS}, m.{key} FROM messages m WHERE m.{key} < $2 AND m.{key} >= $3
         AND m.participant <> ALL($4) AND {found} AND {THERE} ORDER BY m.{key} DESC LIMIT $5"
    );
    let user = signed(page.reading.user.0);
    let hidden = page.reading.hidden.iter();
    let hidden: Vec<i64> = hidden.map(|user| signed(user.0)).collect();
    let limit = page.reading.limit as i64 + 1;
    let mut span = PLACES;
    let by = Instant::now() + READ;
    loop {
        let from = page.done.saturating_sub(span);
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&user, &page.done, &from, &hidden, &limit];
        values.extend(&of);
        let rows = match client.query(&select, &values).await {
            Err(error) if is_slow(&error) && page.has_moved() => return Ok(false),
            rows => rows?,
        };
        for row in rows {
            if !page.try_add(message(&row)) {
                return Ok(false);
            }
            page.done = row.get(8);
        }
        page.done = from;
        if from <= 0 || by <= Instant::now() {
            return Ok(from <= 0);
        }
        span = span.saturating_mul(4);
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
    said(numbers, (row.get(4), row.get(5)), (row.get(6), row.get(7)))
}
