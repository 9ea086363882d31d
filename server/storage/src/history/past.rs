//! Reads messages of the past: only those that the reader was there for.

use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chat_core::{Body, Epoch, Event, RoomId, RoomSeq, Time, UserId, Who};
use rusqlite::{Connection, ErrorCode, Row, params};

use super::sums::{corrupt, open_to_read};
use super::tables::addressees;
use super::words::QueryWords;
use crate::sqlite::{exists, signed, unsigned, value};

/// The number of SQLite's instructions between two looks at the clock.
const INSTRUCTIONS: i32 = 1_000;

/// The largest number of a reader's rooms that one search covers, the last joined first.
pub(super) const ROOMS: i64 = 500;

/// The largest number of rows that one read visits, those of hidden senders included.
pub(super) const VISITED: usize = 20_000;

/// The number of matches that a search asks the index for at a time.
const BATCH: usize = 128;

/// A read, with the limits of its answer.
#[derive(Clone, Debug)]
pub struct PastReading {
    /// What it is for.
    pub query: PastQuery,
    /// The place in the room before which the messages are; the position, if it is a search.
    pub before: Option<u64>,
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
}

/// Messages of the past, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// The messages.
    pub messages: Vec<Arc<Event>>,
    /// The place in the room before which there may be older ones; the position, if it was a search. None
    /// if there are none.
    pub next: Option<u64>,
    /// When the reader joined the first of the rooms of a search.
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
    /// The position of its first message.
    first: i64,
    /// The position of its last message.
    last: i64,
    /// The matches that were found and not looked at yet.
    matches: VecDeque<i64>,
}

