//! Rows of `history.db`, to be copied.

use std::path::Path;

use rusqlite::{Connection, Row, params};

use crate::history::sums::{MEMBERSHIP, MESSAGE, PLACE, ROOM, open_to_read};
use crate::history::words::vector;

/// The largest number of messages that one transaction copies.
const MESSAGES: i64 = 500;

/// Rows of the file after one position, up to another one. A column each, as PostgreSQL takes them.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The last position.
    pub(super) end: i64,
    /// The link of the journal there, if a record ends there.
    pub(super) link: Option<Vec<u8>>,
    pub(super) messages: Messages,
    pub(super) rooms: Rooms,
    pub(super) memberships: Memberships,
}

#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) id: Vec<i64>,
    pub(super) room: Vec<i64>,
    pub(super) seq: Vec<i64>,
    pub(super) at: Vec<i64>,
    pub(super) participant: Vec<i64>,
    pub(super) chosen_id: Vec<Option<String>>,
    pub(super) name: Vec<String>,
    pub(super) epoch: Vec<Option<i64>>,
    pub(super) text: Vec<String>,
    pub(super) words: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Rooms {
    pub(super) room: Vec<i64>,
    pub(super) name: Vec<Option<String>>,
    pub(super) position: Vec<i64>,
    pub(super) at: Vec<i64>,
    pub(super) ended_position: Vec<Option<i64>>,
    pub(super) ended_at: Vec<Option<i64>>,
}

#[derive(Debug, Default)]
pub(super) struct Memberships {
    pub(super) participant: Vec<i64>,
    pub(super) chosen_id: Vec<Option<String>>,
    pub(super) name: Vec<String>,
    pub(super) room: Vec<i64>,
    pub(super) from_seq: Vec<i64>,
    pub(super) from_position: Vec<i64>,
    pub(super) from_at: Vec<i64>,
    pub(super) to_seq: Vec<Option<i64>>,
    pub(super) to_position: Vec<Option<i64>>,
    pub(super) to_at: Vec<Option<i64>>,
}

/// The next rows after this position, or none if the file has none.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub(super) fn read(file: &Path, after: i64) -> rusqlite::Result<Option<Rows>> {
    let connection = open_to_read(file)?;
    // All of one moment, beside the follower, which writes.
    let moment = connection.unchecked_transaction()?;
    let place = format!("SELECT position, link FROM place WHERE {PLACE}");
    let (place, link): (i64, _) =
        moment.query_row(&place, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if place <= after {
        return Ok(None);
    }
    let last = "SELECT max(id) FROM (SELECT id FROM messages WHERE id > ?1 ORDER BY id LIMIT ?2)";
    let last: Option<i64> = moment.query_row(last, [after, MESSAGES], |row| row.get(0))?;
    let mut rows = Rows {
        end: place,
        link,
        ..Rows::default()
    };
    rows.messages
        .read(&moment, (after, last.unwrap_or(place)))?;
    if rows.messages.id.len() as i64 == MESSAGES {
        rows.end = last.unwrap_or(place);
        rows.link = rows.link.filter(|_| rows.end == place);
    }
    rows.rooms.read(&moment, (after, rows.end))?;
    rows.memberships.read(&moment, (after, rows.end))?;
    Ok(Some(rows))
}

impl Messages {
    fn read(&mut self, file: &Connection, (after, end): (i64, i64)) -> rusqlite::Result<()> {
        let select = format!(
            "SELECT id, room, seq, at, user, chosen_id, name, epoch, text FROM messages
             WHERE id > ?1 AND id <= ?2 AND {MESSAGE} ORDER BY id"
        );
        each(file, &select, (after, end), |row| {
            let text: String = row.get(8)?;
            self.id.push(row.get(0)?);
            self.room.push(row.get(1)?);
            self.seq.push(row.get(2)?);
            self.at.push(row.get(3)?);
            self.participant.push(row.get(4)?);
            self.chosen_id.push(without_nul(row.get(5)?));
            self.name.push(text_of(row.get(6)?));
            self.epoch.push(row.get(7)?);
            self.words.push(vector(row.get(1)?, &text));
            self.text.push(text_of(text));
            Ok(())
        })
    }
}

impl Rooms {
    fn read(&mut self, file: &Connection, span: (i64, i64)) -> rusqlite::Result<()> {
        let select = format!(
            "SELECT room, name, position, at, ended_position, ended_at FROM rooms
             WHERE ((position > ?1 AND position <= ?2)
                 OR (ended_position > ?1 AND ended_position <= ?2)) AND {ROOM}"
        );
        each(file, &select, span, |row| {
            self.room.push(row.get(0)?);
            self.name.push(without_nul(row.get(1)?));
            self.position.push(row.get(2)?);
            self.at.push(row.get(3)?);
            self.ended_position.push(row.get(4)?);
            self.ended_at.push(row.get(5)?);
            Ok(())
        })
    }
}

impl Memberships {
    fn read(&mut self, file: &Connection, span: (i64, i64)) -> rusqlite::Result<()> {
        let select = format!(
            "SELECT user, chosen_id, name, room, from_seq, from_position, from_at, to_seq,
                 to_position, to_at FROM memberships
             WHERE ((from_position > ?1 AND from_position <= ?2)
                 OR (to_position > ?1 AND to_position <= ?2)) AND {MEMBERSHIP}"
        );
        each(file, &select, span, |row| {
            self.participant.push(row.get(0)?);
            self.chosen_id.push(without_nul(row.get(1)?));
            self.name.push(text_of(row.get(2)?));
            self.room.push(row.get(3)?);
            self.from_seq.push(row.get(4)?);
            self.from_position.push(row.get(5)?);
            self.from_at.push(row.get(6)?);
            self.to_seq.push(row.get(7)?);
            self.to_position.push(row.get(8)?);
            self.to_at.push(row.get(9)?);
            Ok(())
        })
    }
}

fn each(
    file: &Connection,
    select: &str,
    (after, end): (i64, i64),
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut select = file.prepare(select)?;
    let mut rows = select.query(params![after, end])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// PostgreSQL's texts cannot have the character NUL: its symbol stands in for it.
fn text_of(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', "\u{2400}"),
        false => text,
    }
}

fn without_nul(text: Option<String>) -> Option<String> {
    text.map(text_of)
}
