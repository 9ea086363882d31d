//! The tables of `history.db`, and what is written to them.
//!
//! Everything is derived from the journal. Each transaction writes the events of some records
//! together with the position and the link of the last one, so that every event is there exactly
//! once, after any crash.

use super::scripts::spaced;
use std::path::Path;
use std::time::Duration;

use chat_core::{Body, Event, KeptRoom, Position, Time, Who};
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

/// The version of the tables. Another version is built anew from the journal.
const FORMAT: i64 = 2;

/// How long another program may lock the database before a write fails.
const BUSY: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
    CREATE TABLE place (
        format INTEGER NOT NULL, realm BLOB NOT NULL,
        position INTEGER NOT NULL, link BLOB
    ) STRICT;
    -- id: the position of the entry that sent it. Of a message that a snapshot alone held: a
    -- position before the snapshot's, in the order of their instants.
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY, room INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
        user INTEGER NOT NULL, chosen_id TEXT, name TEXT NOT NULL, epoch INTEGER,
        text TEXT NOT NULL, UNIQUE (room, seq)
    ) STRICT;
    CREATE TABLE rooms (
        room INTEGER PRIMARY KEY, name TEXT, position INTEGER NOT NULL, at INTEGER NOT NULL,
        ended_position INTEGER, ended_at INTEGER
    ) STRICT;
    -- The member saw the places of the room between from_seq and to_seq.
    CREATE TABLE memberships (
        id INTEGER PRIMARY KEY, user INTEGER NOT NULL, chosen_id TEXT, name TEXT NOT NULL,
        room INTEGER NOT NULL,
        from_seq INTEGER NOT NULL, from_position INTEGER NOT NULL, from_at INTEGER NOT NULL,
        to_seq INTEGER, to_position INTEGER, to_at INTEGER
    ) STRICT;
    CREATE INDEX memberships_of_user ON memberships (user, room, from_seq);
    CREATE INDEX memberships_open ON memberships (room) WHERE to_seq IS NULL;
    CREATE INDEX memberships_ended ON memberships (to_position) WHERE to_seq IS NOT NULL;
    CREATE VIEW participants AS
        SELECT user, chosen_id, name, min(from_position) AS position, min(from_at) AS at
        FROM memberships GROUP BY user, chosen_id, name;
    CREATE VIRTUAL TABLE words USING fts5 (
        room, text, content='messages', content_rowid='id', prefix='2 3', columnsize=0,
        tokenize='unicode61 remove_diacritics 2'
    );
    INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
    CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
        INSERT INTO words (rowid, room, text) VALUES (new.id, new.room, spaced(new.text));
    END;
    CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
        INSERT INTO words (words, rowid, room, text)
        VALUES ('delete', old.id, old.room, spaced(old.text));
    END;
";

/// How far the tables follow the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// The position of the last entry.
    pub(super) position: Position,
    /// The link of its record, unless it is unknown.
    pub(super) link: Option<Vec<u8>>,
}

/// An event, with the position of its entry.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) position: Position,
    pub(super) event: std::sync::Arc<Event>,
    /// The name of the room, if it has one and the event may be its first.
    pub(super) room_name: Option<std::sync::Arc<str>>,
}

/// The tables, open for writing.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) connection: Connection,
    /// The number of messages.
    pub(super) messages: u64,
}

