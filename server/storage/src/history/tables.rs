//! The tables of `history.db`, and what is written to them.
//!
//! Everything is derived from the journal. Each transaction writes the events of some records
//! together with the position and the link of the last one, so that every event is there exactly
//! once, after any crash.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chat_core::{Body, Event, Position, RoomId, RoomSeq, Time, UserId, Who};
use rusqlite::{Connection, Transaction, params};
use server_settings::Retention;

use super::sums::{self, PLACE, has_sums};
use crate::private::{self, Access};
use crate::sqlite::{bytes, empty_wal, execute, signed, unsigned, value};

/// The version of the tables. Another version is built anew from the journal.
pub(super) const FORMAT: i64 = 6;

/// The largest number of rows that one transaction deletes.
const BATCH: u64 = 500;

/// How many messages above their limit wait for the copy, before they are deleted without it.
const UNCOPIED: u64 = 100_000;

/// How long another program may lock the database before a write fails.
const BUSY: Duration = Duration::from_secs(5);

pub(super) const SCHEMA: &str = "
    -- lost: rows that were damaged, and that the journal no longer had. sum, end_sum: see sums.rs.
    CREATE TABLE place (
        format INTEGER NOT NULL, realm BLOB NOT NULL,
        position INTEGER NOT NULL, link BLOB, lost INTEGER NOT NULL, sum INTEGER NOT NULL
    ) STRICT;
    -- addressees: of each member in its order a line of number, chosen id and name, with tabs between.
    -- id: the position of the entry that sent it. Of a message that a snapshot alone held: a
    -- position before the snapshot's, in the order of their instants.
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY, room INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
        user INTEGER NOT NULL, chosen_id TEXT, name TEXT NOT NULL, epoch INTEGER,
        addressees TEXT, text TEXT NOT NULL, sum INTEGER NOT NULL, UNIQUE (room, seq)
    ) STRICT;
    CREATE TABLE rooms (
        room INTEGER PRIMARY KEY, name TEXT, position INTEGER NOT NULL, at INTEGER NOT NULL,
        ended_position INTEGER, ended_at INTEGER, sum INTEGER, end_sum INTEGER
    ) STRICT;
    -- The member saw the places of the room between from_seq and to_seq.
    CREATE TABLE memberships (
        id INTEGER PRIMARY KEY, user INTEGER NOT NULL, chosen_id TEXT, name TEXT NOT NULL,
        room INTEGER NOT NULL,
        from_seq INTEGER NOT NULL, from_position INTEGER NOT NULL, from_at INTEGER NOT NULL,
        to_seq INTEGER, to_position INTEGER, to_at INTEGER, sum INTEGER, end_sum INTEGER
    ) STRICT;
    CREATE INDEX memberships_of_user ON memberships (user, room, from_seq);
    CREATE INDEX memberships_open ON memberships (room) WHERE to_seq IS NULL;
    -- For a copy, which takes what is new.
    CREATE INDEX memberships_begun ON memberships (from_position);
    CREATE INDEX rooms_begun ON rooms (position);
    CREATE INDEX rooms_ended ON rooms (ended_position) WHERE ended_position IS NOT NULL;
    CREATE INDEX memberships_ended ON memberships (to_position) WHERE to_seq IS NOT NULL;
    CREATE VIEW participants AS
        SELECT user, chosen_id, name, min(from_position) AS position, min(from_at) AS at
        FROM memberships GROUP BY user, chosen_id, name;
    -- Two sums, because a change of the end must not confirm a damaged beginning.
    CREATE TRIGGER room_added AFTER INSERT ON rooms BEGIN
        UPDATE rooms SET sum = row_sum(new.room, new.name, new.position, new.at),
            end_sum = row_sum(new.room, new.ended_position, new.ended_at)
        WHERE room = new.room;
    END;
    CREATE TRIGGER room_ended AFTER UPDATE OF ended_position, ended_at ON rooms BEGIN
        UPDATE rooms SET end_sum = row_sum(new.room, new.ended_position, new.ended_at)
        WHERE room = new.room;
    END;
    CREATE TRIGGER membership_added AFTER INSERT ON memberships BEGIN
        UPDATE memberships SET sum = row_sum(new.id, new.user, new.chosen_id, new.name, new.room,
                new.from_seq, new.from_position, new.from_at),
            end_sum = row_sum(new.id, new.to_seq, new.to_position, new.to_at)
        WHERE id = new.id;
    END;
    CREATE TRIGGER membership_ended AFTER UPDATE OF to_seq, to_position, to_at ON memberships BEGIN
        UPDATE memberships SET end_sum = row_sum(new.id, new.to_seq, new.to_position, new.to_at)
        WHERE id = new.id;
    END;
