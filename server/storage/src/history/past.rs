//! Reads messages of the past: only those that the reader was there for.

use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chat_core::{Body, Epoch, Event, RoomId, RoomSeq, Time, UserId, Who};
use rusqlite::{Connection, ErrorCode, Row, params};

use super::sums::{corrupt, open_to_read};
use super::tables::{signed, unsigned};
use super::words::QueryWords;

/// The number of SQLite's instructions between two looks at the clock.
const INSTRUCTIONS: i32 = 1_000;

/// The largest number of a reader's rooms that one search covers, the last joined first.
pub(super) const ROOMS: i64 = 500;

/// The largest number of rows that one read visits, those of hidden senders included.
const VISITED: usize = 20_000;

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

/// Messages of a room, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// The messages.
    pub messages: Vec<Arc<Event>>,
    /// The place before which there may be older ones. None if there are none.
    pub next: Option<RoomSeq>,
}

/// Messages that a search found, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The messages.
    pub messages: Vec<Arc<Event>>,
    /// The position before which there may be older ones. None if there are none.
    pub next: Option<u64>,
    /// When the reader joined the first of the rooms.
    pub since: Option<Time>,
}

/// The rows that one read may still visit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) left: usize,
}

impl Default for Work {
    fn default() -> Self {
        Self { left: VISITED }
    }
}