/// A condition that fails if the membership that was found for this user and room is damaged.
fn is_sound(user: &str, room: &str) -> String {
    format!(
        "checked(s.sum, s.id, {user}, s.chosen_id, s.name, {room}, s.from_seq, s.from_position,
         s.from_at) AND checked(s.end_sum, s.id, s.to_seq, s.to_position, s.to_at)"
    )
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

    /// Whether the participant is or was a member of the room.
    fn was_in(&self, user: UserId, room: RoomId) -> rusqlite::Result<bool> {
        let select = format!(
            "SELECT 1 FROM memberships s WHERE user = ?1 AND room = ?2 AND {} LIMIT 1",
            is_sound("?1", "?2")
        );
        exists(&self.connection, &select, params![user.0, room.0])
    }

    /// The messages. None if the reader never was a member of the room. When so many rows are
    /// visited or the time is used up, the answer is what was found so far.
    pub(super) fn read(
        &self,
        reading: &PastReading,
        visits: usize,
    ) -> rusqlite::Result<Option<Past>> {
        if let Some(room) = reading.query.room()
            && !self.was_in(reading.user, room)?
        {
            return Ok(None);
        }
        let mut page = PageBuilder::new(reading, visits);
        let added = match &reading.query {
            PastQuery::Room(room) => self.add_stays(*room, &mut page),
            PastQuery::Search(words, room) => {
                let stays = self.stays(*room, &mut page)?;
                if let Some(newest) = stays.iter().map(|stay| stay.last).max() {
                    page.begin_before(newest.saturating_add(1));
                }
                self.add_matches(words, stays, &mut page)
            }
        };
        let is_whole = match added {
            Err(error) if is_late(&error) && page.has_moved() => false,
            ended => ended?,
        };
        Ok(Some(page.finish(is_whole)))
    }

    /// Adds messages of a room. False if there may be more.
    fn add_stays(&self, room: RoomId, page: &mut PageBuilder<'_>) -> rusqlite::Result<bool> {
        let stays = format!(
            "SELECT from_seq, coalesce(to_seq, ?3) FROM memberships s WHERE user = ?1
             AND room = ?2 AND from_seq < ?3 AND {} ORDER BY from_seq DESC",
            is_sound("?1", "?2")
        );
        let mut stays = self.connection.prepare_cached(&stays)?;
        let mut stays = stays.query(params![page.reading.user.0, room.0, page.done])?;
        let keys = "SELECT id, seq, user FROM messages WHERE room = ?1 AND seq > ?2 AND seq < ?3
             ORDER BY seq DESC";
        while let Some(stay) = stays.next()? {
            let (from, to): (i64, i64) = (stay.get(0)?, stay.get(1)?);
            let mut keys = self.connection.prepare_cached(keys)?;
            let mut keys = keys.query(params![room.0, from, to.min(page.done)])?;
            while let Some(key) = keys.next()? {
                let (id, seq, user): (i64, i64, u64) = (key.get(0)?, key.get(1)?, key.get(2)?);
                if seq <= from || to.min(page.done) <= seq {
                    return Err(corrupt());
                }
                if !page.visit() {
                    return Ok(false);
                }
                if !page.reading.hidden.contains(&UserId(user)) {
                    let message = self.message(id)?;
                    if (message.room, signed(message.room_seq.0)) != (room, seq) {
                        return Err(corrupt());
                    }
                    if !page.try_add(message) {
                        return Ok(false);
                    }
                }
                page.done = seq;
            }
        }
        Ok(true)
    }

    /// Adds matches, the newest of all stays first. False if there may be more.
    fn add_matches(
        &self,
        words: &QueryWords,
        mut stays: Vec<Stay>,
        page: &mut PageBuilder<'_>,
    ) -> rusqlite::Result<bool> {
        // Each stay with the position of its next match, or one that no later match of it has.
        let next = |(index, stay): (usize, &Stay)| (stay.last.min(page.done - 1), index);
        let mut places: BinaryHeap<_> = stays.iter().enumerate().map(next).collect();
        while let Some((place, index)) = places.pop() {
            let stay = &mut stays[index];
            if place < stay.first {
                continue;
            }
            page.done = place + 1;
            let Some(id) = stay.matches.pop_front() else {
                self.find_in(stay, words, place)?;
                places.extend(stay.matches.front().map(|id| (*id, index)));
                continue;
            };
            if !page.visit() || !self.try_add_match(id, stay, words, page)? {
                return Ok(false);
            }
            places.push((stay.matches.front().copied().unwrap_or(id - 1), index));
        }
        Ok(true)
    }

    /// Asks the index for the next matches of this stay, from this position on backwards.
    fn find_in(&self, stay: &mut Stay, words: &QueryWords, last: i64) -> rusqlite::Result<()> {
        let select = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid >= ?2 AND rowid <= ?3
             ORDER BY rowid DESC LIMIT ?4";
        let mut select = self.connection.prepare_cached(select)?;
        let query = words.in_room(stay.room);
        let found = params![query, stay.first, last, BATCH as i64];
        let found = select.query_map(found, |row| row.get(0))?;
        stay.matches = found.collect::<rusqlite::Result<_>>()?;
        if stay.matches.len() < BATCH {
            stay.first = stay.matches.back().copied().unwrap_or(i64::MAX);
        }
        Ok(())
    }

    /// Adds a match, unless its sender is hidden or its words do not follow each other. False if it
    /// does not fit.
    fn try_add_match(
        &self,
        id: i64,
        stay: &Stay,
        words: &QueryWords,
        page: &mut PageBuilder<'_>,
    ) -> rusqlite::Result<bool> {
        let user = "SELECT user FROM messages WHERE id = ?1";
        let user = value(&self.connection, user, [id])?;
        if page.reading.hidden.contains(&UserId(user)) {
            return Ok(true);
        }
        let message = self.message(id)?;
        let (seq, (from, to)) = (signed(message.room_seq.0), stay.seqs);
        if message.room != stay.room || seq <= from || to <= seq {
            return Err(corrupt());
        }
        let Body::Message { text, .. } = &message.body else {
            return Ok(true);
        };
        Ok(!words.follow_in(text) || page.try_add(message))
    }

    /// What the reader was there for, in this room or in all. Within a room, positions ascend with
    /// places.
    fn stays(
        &self,
        room: Option<RoomId>,
        page: &mut PageBuilder<'_>,
    ) -> rusqlite::Result<Vec<Stay>> {
        let rooms = match room {
            Some(_) => "?2".into(),
            None => format!(
                "SELECT room FROM memberships WHERE user = ?1
                 GROUP BY room ORDER BY max(from_position) DESC LIMIT {ROOMS}"
            ),
        };
        let select = format!(
            "SELECT room, from_seq, coalesce(to_seq, ?3), from_at,
                 (SELECT id FROM messages WHERE room = s.room AND seq > s.from_seq
                  ORDER BY seq LIMIT 1),
                 (SELECT id FROM messages WHERE room = s.room AND seq < coalesce(s.to_seq, ?3)
                  ORDER BY seq DESC LIMIT 1)
             FROM memberships s WHERE user = ?1 AND room IN ({rooms}) AND {}",
            is_sound("?1", "s.room")
        );
        let mut select = self.connection.prepare_cached(&select)?;
        let values = params![page.reading.user.0, room.map(|room| room.0), i64::MAX];
        let mut rows = select.query(values)?;
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
        let select = "SELECT room, seq, at, user, chosen_id, name, epoch, addressees, text FROM messages
             WHERE id = ?1 AND checked(sum, ?1, room, seq, at, user, chosen_id, name, epoch, addressees, text)";
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
    pub(super) fn new(reading: &'r PastReading, visits: usize) -> Self {
        let start = reading.before.map_or(i64::MAX, signed);
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
    let (to, text): (Option<String>, String) = (row.get(7)?, row.get(8)?);
    let sender = (chosen_id.as_deref(), &*name);
    Ok(said(numbers, sender, (row.get(6)?, to.as_deref(), &text)))
}

/// The message with these columns: its room, place, instant and sender first.
pub(super) fn said(
    [room, seq, at, user]: [i64; 4],
    (chosen_id, name): (Option<&str>, &str),
    (epoch, to, text): (Option<i64>, Option<&str>, &str),
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
            to: addressees(to),
        },
    }
}
