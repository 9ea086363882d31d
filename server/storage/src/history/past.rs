//! Reads messages of the past: only those that the reader was there for.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chat_core::{Body, Epoch, Event, RoomId, RoomSeq, Time, UserId, Who};
use rusqlite::{Connection, Row, params};

use super::scripts::spaced;
use super::sums::{corrupt, open_to_read};
use super::tables::{signed, unsigned};

/// The number of SQLite's instructions between two looks at the clock.
const INSTRUCTIONS: i32 = 10_000;

/// The largest number of a reader's rooms that one search covers, the last joined first.
pub(super) const ROOMS: i64 = 500;

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
    /// Whether there are older ones.
    pub more: bool,
}

/// A message that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its place among all messages, before which the next page begins.
    pub id: u64,
    /// The message.
    pub event: Arc<Event>,
}

/// The tables, open for reading.
#[derive(Debug)]
pub(super) struct PastReader {
    connection: Connection,
}

/// The columns of a message that was found in this room. The last one fails if it is damaged.
fn columns(room: &str) -> String {
    format!(
        "m.id, m.room, m.seq, m.at, m.user, m.chosen_id, m.name, m.epoch, m.text, checked(m.sum,
         m.id, {room}, m.seq, m.at, m.user, m.chosen_id, m.name, m.epoch, m.text)"
    )
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
    pub(super) fn was_in(&self, user: UserId, room: RoomId) -> rusqlite::Result<bool> {
        let select = format!(
            "SELECT 1 FROM memberships s WHERE user = ?1 AND room = ?2 AND {} LIMIT 1",
            is_sound("?1", "?2")
        );
        let mut select = self.connection.prepare_cached(&select)?;
        select.exists(params![user.0, room.0])
    }

    /// The room's messages before `before`, the newest first.
    pub(super) fn room(
        &self,
        room: RoomId,
        before: Option<RoomSeq>,
        reading: &PastReading,
    ) -> rusqlite::Result<Past> {
        let before = before.map_or(i64::MAX, |seq| signed(seq.0));
        let mut answer = PageBuilder::new(reading);
        let stays = format!(
            "SELECT from_seq, coalesce(to_seq, ?3) FROM memberships s WHERE user = ?1
             AND room = ?2 AND from_seq < ?3 AND {} ORDER BY from_seq DESC",
            is_sound("?1", "?2")
        );
        let mut stays = self.connection.prepare_cached(&stays)?;
        let mut stays = stays.query(params![reading.user.0, room.0, before])?;
        let select = format!(
            "SELECT {} FROM messages m WHERE m.room = ?1 AND m.seq > ?2 AND m.seq < ?3
             ORDER BY m.seq DESC",
            columns("?1")
        );
        while let Some(stay) = stays.next()? {
            let (from, to): (i64, i64) = (stay.get(0)?, stay.get(1)?);
            let mut select = self.connection.prepare_cached(&select)?;
            let mut rows = select.query(params![room.0, from, to.min(before)])?;
            while let Some(row) = rows.next()? {
                let seq: i64 = row.get(2)?;
                if seq <= from || to.min(before) <= seq {
                    return Err(corrupt());
                }
                if !answer.try_add(message(row)?) {
                    return Ok(answer.past(true));
                }
            }
        }
        Ok(answer.past(false))
    }

    /// The messages with all of these words, the newest first.
    pub(super) fn search(
        &self,
        words: &QueryWords,
        (room, before): (Option<RoomId>, Option<u64>),
        reading: &PastReading,
    ) -> rusqlite::Result<(Vec<Match>, bool)> {
        let rooms = match room {
            Some(room) => vec![room],
            None => self.rooms_of(reading.user)?,
        };
        if rooms.is_empty() {
            return Ok((Vec::new(), false));
        }
        let select = format!(
            "SELECT {} FROM words w JOIN messages m ON m.id = w.rowid
             WHERE words MATCH ?1 AND w.rowid < ?2 AND EXISTS (
                 SELECT 1 FROM memberships s WHERE s.user = ?3 AND s.room = m.room
                 AND s.from_seq < m.seq AND (s.to_seq IS NULL OR m.seq < s.to_seq) AND {})
             ORDER BY w.rowid DESC",
            columns("m.room"),
            is_sound("?3", "m.room")
        );
        let before = before.map_or(i64::MAX, signed);
        let mut select = self.connection.prepare_cached(&select)?;
        let mut rows = select.query(params![words.within(&rooms), before, reading.user.0])?;
        let mut answer = PageBuilder::new(reading);
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let id = unsigned(row.get(0)?);
            if !answer.try_add_match(&mut found, id, message(row)?) {
                return Ok((found, true));
            }
        }
        Ok((found, false))
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
}

