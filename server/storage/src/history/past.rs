//! Reads messages of the past: only those that the reader was there for.

use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chat_core::{Body, Epoch, Event, RoomId, RoomSeq, Time, UserId, Who};
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, Row, params};

use super::sums::{corrupt, open_to_read};
use super::words::QueryWords;
use crate::sqlite::{signed, unsigned, value};

/// The number of SQLite's instructions between two looks at the clock.
const INSTRUCTIONS: i32 = 1_000;

/// The largest number of a reader's rooms that one search covers, the last joined first.
pub(super) const ROOMS: i64 = 500;

/// The largest number of rows that one read visits, those of hidden senders included.
pub(super) const VISITED: usize = 20_000;

/// The number of matches that a search asks the index for at a time.
const BATCH: usize = 128;

/// The limits of one answer, and its reader.
#[derive(Clone, Debug)]
pub struct PastReading {
    /// The participant that reads.
    pub user: UserId,
    /// The participants whose messages are left out.
    pub hidden: BTreeSet<UserId>,
    /// The largest number of messages.
    pub limit: usize,
    /// The largest size of all texts of the answer, in bytes; its first message is exempt.
    pub bytes: usize,
    /// The size of the texts that the answer already has.
    pub used: usize,
}

/// What a read is for.
#[derive(Clone, Debug)]
pub enum PastQuery {
    /// The messages of this room.
    Room(RoomId),
    /// Those with all of these words, of this room or of all.
    Search(QueryWords, Option<RoomId>),
}

impl PastQuery {
    /// The room, if it is one.
    pub(super) const fn room(&self) -> Option<RoomId> {
        match self {
            Self::Room(room) => Some(*room),
            Self::Search(_, room) => *room,
        }
    }

    /// The column by which its messages are ordered: their places in the room, or their positions.
    pub(super) const fn key(&self) -> &'static str {
        match self {
            Self::Room(_) => "seq",
            Self::Search(..) => "id",
        }
    }
}

/// Messages of the past, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// The messages.
    pub messages: Vec<Arc<Event>>,
    /// The place in the room before which there may be older ones; the position, if it was a search. None
    /// if there are none.
    pub next: Option<u64>,
    /// When the reader joined the first of the rooms.
    pub since: Option<Time>,
}

/// The tables, open for reading.
#[derive(Debug)]
pub(super) struct PastReader {
    pub(super) connection: Connection,
}

/// A part of a room that the reader was there for.
#[derive(Debug)]
struct Stay {
    room: RoomId,
    /// The places between which it is.
    seqs: (i64, i64),
    /// The key of its first message.
    first: i64,
    /// The key of its last message.
    last: i64,
    /// The keys and positions of the matches that were found and not looked at yet.
    matches: VecDeque<(i64, i64)>,
}