impl Tables {
    /// Opens the file, and creates the tables if they are absent, of another version, or of another
    /// journal.
    pub(super) fn open(path: &Path, realm: u128) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_scalar_function("spaced", 1, flags, |call| {
            let text = call.get_raw(0).as_str()?;
            Ok(spaced(text).into_owned())
        })?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A lost end is written again from the journal.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // A deleted message is overwritten, and not only unlinked.
        connection.pragma_update(None, "secure_delete", "ON")?;
        let mut tables = Self {
            connection,
            messages: 0,
        };
        if !tables.is_current(realm)? {
            tables.create(realm)?;
        }
        let count = "SELECT count(*) FROM messages";
        let count: i64 = tables.connection.query_row(count, [], |row| row.get(0))?;
        tables.messages = u64::try_from(count).unwrap_or(0);
        Ok(tables)
    }

    fn is_current(&self, realm: u128) -> rusqlite::Result<bool> {
        let found = "SELECT 1 FROM sqlite_schema WHERE name = 'place'";
        let found = self
            .connection
            .query_row(found, [], |_| Ok(()))
            .optional()?;
        if found.is_none() {
            return Ok(false);
        }
        let current = "SELECT format, realm FROM place";
        let current = self.connection.query_row(current, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
        });
        let current = current.optional()?;
        Ok(current == Some((FORMAT, realm.to_le_bytes().to_vec())))
    }

    /// Drops all tables and creates empty ones.
    pub(super) fn create(&mut self, realm: u128) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(
            "DROP VIEW IF EXISTS participants; DROP TABLE IF EXISTS words;
             DROP TABLE IF EXISTS messages; DROP TABLE IF EXISTS memberships;
             DROP TABLE IF EXISTS rooms; DROP TABLE IF EXISTS place;",
        )?;
        transaction.execute_batch(SCHEMA)?;
        let place = "INSERT INTO place (format, realm, position) VALUES (?1, ?2, 0)";
        transaction.execute(place, params![FORMAT, realm.to_le_bytes()])?;
        transaction.commit()?;
        self.messages = 0;
        Ok(())
    }

    /// How far the tables follow the journal.
    pub(super) fn place(&self) -> rusqlite::Result<Reached> {
        let place = "SELECT position, link FROM place";
        self.connection.query_row(place, [], |row| {
            Ok(Reached {
                position: Position(unsigned(row.get(0)?)),
                link: row.get(1)?,
            })
        })
    }

    /// Writes these events, and the place after them.
    pub(super) fn write(&mut self, facts: &[Fact], place: &Reached) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let mut added = 0;
        for fact in facts {
            added += apply(&transaction, fact)?;
        }
        set_place(&transaction, place)?;
        transaction.commit()?;
        self.messages += added;
        Ok(())
    }

    /// Empties the WAL, which still has deleted texts.
    pub(super) fn rest(&self) -> rusqlite::Result<()> {
        // If a reader prevents it, the next one does it.
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.connection.query_row(truncate, [], |_| Ok(()))
    }

    /// Removes everything after this position: the journal was cut there.
    pub(super) fn cut(&mut self, after: Position) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let end = signed(after.0);
        let removed = transaction.execute("DELETE FROM messages WHERE id > ?1", [end])?;
        for change in [
            "DELETE FROM memberships WHERE from_position > ?1",
            "DELETE FROM rooms WHERE position > ?1",
            "UPDATE memberships SET to_seq = NULL, to_position = NULL, to_at = NULL
             WHERE to_position > ?1",
            "UPDATE rooms SET ended_position = NULL, ended_at = NULL WHERE ended_position > ?1",
        ] {
            transaction.execute(change, [end])?;
        }
        let place = Reached {
            position: after,
            link: None,
        };
        set_place(&transaction, &place)?;
        transaction.commit()?;
        self.messages -= removed as u64;
        Ok(())
    }

    /// Continues at a snapshot whose records are gone: adds what its rooms still keep, and corrects
    /// who is in them. What a membership saw in between is unknown, and not shown.
    pub(super) fn skip_to(&mut self, rooms: &[KeptRoom], place: &Reached) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let known = "SELECT position FROM place";
        let known: i64 = transaction.query_row(known, [], |row| row.get(0))?;
        close_left(&transaction, rooms, known)?;
        let mut new = Vec::new();
        for room in rooms {
            open_kept(&transaction, room, place.position)?;
            for event in &room.messages {
                if !has(&transaction, event)? {
                    new.push(event);
                }
            }
        }
        new.sort_by_key(|event| (event.at, event.room, event.room_seq));
        // Each was sent by an entry of its own before the snapshot.
        let before = place.position.0 + 1 - new.len() as u64;
        for (id, event) in (before..).zip(&new) {
            add_message(&transaction, Position(id), event)?;
        }
        set_place(&transaction, place)?;
        transaction.commit()?;
        self.messages += new.len() as u64;
        Ok(())
    }
}

