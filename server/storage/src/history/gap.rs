//! Continues at a snapshot where records are gone.

use std::path::Path;

use chat_core::{Event, KeptRoom, Position, RoomSeq, Time};
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::salvage::salvage;
use super::tables::{Reached, Tables, add_message, add_room, count, join, remove_after, set_place};
use crate::sqlite::{signed, unsigned};

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
    let mut next = transaction.prepare_cached(next)?;
    let place = params![event.room.0, signed(event.room_seq.0)];
    let next: Option<i64> = next.query_row(place, |row| row.get(0)).optional()?;
    let last = next.map_or(end.0, |next| unsigned(next).saturating_sub(1));
    let mut free = last.min(end.0);
    let mut taken = transaction.prepare_cached("SELECT 1 FROM messages WHERE id = ?1")?;
    while taken.exists([signed(free)])? {
        free -= 1;
    }
    Ok(Position(free))
}

fn has(transaction: &Transaction<'_>, event: &Event) -> rusqlite::Result<bool> {
    let select = "SELECT 1 FROM messages WHERE room = ?1 AND seq = ?2";
    let mut select = transaction.prepare_cached(select)?;
    select.exists(params![event.room.0, signed(event.room_seq.0)])
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
    let began = room.members.iter().map(|(_, since)| *since).min();
    let began = began.unwrap_or(Time(0));
    add_room(
        transaction,
        room.id,
        room.name.as_deref(),
        (position, began),
    )?;
    let reopen = "UPDATE rooms SET ended_position = NULL, ended_at = NULL
         WHERE room = ?1 AND ended_position IS NOT NULL";
    transaction.prepare_cached(reopen)?.execute([id])?;
    let open = "SELECT 1 FROM memberships WHERE user = ?1 AND room = ?2 AND to_seq IS NULL";
    for (who, since) in &room.members {
        let mut open = transaction.prepare_cached(open)?;
        if open.exists(params![who.id.0, id])? {
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