/// An answer while messages are added to it.
pub(super) struct PageBuilder<'r> {
    reading: &'r PastReading,
    messages: Vec<Arc<Event>>,
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

    /// Adds a message, or passes over it if its sender is hidden. False if it does not fit.
    pub(super) fn try_add(&mut self, message: Event) -> bool {
        let Body::Message { sender, text, .. } = &message.body else {
            return true;
        };
        if self.reading.hidden.contains(&sender.id) {
            return true;
        }
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

    /// Adds a message that a search found to `found`, too.
    pub(super) fn try_add_match(
        &mut self,
        found: &mut Vec<Match>,
        id: u64,
        message: Event,
    ) -> bool {
        let fits = self.try_add(message);
        // A message of a hidden sender was passed over.
        if let Some(event) = self.messages.get(found.len()) {
            let event = Arc::clone(event);
            found.push(Match { id, event });
        }
        fits
    }

    pub(super) fn past(self, more: bool) -> Past {
        Past {
            messages: self.messages,
            more,
        }
    }
}

/// The message of a row of `columns`.
fn message(row: &Row<'_>) -> rusqlite::Result<Event> {
    let text: String = row.get(8)?;
    let chosen_id: Option<String> = row.get(5)?;
    let name: String = row.get(6)?;
    let epoch: Option<i64> = row.get(7)?;
    Ok(Event {
        room: RoomId(row.get(1)?),
        room_seq: RoomSeq(unsigned(row.get(2)?)),
        at: Time(unsigned(row.get(3)?)),
        body: Body::Message {
            sender: Arc::new(Who {
                id: UserId(row.get(4)?),
                chosen_id: chosen_id.map(Into::into),
                name: name.into(),
            }),
            text: text.into(),
            epoch: epoch.map(|epoch| Epoch(unsigned(epoch))),
        },
    })
}

/// The words of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryWords(Vec<String>);

impl QueryWords {
    /// The largest number of words.
    pub const MOST: usize = 16;

    /// The words of this text: its parts between blanks with a letter or a digit. None if there is
    /// none, or too many.
    pub fn new(text: &str) -> Option<Self> {
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        let words = words.filter(|word| word.contains(char::is_alphanumeric));
        let words: Vec<_> = words.map(str::to_owned).collect();
        (1..=Self::MOST)
            .contains(&words.len())
            .then_some(Self(words))
    }

    /// The words.
    #[cfg(feature = "postgres")]
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The query of FTS5. Each word is a quoted string, in which only the quote has a meaning, and
    /// matches the beginning of a word, unless it is very short: then too many words begin with it.
    fn within(&self, rooms: &[RoomId]) -> String {
        let rooms: Vec<_> = rooms.iter().map(|room| format!("\"{}\"", room.0)).collect();
        let words = self.0.iter().map(|word| {
            let end = if word.len() < 3 { "" } else { "*" };
            format!("\"{}\"{end}", spaced(word).replace('"', "\"\""))
        });
        let words: Vec<_> = words.collect();
        format!(
            "(room : ({})) AND (text : ({}))",
            rooms.join(" OR "),
            words.join(" ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_parsed_as_words_without_syntax() {
        let query = |text: &str| QueryWords::new(text).map(|words| words.within(&[RoomId(7)]));
        assert_eq!(
            query("tea OR \"room : (1)\" NOT*").as_deref(),
            Some(
                "(room : (\"7\")) AND (text : (\"tea\"* \"OR\" \"\"\"room\"* \"(1)\"\"\"* \"NOT*\"*))"
            )
        );
        assert_eq!(
            query("a\0b").as_deref(),
            Some("(room : (\"7\")) AND (text : (\"a\" \"b\"))")
        );
        for none in ["", " \t", "*", "\" ^ -", &"w ".repeat(17)] {
            assert_eq!(query(none), None, "{none}");
        }
    }
}