impl Work {
    /// Visits a row. False if that is too many.
    pub(super) const fn visit(&mut self) -> bool {
        let is_allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_allowed
    }
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
        let mut select = self.connection.prepare_cached(&select)?;
        select.exists(params![user.0, room.0])
    }

    /// The room's messages before `before`. None if the reader never was a member. When the work or
    /// the time is used up, the answer is what was found so far.
    pub(super) fn room(
        &self,
        room: RoomId,
        before: Option<RoomSeq>,
        reading: &PastReading,
        work: &mut Work,
    ) -> rusqlite::Result<Option<Past>> {
        if !self.was_in(reading.user, room)? {
            return Ok(None);
        }
        let start = before.map_or(i64::MAX, |seq| signed(seq.0));
        let mut answer = PageBuilder::new(reading);
        let mut done = start;
        let is_whole = match self.add_stays(room, &mut done, &mut answer, work) {
            Err(error) if is_late(&error) && done < start => false,
            ended => ended?,
        };
        Ok(Some(Past {
            messages: answer.messages,
            next: (!is_whole).then(|| RoomSeq(unsigned(done))),
        }))
    }

    /// Adds messages before `done`, which becomes the place of the last one that was looked at.
    /// False if there may be more.
    fn add_stays(
        &self,
        room: RoomId,
        done: &mut i64,
        answer: &mut PageBuilder<'_>,
        work: &mut Work,
    ) -> rusqlite::Result<bool> {
        let stays = format!(
            "SELECT from_seq, coalesce(to_seq, ?3) FROM memberships s WHERE user = ?1
             AND room = ?2 AND from_seq < ?3 AND {} ORDER BY from_seq DESC",
            is_sound("?1", "?2")
        );
        let mut stays = self.connection.prepare_cached(&stays)?;
        let mut stays = stays.query(params![answer.reading.user.0, room.0, *done])?;
        let keys = "SELECT id, seq, user FROM messages WHERE room = ?1 AND seq > ?2 AND seq < ?3
             ORDER BY seq DESC";
        while let Some(stay) = stays.next()? {
            let (from, to): (i64, i64) = (stay.get(0)?, stay.get(1)?);
            let mut keys = self.connection.prepare_cached(keys)?;
            let mut keys = keys.query(params![room.0, from, to.min(*done)])?;
            while let Some(key) = keys.next()? {
                let (id, seq, user): (i64, i64, u64) = (key.get(0)?, key.get(1)?, key.get(2)?);
                if seq <= from || to.min(*done) <= seq {
                    return Err(corrupt());
                }
                if !work.visit() {
                    return Ok(false);
                }
                if !answer.reading.hidden.contains(&UserId(user)) {
                    let message = self.message(id)?;
                    if (message.room, signed(message.room_seq.0)) != (room, seq) {
                        return Err(corrupt());
                    }
                    if !answer.try_add(message) {
                        return Ok(false);
                    }
                }
                *done = seq;
            }
        }
        Ok(true)
    }

    /// The messages with all of these words, of one room or of all. None if the reader never was a
    /// member of the room. When the work or the time is used up, the answer is what was found so far.
    pub(super) fn search(
        &self,
        words: &QueryWords,
        (room, before): (Option<RoomId>, Option<u64>),
        reading: &PastReading,
        work: &mut Work,
    ) -> rusqlite::Result<Option<Found>> {
        let rooms = match room {
            Some(room) if !self.was_in(reading.user, room)? => return Ok(None),
            Some(room) => vec![room],
            None => self.rooms_of(reading.user)?,
        };
        let mut since: Option<Time> = None;
        let mut stays = Vec::new();
        for room in rooms {
            self.add_stays_of(reading.user, room, &mut stays, &mut since)?;
        }
        let start = before.map_or(i64::MAX, signed);
        let newest = stays.iter().map(|stay| stay.last).max();
        let start = newest.map_or(start, |newest| start.min(newest.saturating_add(1)));
        let mut done = start;
        let mut answer = PageBuilder::new(reading);
        let is_whole = match self.add_matches(words, stays, &mut done, (&mut answer, work)) {
            Err(error) if is_late(&error) && done < start => false,
            ended => ended?,
        };
        Ok(Some(Found {
            messages: answer.messages,
            next: (!is_whole).then(|| unsigned(done)),
            since,
        }))
    }

    /// Adds matches before `done`, the newest of all stays first. `done` becomes the position before
    /// which there may be more. False if there may be.
    fn add_matches(
        &self,
        words: &QueryWords,
        mut stays: Vec<Stay>,
        done: &mut i64,
        (answer, work): (&mut PageBuilder<'_>, &mut Work),
    ) -> rusqlite::Result<bool> {
        // Each stay with the position of its next match, or one that no later match of it has.
        let next = |(index, stay): (usize, &Stay)| (stay.last.min(*done - 1), index);
        let mut places: BinaryHeap<_> = stays.iter().enumerate().map(next).collect();
        while let Some((place, index)) = places.pop() {
            let stay = &mut stays[index];
            if place < stay.first {
                continue;
            }
            *done = place + 1;
            let Some(id) = stay.matches.pop_front() else {
                self.find_in(stay, words, place)?;
                places.extend(stay.matches.front().map(|id| (*id, index)));
                continue;
            };
            if !work.visit() || !self.try_add_match(id, stay, words, answer)? {
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
        answer: &mut PageBuilder<'_>,
    ) -> rusqlite::Result<bool> {
        let user = "SELECT user FROM messages WHERE id = ?1";
        let mut user = self.connection.prepare_cached(user)?;
        let user = UserId(user.query_row([id], |row| row.get(0))?);
        if answer.reading.hidden.contains(&user) {
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
        Ok(!words.follow_in(text) || answer.try_add(message))
    }

    fn rooms_of(&self, user: UserId) -> rusqlite::Result<Vec<RoomId>> {
        let select = format!(
            "SELECT room FROM memberships s WHERE user = ?1 AND {}
             GROUP BY room ORDER BY max(from_position) DESC LIMIT ?2",
            is_sound("?1", "s.room")
        );
        let mut select = self.connection.prepare_cached(&select)?;
        let rooms = select.query_map(params![user.0, ROOMS], |row| Ok(RoomId(row.get(0)?)))?;
        rooms.collect()
    }

    /// Adds what the participant was there for in this room. Within a room, positions ascend with
    /// places.
    fn add_stays_of(
        &self,
        user: UserId,
        room: RoomId,
        stays: &mut Vec<Stay>,
        since: &mut Option<Time>,
    ) -> rusqlite::Result<()> {
        let select = format!(
            "SELECT from_seq, coalesce(to_seq, ?3), from_at,
                 (SELECT id FROM messages WHERE room = ?2 AND seq > s.from_seq
                  ORDER BY seq LIMIT 1),
                 (SELECT id FROM messages WHERE room = ?2 AND seq < coalesce(s.to_seq, ?3)
                  ORDER BY seq DESC LIMIT 1)
             FROM memberships s WHERE user = ?1 AND room = ?2 AND {}",
            is_sound("?1", "?2")
        );
        let mut select = self.connection.prepare_cached(&select)?;
        let mut rows = select.query(params![user.0, room.0, i64::MAX])?;
        while let Some(row) = rows.next()? {
            let at = Time(unsigned(row.get(2)?));
            *since = Some(since.map_or(at, |since| since.min(at)));
            let (first, last): (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
            if let (Some(first), Some(last)) = (first, last) {
                stays.push(Stay {
                    room,
                    seqs: (row.get(0)?, row.get(1)?),
                    first,
                    last,
                    matches: VecDeque::new(),
                });
            }
        }
        Ok(())
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
    reading: &'r PastReading,
    pub(super) messages: Vec<Arc<Event>>,
    bytes: usize,
}

impl<'r> PageBuilder<'r> {
    pub(super) const fn new(reading: &'r PastReading) -> Self {
        Self {
            reading,
            messages: Vec::new(),
            bytes: reading.used,
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
    let text: String = row.get(7)?;
    let chosen_id: Option<String> = row.get(4)?;
    let name: String = row.get(5)?;
    let epoch: Option<i64> = row.get(6)?;
    Ok(Event {
        room: RoomId(row.get(0)?),
        room_seq: RoomSeq(unsigned(row.get(1)?)),
        at: Time(unsigned(row.get(2)?)),
        body: Body::Message {
            sender: Arc::new(Who {
                id: UserId(row.get(3)?),
                chosen_id: chosen_id.map(Into::into),
                name: name.into(),
            }),
            text: text.into(),
            epoch: epoch.map(|epoch| Epoch(unsigned(epoch))),
        },
    })
}
