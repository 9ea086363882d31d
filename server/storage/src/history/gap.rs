//! Continues at a snapshot where records are gone; and takes the sound rows of damaged tables, where the
//! journal cannot give them again.

use std::path::Path;

use chat_core::{Event, KeptRoom, Position, RoomSeq, Time};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params, params_from_iter};

use super::sums::{KINDS, Kind, open_to_read};
use super::tables::{
    Reached, Tables, add_message, add_room, count, join, origin_of, remove_after, set_place,
};
use crate::sqlite::{execute, exists, signed, unsigned, value};

impl Tables {
    /// Continues at a snapshot whose records are gone: adds what its rooms still keep, and corrects
    /// who is in them. What a membership saw in between is unknown, and not shown. `damaged` are
    /// tables whose sound rows up to the snapshot are taken first.
    pub(super) fn skip_to(
        &mut self,
        rooms: &[KeptRoom],
        place: &Reached,
        damaged: Option<&Path>,
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        if let Some(damaged) = damaged {
            salvage(&transaction, damaged, place.position)?;
            remove_after(&transaction, place.position)?;
            set_place(&transaction, place)?;
        }
        let known = value(&transaction, "SELECT position FROM place", [])?;
        close_left(&transaction, rooms, known)?;
        let mut new = Vec::new();
        for room in rooms {
            open_kept(&transaction, room, place.position)?;
            for event in &room.messages {
                let message = "SELECT 1 FROM messages WHERE room = ?1 AND seq = ?2";
                let place = params![event.room.0, signed(event.room_seq.0)];
                if !exists(&transaction, message, place)? {
                    new.push(event);
                }
            }
        }
        new.sort_by_key(|event| (event.at, event.room, event.room_seq));
        let mut end = place.position;
        for event in new.into_iter().rev() {
            let id = free_before(&transaction, event, end)?;
            add_message(&transaction, id, event)?;
            // All others are older, so each position is looked at once.
            end = Position(id.0.saturating_sub(1));
        }
        set_place(&transaction, place)?;
        let messages = count(&transaction)?;
        transaction.commit()?;
        self.messages = messages;
        Ok(())
    }
}