fn set_place(transaction: &Transaction<'_>, place: &Reached) -> rusqlite::Result<()> {
    let update = "UPDATE place SET position = ?1, link = ?2";
    let mut update = transaction.prepare_cached(update)?;
    update.execute(params![signed(place.position.0), place.link])?;
    Ok(())
}

/// Writes an event. Returns the number of added messages.
fn apply(transaction: &Transaction<'_>, fact: &Fact) -> rusqlite::Result<u64> {
    let Fact {
        position, event, ..
    } = fact;
    match &event.body {
        Body::Message { .. } => return add_message(transaction, *position, event),
        Body::Found([a, b]) => {
            add_room(transaction, fact)?;
            for who in [a, b] {
                join(transaction, fact, who)?;
            }
        }
        Body::Joined(who) => {
            add_room(transaction, fact)?;
            join(transaction, fact, who)?;
        }
        Body::Left(who) | Body::Kicked { user: who, .. } => {
            leave(transaction, fact, Some(who))?;
        }
        Body::PartnerDisconnected(_) | Body::Closed { .. } => leave(transaction, fact, None)?,
        Body::PartnerAway(_)
        | Body::PartnerReconnected(_)
        | Body::Away(_)
        | Body::Back(_)
        | Body::StickClaimed { .. }
        | Body::StickGranted { .. }
        | Body::StickReleased { .. }
        | Body::StickExpired { .. }
        | Body::Muted { .. } => {}
    }
    Ok(0)
}

fn add_message(
    transaction: &Transaction<'_>,
    position: Position,
    event: &Event,
) -> rusqlite::Result<u64> {
    let Body::Message {
        sender,
        text,
        epoch,
    } = &event.body
    else {
        return Ok(0);
    };
    let insert = "INSERT INTO messages (id, room, seq, at, user, chosen_id, name, epoch, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (room, seq) DO NOTHING";
    let mut insert = transaction.prepare_cached(insert)?;
    let added = insert.execute(params![
        signed(position.0),
        event.room.0,
        signed(event.room_seq.0),
        signed(event.at.0),
        sender.id.0,
        sender.chosen_id,
        sender.name,
        epoch.map(|epoch| signed(epoch.0)),
        &**text,
    ])?;
    Ok(added as u64)
}

fn has(transaction: &Transaction<'_>, event: &Event) -> rusqlite::Result<bool> {
    let select = "SELECT 1 FROM messages WHERE room = ?1 AND seq = ?2";
    let mut select = transaction.prepare_cached(select)?;
    select.exists(params![event.room.0, signed(event.room_seq.0)])
}

fn add_room(transaction: &Transaction<'_>, fact: &Fact) -> rusqlite::Result<()> {
    let insert = "INSERT INTO rooms (room, name, position, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING";
    let mut insert = transaction.prepare_cached(insert)?;
    insert.execute(params![
        fact.event.room.0,
        fact.room_name.as_deref(),
        signed(fact.position.0),
        signed(fact.event.at.0),
    ])?;
    Ok(())
}