impl PastReader {
    /// Opens the file.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let connection = open_to_read(path)?;
        Ok(Self { connection })
    }

    /// Interrupts the next reads at this instant.
    pub(super) fn until(&mut self, by: Instant) -> rusqlite::Result<()> {
        let is_late = move || by <= Instant::now();
        self.connection
            .progress_handler(INSTRUCTIONS, Some(is_late))
    }

    /// The messages before `before`. None if the reader never was a member of the room. When so many rows are
    /// visited or the time is used up, the answer is what was found so far.
    pub(super) fn read(
        &self,
        query: &PastQuery,
        before: Option<u64>,
        reading: &PastReading,
        visits: usize,
    ) -> rusqlite::Result<Option<Past>> {
        let mut page = PageBuilder::new(reading, before, visits);
        let stays = self.stays(query, &mut page)?;
        if page.since.is_none() && query.room().is_some() {
            return Ok(None);
        }
        if let Some(newest) = stays.iter().map(|stay| stay.last).max() {
            page.begin_before(newest.saturating_add(1));
        }
        let is_whole = match self.add_matches(query, stays, &mut page) {
            Err(error) if is_late(&error) && page.has_moved() => false,
            ended => ended?,
        };
        Ok(Some(page.finish(is_whole)))
    }

    /// Adds matches, the newest of all stays first. False if there may be more.
    fn add_matches(
        &self,
        query: &PastQuery,
        mut stays: Vec<Stay>,
        page: &mut PageBuilder<'_>,
    ) -> rusqlite::Result<bool> {
        // Each stay with the key of its next match, or one that no later match of it has.
        let next = |(index, stay): (usize, &Stay)| (stay.last.min(page.done - 1), index);
        let mut places: BinaryHeap<_> = stays.iter().enumerate().map(next).collect();
        while let Some((place, index)) = places.pop() {
            let stay = &mut stays[index];
            if place < stay.first {
                continue;
            }
            let Some(found) = stay.matches.pop_front() else {
                if let PastQuery::Search(..) = query {
                    // The index may take long to find none.
                    page.done = place + 1;
                }
                self.find_in(stay, query, place)?;
                places.extend(stay.matches.front().map(|(key, _)| (*key, index)));
                continue;
            };
            if !page.visit() || !self.try_add_match(found, stay, query, page)? {
                return Ok(false);
            }
            page.done = place;
            let next = stay.matches.front().map_or(place - 1, |(key, _)| *key);
            places.push((next, index));
        }
        Ok(true)
    }

    /// Finds the next matches of this stay, from this key on backwards.
    fn find_in(&self, stay: &mut Stay, query: &PastQuery, last: i64) -> rusqlite::Result<()> {
        let (select, of) = match query {
            PastQuery::Room(_) => {
                let select = "SELECT seq, id FROM messages WHERE room = ?1 AND seq >= ?2
                     AND seq <= ?3 ORDER BY seq DESC LIMIT ?4";
                (select, Value::Integer(signed(stay.room.0)))
            }
            PastQuery::Search(words, _) => {
                let select = "SELECT rowid, rowid FROM words WHERE words MATCH ?1 AND rowid >= ?2
                     AND rowid <= ?3 ORDER BY rowid DESC LIMIT ?4";
                (select, Value::Text(words.in_room(stay.room)))
            }
        };
        let mut select = self.connection.prepare_cached(select)?;
        let found = params![of, stay.first, last, BATCH as i64];
        let found = select.query_map(found, |row| Ok((row.get(0)?, row.get(1)?)))?;
        stay.matches = found.collect::<rusqlite::Result<_>>()?;
        if stay.matches.len() < BATCH {
            stay.first = stay.matches.back().map_or(i64::MAX, |(key, _)| *key);
        }
        Ok(())
    }

    /// Adds a match, unless its sender is hidden or its words do not follow each other. False if it
    /// does not fit.
    fn try_add_match(
        &self,
        (key, id): (i64, i64),
        stay: &Stay,
        query: &PastQuery,
        page: &mut PageBuilder<'_>,
    ) -> rusqlite::Result<bool> {
        let user = "SELECT user FROM messages WHERE id = ?1";
        let user = value(&self.connection, user, [id])?;
        if page.reading.hidden.contains(&UserId(user)) {
            return Ok(true);
        }
        let message = self.message(id)?;
        let (seq, (from, to)) = (signed(message.room_seq.0), stay.seqs);
        let text = message.body.message().map(|(_, text)| text);
        let (is_found, fits) = match query {
            PastQuery::Room(_) => (seq == key, true),
            PastQuery::Search(words, _) => (true, text.is_some_and(|text| words.follow_in(text))),
        };
        if !is_found || message.room != stay.room || seq <= from || to <= seq {
            return Err(corrupt());
        }
        Ok(!fits || page.try_add(message))
    }

    /// What the reader was there for, in the room or in all. Within a room, positions ascend with places.
    fn stays(&self, query: &PastQuery, page: &mut PageBuilder<'_>) -> rusqlite::Result<Vec<Stay>> {
        let select = format!(
            "SELECT room, from_seq, coalesce(to_seq, ?3), from_at,
                 (SELECT {key} FROM messages WHERE room = s.room AND seq > s.from_seq
                  ORDER BY seq LIMIT 1),
                 (SELECT {key} FROM messages WHERE room = s.room AND seq < coalesce(s.to_seq, ?3)
                  ORDER BY seq DESC LIMIT 1)
             FROM memberships s WHERE user = ?1 AND room IN
                 (SELECT room FROM memberships WHERE user = ?1 AND room = coalesce(?2, room)
                  GROUP BY room ORDER BY max(from_position) DESC LIMIT ?4)
             AND checked(s.sum, s.id, ?1, s.chosen_id, s.name, s.room, s.from_seq, s.from_position,
                 s.from_at)
             AND checked(s.end_sum, s.id, s.to_seq, s.to_position, s.to_at)",
            key = query.key(),
        );
        let room = query.room().map(|room| room.0);
        let mut select = self.connection.prepare_cached(&select)?;
        let mut rows = select.query(params![page.reading.user.0, room, i64::MAX, ROOMS])?;
        let mut stays = Vec::new();
        while let Some(row) = rows.next()? {
            let at = Time(unsigned(row.get(3)?));
            page.since = Some(page.since.map_or(at, |since| since.min(at)));
            let (first, last): (Option<i64>, Option<i64>) = (row.get(4)?, row.get(5)?);
            if let (Some(first), Some(last)) = (first, last) {
                stays.push(Stay {
                    room: RoomId(row.get(0)?),
                    seqs: (row.get(1)?, row.get(2)?),
                    first,
                    last,
                    matches: VecDeque::new(),
                });
            }
        }
        Ok(stays)
    }

    /// The message of this row.
    fn message(&self, id: i64) -> rusqlite::Result<Event> {
        let select = "SELECT room, seq, at, user, chosen_id, name, epoch, text FROM messages
             WHERE id = ?1 AND checked(sum, ?1, room, seq, at, user, chosen_id, name, epoch, text)";
        let mut select = self.connection.prepare_cached(select)?;
        select.query_row([id], message)
    }
}