/// The last position without a message before the next message of the event's room, and not after
/// `end`. An entry of its own has sent each message.
fn free_before(
    transaction: &Transaction<'_>,
    event: &Event,
    end: Position,
) -> rusqlite::Result<Position> {
    let next = "SELECT id FROM messages WHERE room = ?1 AND seq > ?2 ORDER BY seq LIMIT 1";
    let place = params![event.room.0, signed(event.room_seq.0)];
    let next: Option<i64> = value(transaction, next, place).optional()?;
    let last = next.map_or(end.0, |next| unsigned(next).saturating_sub(1));
    let mut free = last.min(end.0);
    let mut taken = transaction.prepare_cached("SELECT 1 FROM messages WHERE id = ?1")?;
    while taken.exists([signed(free)])? {
        free -= 1;
    }
    Ok(Position(free))
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
        let (id, user): (i64, u64) = (row.get(0)?, row.get(1)?);
        let (room, from_at): (u64, Time) = (row.get(2)?, Time(unsigned(row.get(3)?)));
        let found = rooms.binary_search_by_key(&room, |room| room.id.0);
        let stays = found.is_ok_and(|index| {
            let mut members = rooms[index].members.iter();
            members.any(|(who, since)| who.id.0 == user && *since == from_at)
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
    let began = room.members.iter().map(|(_, since)| *since).min();
    let began = (position, began.unwrap_or(Time(0)));
    add_room(transaction, room.id, room.name.as_deref(), began)?;
    let reopen = "UPDATE rooms SET ended_position = NULL, ended_at = NULL
         WHERE room = ?1 AND ended_position IS NOT NULL";
    execute(transaction, reopen, [id])?;
    let open = "SELECT 1 FROM memberships WHERE user = ?1 AND room = ?2 AND to_seq IS NULL";
    for (who, since) in &room.members {
        if exists(transaction, open, params![who.id.0, id])? {
            continue;
        }
        // It certainly was a member after the last message up to the instant of its joining.
        let before = room.messages.iter().rev().find(|event| event.at <= *since);
        let first = room.messages.first();
        let from = match (before, first) {
            (Some(before), _) => before.room_seq,
            (None, Some(first)) => RoomSeq(first.room_seq.0.saturating_sub(1)),
            (None, None) => room.last,
        };
        join(transaction, who, (room.id, from), (position, *since))?;
    }
    Ok(())
}

/// Copies the sound rows of the damaged file up to this position into empty tables, and counts in
/// `place` those that are lost. An unreadable part counts as one row.
///
/// # Errors
/// The tables cannot be written. An unreadable file has lost all, and is no error.
fn salvage(into: &Transaction<'_>, damaged: &Path, until: Position) -> rusqlite::Result<()> {
    let mut lost = 0_i64;
    match open_same(into, damaged) {
        Ok(from) => {
            for kind in &KINDS {
                lost += take(kind, &from, into, until)?;
            }
        }
        Err(error) => {
            tracing::error!(%error, "nothing can be taken from the damaged history");
            lost = 1;
        }
    }
    if lost > 0 {
        tracing::error!(
            lost,
            "rows of the history are damaged, and no longer in the journal"
        );
    }
    let update = "UPDATE place SET lost = lost + ?1,
         sum = row_sum(format, realm, position, link, lost + ?1)";
    into.execute(update, [lost])?;
    Ok(())
}

/// Opens the damaged file, if it is of the same journal and of this version.
fn open_same(into: &Transaction<'_>, damaged: &Path) -> rusqlite::Result<Connection> {
    let from = open_to_read(damaged)?;
    match origin_of(into)? == origin_of(&from)? {
        true => Ok(from),
        false => Err(rusqlite::Error::QueryReturnedNoRows),
    }
}

/// Takes the sound rows of one table. Returns the number of lost ones.
fn take(
    kind: &Kind,
    from: &Connection,
    into: &Transaction<'_>,
    until: Position,
) -> rusqlite::Result<i64> {
    let Kind {
        table,
        key,
        position,
        columns,
        sums,
    } = kind;
    let count = columns.split(',').count();
    let places = vec!["?"; count].join(", ");
    let insert = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})");
    let mut insert = into.prepare(&insert)?;
    let keys = format!("SELECT {key}, {position} FROM {table} WHERE {key} > ?1 ORDER BY {key}");
    let select = format!("SELECT {columns} FROM {table} WHERE {key} = ?1 AND {sums}");
    let (keys, mut lost) = keys_of(from, &keys);
    for (key, position) in keys {
        let row = from.prepare_cached(&select).and_then(|mut select| {
            select.query_row([key], |row| {
                let values = (0..count).map(|index| row.get(index));
                values.collect::<rusqlite::Result<Vec<Value>>>()
            })
        });
        match row {
            Ok(values) => {
                insert.execute(params_from_iter(values))?;
            }
            // The journal has what is later.
            Err(_) if position <= signed(until.0) => lost += 1,
            Err(_) => {}
        }
    }
    Ok(lost)
}

/// The keys and positions of the rows from both ends of the table, each up to a part that cannot be
/// read, and the number of such parts.
fn keys_of(from: &Connection, select: &str) -> (Vec<(i64, i64)>, i64) {
    let mut found = Vec::new();
    for order in ["ASC", "DESC"] {
        let above = found.last().map_or(i64::MIN, |(key, _)| *key);
        let mut read = || -> rusqlite::Result<()> {
            let mut select = from.prepare(&format!("{select} {order}"))?;
            let rows = select.query_map([above], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for row in rows {
                found.push(row?);
            }
            Ok(())
        };
        if read().is_ok() && order == "ASC" {
            return (found, 0);
        }
    }
    (found, 1)
}