fn join(transaction: &Transaction<'_>, fact: &Fact, who: &Who) -> rusqlite::Result<()> {
    let insert = "INSERT INTO memberships
         (user, chosen_id, name, room, from_seq, from_position, from_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = transaction.prepare_cached(insert)?;
    insert.execute(params![
        who.id.0,
        who.chosen_id,
        who.name,
        fact.event.room.0,
        signed(fact.event.room_seq.0),
        signed(fact.position.0),
        signed(fact.event.at.0),
    ])?;
    Ok(())
}

/// Ends the membership of `who`, or of all members. A room without members has ended.
fn leave(transaction: &Transaction<'_>, fact: &Fact, who: Option<&Who>) -> rusqlite::Result<()> {
    let room = fact.event.room.0;
    let (position, at) = (signed(fact.position.0), signed(fact.event.at.0));
    let update = "UPDATE memberships SET to_seq = ?1, to_position = ?2, to_at = ?3
         WHERE room = ?4 AND to_seq IS NULL AND (?5 IS NULL OR user = ?5)";
    let mut update = transaction.prepare_cached(update)?;
    let seq = signed(fact.event.room_seq.0);
    update.execute(params![seq, position, at, room, who.map(|who| who.id.0)])?;
    let end = "UPDATE rooms SET ended_position = ?1, ended_at = ?2 WHERE room = ?3
         AND NOT EXISTS (SELECT 1 FROM memberships WHERE room = ?3 AND to_seq IS NULL)";
    let mut end = transaction.prepare_cached(end)?;
    end.execute(params![position, at, room])?;
    Ok(())
}

/// Ends the open memberships that these rooms do not have, at the last known place.
fn close_left(
    transaction: &Transaction<'_>,
    rooms: &[KeptRoom],
    known: i64,
) -> rusqlite::Result<()> {
    let select = "SELECT id, user, room, from_at FROM memberships WHERE to_seq IS NULL";
    let mut select = transaction.prepare(select)?;
    let mut open = select.query([])?;
    let close = "UPDATE memberships SET to_position = ?1, to_at = from_at, to_seq = 1 +
         coalesce((SELECT max(seq) FROM messages WHERE room = memberships.room), from_seq)
         WHERE id = ?2";
    while let Some(row) = open.next()? {
        let (id, user): (i64, u32) = (row.get(0)?, row.get(1)?);
        let (room, from_at): (u32, Time) = (row.get(2)?, Time(unsigned(row.get(3)?)));
        let found = rooms.binary_search_by_key(&room, |room| room.id.0);
        let stays = found.is_ok_and(|index| {
            let members = rooms[index].members.iter();
            members
                .into_iter()
                .any(|(who, since)| who.id.0 == user && *since == from_at)
        });
        if !stays {
            transaction.execute(close, params![known, id])?;
        }
    }
    let end = "UPDATE rooms SET ended_position = ?1, ended_at = at WHERE ended_position IS NULL
         AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.room = rooms.room AND to_seq IS NULL)";
    transaction.execute(end, [known])?;
    Ok(())
}

/// Opens the memberships of this room that are not open.
fn open_kept(
    transaction: &Transaction<'_>,
    room: &KeptRoom,
    position: Position,
) -> rusqlite::Result<()> {
    let id = room.id.0;
    let began = room.members.iter().map(|(_, since)| since.0).min();
    let insert = "INSERT INTO rooms (room, name, position, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET ended_position = NULL, ended_at = NULL";
    let began = signed(began.unwrap_or(0));
    let row = params![id, room.name.as_deref(), signed(position.0), began];
    transaction.execute(insert, row)?;
    let open = "SELECT 1 FROM memberships WHERE user = ?1 AND room = ?2 AND to_seq IS NULL";
    let insert = "INSERT INTO memberships
         (user, chosen_id, name, room, from_seq, from_position, from_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for (who, since) in &room.members {
        let mut open = transaction.prepare_cached(open)?;
        if open.exists(params![who.id.0, id])? {
            continue;
        }
        // It certainly was a member after the last message up to the instant of its joining.
        let before = room.messages.iter().rev().find(|event| event.at <= *since);
        let first = room.messages.first();
        let from = match (before, first) {
            (Some(before), _) => before.room_seq.0,
            (None, Some(first)) => first.room_seq.0.saturating_sub(1),
            (None, None) => room.last.0,
        };
        transaction.execute(
            insert,
            params![
                who.id.0,
                who.chosen_id,
                who.name,
                id,
                signed(from),
                signed(position.0),
                signed(since.0)
            ],
        )?;
    }
    Ok(())
}

/// SQLite's integers are signed; positions, places and instants never become that large.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A stored number; a negative one was never written, and becomes 0.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