";

/// The index of words, which knows the messages that have a word, and not where: see words.rs.
pub(super) const INDEX: &str = "
    CREATE VIEW spoken AS SELECT id, scoped(room, text) AS text FROM messages;
    CREATE VIRTUAL TABLE words USING fts5 (
        text, content='spoken', content_rowid='id', detail=none, columnsize=0, tokenize='ascii'
    );
    INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
    CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
        INSERT INTO words (rowid, text) VALUES (new.id, scoped(new.room, new.text));
    END;
    CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
        SELECT checked(old.sum, old.id, old.room, old.seq, old.at, old.user, old.chosen_id, old.name,
            old.epoch, old.addressees, old.text);
        INSERT INTO words (words, rowid, text)
        VALUES ('delete', old.id, scoped(old.room, old.text));
    END;
";

/// The statements, of SQLite and of PostgreSQL, that remove all of rooms and memberships after a position.
pub(super) const CUTS: [&str; 4] = [
    "DELETE FROM memberships WHERE from_position > $1",
    "DELETE FROM rooms WHERE position > $1",
    "UPDATE memberships SET to_seq = NULL, to_position = NULL, to_at = NULL WHERE to_position > $1",
    "UPDATE rooms SET ended_position = NULL, ended_at = NULL WHERE ended_position > $1",
];

/// Whether the follower has other work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// It has nothing else to do.
    Low,
    /// There may be more records.
    High,
}

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
    pub(super) event: Arc<Event>,
    /// The name of the room, if it has one and the event may be its first.
    pub(super) room_name: Option<Arc<str>>,
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
        let connection = private::database(path, Access::Write)?;
        connection.busy_timeout(BUSY)?;
        sums::define(&connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A lost end is written again from the journal.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // A deleted message is overwritten, and not only unlinked.
        connection.pragma_update(None, "secure_delete", "ON")?;
        let mut tables = Self {
            connection,
            messages: 0,
        };
        if format_of(&tables.connection, realm)? != Some(FORMAT) {
            tables.create(realm)?;
        }
        tables.messages = count(&tables.connection)?;
        Ok(tables)
    }

    /// Drops all tables and creates empty ones.
    pub(super) fn create(&mut self, realm: u128) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(
            "DROP TABLE IF EXISTS words; DROP VIEW IF EXISTS spoken;
             DROP VIEW IF EXISTS participants; DROP TABLE IF EXISTS messages;
             DROP TABLE IF EXISTS memberships; DROP TABLE IF EXISTS rooms;
             DROP TABLE IF EXISTS place;",
        )?;
        transaction.execute_batch(SCHEMA)?;
        transaction.execute_batch(INDEX)?;
        let place = "INSERT INTO place (format, realm, position, lost, sum)
             VALUES (?1, ?2, 0, 0, row_sum(?1, ?2, 0, NULL, 0))";
        transaction.execute(place, params![FORMAT, realm.to_le_bytes()])?;
        transaction.commit()?;
        self.messages = 0;
        Ok(())
    }

    /// How far the tables follow the journal.
    pub(super) fn place(&self) -> rusqlite::Result<Reached> {
        let place = format!("SELECT position, link FROM place WHERE {PLACE}");
        self.connection.query_row(&place, [], |row| {
            Ok(Reached {
                position: Position(unsigned(row.get(0)?)),
                link: row.get(1)?,
            })
        })
    }

    /// The number of rows that were damaged, and that the journal no longer had.
    pub(super) fn lost(&self) -> rusqlite::Result<u64> {
        value(&self.connection, "SELECT lost FROM place", []).map(unsigned)
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
        empty_wal(&self.connection).map(|_| ())
    }

    /// Removes everything after this position: the journal was cut there.
    pub(super) fn cut(&mut self, after: Position) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let removed = remove_after(&transaction, after)?;
        let place = Reached {
            position: after,
            link: None,
        };
        set_place(&transaction, &place)?;
        transaction.commit()?;
        self.messages -= removed;
        Ok(())
    }

    /// Deletes at most a batch of the oldest messages that exceed a limit, and the memberships and
    /// rooms that ended before all others. Returns whether there may be more.
    ///
    /// Under load it waits until there is much to delete: a hundredth of the limit, or a batch.
    /// Messages after `copied` stay, unless they are too old or far too many.
    pub(super) fn trim(
        &mut self,
        retention: Retention,
        now: Time,
        (load, copied): (Load, Position),
    ) -> rusqlite::Result<bool> {
        let (mut end, mut over) = (Position(u64::MAX), 0);
        if let Some(most) = retention.messages {
            let more = self.messages.saturating_sub(most);
            if load == Load::Low || more > (most / 100).min(BATCH) {
                over = more.min(BATCH);
            }
            if more <= UNCOPIED {
                end = copied;
            }
        }
        if let Some(most) = retention.bytes
            && bytes(&self.connection)? > most
        {
            over = BATCH;
        }
        let mut old = match retention.age {
            Some(age) => self.older_than(now.0.saturating_sub(age.0))?,
            None => 0,
        };
        if load == Load::High && old < BATCH {
            old = 0;
        }
        if over.max(old) == 0 {
            return Ok(false);
        }
        let transaction = self.connection.transaction()?;
        let mut deleted = 0;
        let delete = "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE id <= ?1
             ORDER BY id LIMIT ?2)";
        for (end, number) in [(Position(u64::MAX), old), (end, over.saturating_sub(old))] {
            deleted += execute(&transaction, delete, [signed(end.0), signed(number)])?;
        }
        // Without a message after its end, a membership or a room shows nothing.
        for delete in [
            "DELETE FROM memberships WHERE id IN (SELECT id FROM memberships
             WHERE to_seq IS NOT NULL AND to_position < ?1 ORDER BY to_position LIMIT ?2)",
            "DELETE FROM rooms WHERE room IN (SELECT room FROM rooms
             WHERE ended_position < ?1 LIMIT ?2)",
        ] {
            let first = "SELECT coalesce(min(id), (SELECT position FROM place)) FROM messages";
            let first: i64 = value(&transaction, first, [])?;
            execute(&transaction, delete, [first, signed(2 * BATCH)])?;
        }
        transaction.commit()?;
        self.messages -= deleted;
        Ok(deleted == BATCH)
    }

    /// The number of messages before this instant, at most a batch.
    fn older_than(&self, instant: u64) -> rusqlite::Result<u64> {
        // Instants ascend with positions.
        let count = "SELECT count(*) FROM (SELECT at FROM messages ORDER BY id LIMIT ?2)
             WHERE at < ?1";
        let values = [signed(instant), signed(BATCH)];
        value(&self.connection, count, values).map(unsigned)
    }
}