/// Whether a read was interrupted because its time was over.
fn is_late(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

/// An answer while messages are added to it.
pub(super) struct PageBuilder<'r> {
    pub(super) reading: &'r PastReading,
    messages: Vec<Arc<Event>>,
    bytes: usize,
    /// Where the page begins.
    start: i64,
    /// The place or position before which there may be more.
    pub(super) done: i64,
    pub(super) since: Option<Time>,
    /// The number of rows that may still be visited.
    visits: usize,
}

impl<'r> PageBuilder<'r> {
    pub(super) fn new(reading: &'r PastReading, before: Option<u64>, visits: usize) -> Self {
        let start = before.map_or(i64::MAX, signed);
        Self {
            reading,
            messages: Vec::new(),
            bytes: reading.used,
            start,
            done: start,
            since: None,
            visits,
        }
    }

    /// Visits a row. False if that is too many.
    pub(super) fn visit(&mut self) -> bool {
        let is_allowed = self.visits > 0;
        self.visits = self.visits.saturating_sub(1);
        is_allowed
    }

    /// Begins not after this: the reader has nothing there.
    pub(super) fn begin_before(&mut self, end: i64) {
        self.start = self.start.min(end);
        self.done = self.start;
    }

    /// Whether there is an answer without what follows.
    pub(super) const fn has_moved(&self) -> bool {
        self.done < self.start
    }

    /// The answer. It is whole if there is nothing more.
    pub(super) fn finish(self, is_whole: bool) -> Past {
        Past {
            messages: self.messages,
            next: (!is_whole).then(|| unsigned(self.done)),
            since: self.since,
        }
    }

    /// Adds a message. False if it does not fit.
    pub(super) fn try_add(&mut self, message: Event) -> bool {
        let Body::Message { text, .. } = &message.body else {
            return true;
        };
        let bytes = self.bytes + text.len();
        let is_first = self.bytes == 0;
        let is_full = self.messages.len() >= self.reading.limit;
        if is_full || (bytes > self.reading.bytes && !is_first) {
            return false;
        }
        self.bytes = bytes;
        self.messages.push(Arc::new(message));
        true
    }
}

/// The message of a row.
fn message(row: &Row<'_>) -> rusqlite::Result<Event> {
    let numbers = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
    let (chosen_id, name): (Option<String>, String) = (row.get(4)?, row.get(5)?);
    let text: String = row.get(7)?;
    let sender = (chosen_id.as_deref(), &*name);
    Ok(said(numbers, sender, (row.get(6)?, &text)))
}

/// The message with these columns: its room, place, instant and sender first.
pub(super) fn said(
    [room, seq, at, user]: [i64; 4],
    (chosen_id, name): (Option<&str>, &str),
    (epoch, text): (Option<i64>, &str),
) -> Event {
    Event {
        room: RoomId(unsigned(room)),
        room_seq: RoomSeq(unsigned(seq)),
        at: Time(unsigned(at)),
        body: Body::Message {
            sender: Arc::new(Who {
                id: UserId(unsigned(user)),
                chosen_id: chosen_id.map(Into::into),
                name: name.into(),
            }),
            text: text.into(),
            epoch: epoch.map(|epoch| Epoch(unsigned(epoch))),
        },
    }
}