/// The number of messages.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<u64> {
    value(connection, "SELECT count(*) FROM messages", []).map(unsigned)
}

/// The version of the tables, if they are of this journal.
///
/// # Errors
/// They are damaged.
fn format_of(connection: &Connection, realm: u128) -> rusqlite::Result<Option<i64>> {
    if !has_sums(connection)? {
        return Ok(None);
    }
    let (format, of) = origin_of(connection)?;
    Ok((of == realm.to_le_bytes()).then_some(format))
}

/// The version of the tables, and the realm of their journal.
pub(super) fn origin_of(connection: &Connection) -> rusqlite::Result<(i64, Vec<u8>)> {
    let place = format!("SELECT format, realm FROM place WHERE {PLACE}");
    connection.query_row(&place, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Removes everything after this position. Returns the number of removed messages.
pub(super) fn remove_after(
    transaction: &Transaction<'_>,
    position: Position,
) -> rusqlite::Result<u64> {
    let end = signed(position.0);
    let removed = transaction.execute("DELETE FROM messages WHERE id > ?1", [end])?;
    for change in CUTS {
        transaction.execute(change, [end])?;
    }
    Ok(removed as u64)
}

pub(super) fn set_place(transaction: &Transaction<'_>, place: &Reached) -> rusqlite::Result<()> {
    let update = "UPDATE place SET position = ?1, link = ?2,
         sum = row_sum(format, realm, ?1, ?2, lost)";
    execute(
        transaction,
        update,
        params![signed(place.position.0), place.link],
    )?;
    Ok(())
}

/// Writes an event. Returns the number of added messages.
fn apply(transaction: &Transaction<'_>, fact: &Fact) -> rusqlite::Result<u64> {
    let (event, at) = (&fact.event, (fact.position, fact.event.at));
    let entered: &[&Arc<Who>] = match &event.body {
        Body::Message { .. } => return add_message(transaction, fact.position, event),
        Body::Found([a, b]) => &[a, b],
        Body::Joined(who) => &[who],
        Body::Left(who) | Body::Kicked { user: who, .. } => {
            return leave(transaction, fact, Some(who)).map(|()| 0);
        }
        Body::PartnerDisconnected(_) | Body::Closed { .. } => {
            return leave(transaction, fact, None).map(|()| 0);
        }
        Body::PartnerAway(_)
        | Body::PartnerReconnected(_)
        | Body::Away(_)
        | Body::Back(_)
        | Body::StickClaimed { .. }
        | Body::StickGranted { .. }
        | Body::StickReleased { .. }
        | Body::StickExpired { .. }
        | Body::Muted { .. } => return Ok(0),
    };
    // It may be the beginning of the room.
    add_room(transaction, event.room, fact.room_name.as_deref(), at)?;
    for who in entered {
        join(transaction, who, (event.room, event.room_seq), at)?;
    }
    Ok(0)
}

pub(super) fn add_message(
    transaction: &Transaction<'_>,
    position: Position,
    event: &Event,
) -> rusqlite::Result<u64> {
    let Body::Message {
        sender,
        text,
        epoch,
        to,
    } = &event.body
    else {
        return Ok(0);
    };
    let insert = "INSERT INTO messages
         (id, room, seq, at, user, chosen_id, name, epoch, addressees, text, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
             row_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))
         ON CONFLICT (room, seq) DO NOTHING";
    let message = params![
        signed(position.0),
        event.room.0,
        signed(event.room_seq.0),
        signed(event.at.0),
        sender.id.0,
        sender.chosen_id,
        sender.name,
        epoch.map(|epoch| signed(epoch.0)),
        written(to),
        &**text,
    ];
    execute(transaction, insert, message)
}

/// The addressees of a message, as its row has them.
fn written(to: &[Arc<Who>]) -> Option<String> {
    let lines = to.iter().map(|who| {
        let chosen_id = who.chosen_id.as_deref().unwrap_or_default();
        format!("{}\t{chosen_id}\t{}", who.id.0, who.name)
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The addressees in a row.
pub(super) fn addressees(written: Option<&str>) -> Box<[Arc<Who>]> {
    let lines = written.into_iter().flat_map(str::lines);
    let who = lines.filter_map(|line| {
        let mut parts = line.splitn(3, '\t');
        Some(Arc::new(Who {
            id: UserId(parts.next()?.parse().ok()?),
            chosen_id: parts.next().filter(|id| !id.is_empty()).map(Into::into),
            name: parts.next()?.into(),
        }))
    });
    who.collect()
}

/// Writes a room that began there, unless it is known.
pub(super) fn add_room(
    transaction: &Transaction<'_>,
    room: RoomId,
    name: Option<&str>,
    (position, at): (Position, Time),
) -> rusqlite::Result<()> {
    let insert = "INSERT INTO rooms (room, name, position, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING";
    let room = params![room.0, name, signed(position.0), signed(at.0)];
    execute(transaction, insert, room)?;
    Ok(())
}

/// Writes a membership that began there.
pub(super) fn join(
    transaction: &Transaction<'_>,
    who: &Who,
    (room, seq): (RoomId, RoomSeq),
    (position, at): (Position, Time),
) -> rusqlite::Result<()> {
    let insert = "INSERT INTO memberships
         (user, chosen_id, name, room, from_seq, from_position, from_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let (seq, position, at) = (signed(seq.0), signed(position.0), signed(at.0));
    let membership = params![who.id.0, who.chosen_id, who.name, room.0, seq, position, at];
    execute(transaction, insert, membership)?;
    Ok(())
}

/// Ends the membership of `who`, or of all members. A room without members has ended.
fn leave(transaction: &Transaction<'_>, fact: &Fact, who: Option<&Who>) -> rusqlite::Result<()> {
    let room = fact.event.room.0;
    let (position, at) = (signed(fact.position.0), signed(fact.event.at.0));
    let update = "UPDATE memberships SET to_seq = ?1, to_position = ?2, to_at = ?3
         WHERE room = ?4 AND to_seq IS NULL AND (?5 IS NULL OR user = ?5)";
    let seq = signed(fact.event.room_seq.0);
    let left = params![seq, position, at, room, who.map(|who| who.id.0)];
    execute(transaction, update, left)?;
    let end = "UPDATE rooms SET ended_position = ?1, ended_at = ?2 WHERE room = ?3
         AND NOT EXISTS (SELECT 1 FROM memberships WHERE room = ?3 AND to_seq IS NULL)";
    execute(transaction, end, params![position, at, room])?;
    Ok(())
}
