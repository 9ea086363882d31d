//! The history as JSON lines, at one moment.
//!
//! The first line says what it is and up to which position, then come rooms, participants,
//! memberships and messages, and the last line has the number of lines before it.

use std::io::Write;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Map, Value, json};

use super::UpkeepError;
use crate::history;
use crate::wire::timestamp;

/// The version of the lines.
const FORMAT: u32 = 1;

/// The kinds of lines, each with its query. A column `…at` is an instant; `room` and `user` become
/// ids.
const KINDS: [(&str, &str); 4] = [
    (
        "room",
        "SELECT room AS room_id, name, position, at, ended_position, ended_at
         FROM rooms ORDER BY room",
    ),
    (
        "participant",
        "SELECT user AS user_id, chosen_id, name AS display_name, position, at
         FROM participants ORDER BY position, user",
    ),
    (
        "membership",
        "SELECT user AS user_id, chosen_id, room AS room_id, from_seq, from_position, from_at,
         to_seq, to_position, to_at FROM memberships ORDER BY from_position, id",
    ),
    (
        "message",
        "SELECT id AS position, room AS room_id, seq AS room_seq, at, user AS user_id, chosen_id,
         name AS display_name, epoch, text AS message FROM messages ORDER BY id",
    ),
];

/// Writes the history of the journal in `data`.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn export(data: &Path, out: &mut dyn Write) -> Result<(), UpkeepError> {
    let path = history::path_in(data);
    if !path.exists() {
        return Err(UpkeepError::NoHistory { path });
    }
    let wrong = || UpkeepError::sqlite(&path);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(wrong())?;
    // One transaction: all lines are of one moment.
    let moment = connection.unchecked_transaction().map_err(wrong())?;
    let place = "SELECT position FROM place";
    let position: i64 = moment
        .query_row(place, [], |row| row.get(0))
        .map_err(wrong())?;
    let head = json!({ "kind": "export", "format": FORMAT, "position": position });
    writeln!(out, "{head}")?;
    let mut lines = 1_u64;
    for (kind, query) in KINDS {
        let mut select = moment.prepare(query).map_err(wrong())?;
        let names: Vec<String> = select.column_names().map(Into::into).collect();
        let mut rows = select.query([]).map_err(wrong())?;
        while let Some(row) = rows.next().map_err(wrong())? {
            let line = line(kind, &names, row).map_err(wrong())?;
            writeln!(out, "{line}")?;
            lines += 1;
        }
    }
    writeln!(out, "{}", json!({ "kind": "end", "lines": lines }))?;
    Ok(())
}

fn line(kind: &str, names: &[String], row: &Row<'_>) -> rusqlite::Result<Value> {
    let mut line = Map::new();
    line.insert("kind".into(), kind.into());
    let chosen: Option<String> = match names.iter().position(|name| name == "chosen_id") {
        Some(index) => row.get(index)?,
        None => None,
    };
    for (index, name) in names.iter().enumerate() {
        let value = match row.get_ref(index)? {
            _ if name == "chosen_id" => continue,
            rusqlite::types::ValueRef::Null => Value::Null,
            rusqlite::types::ValueRef::Integer(number) => integer(name, number, chosen.as_deref()),
            rusqlite::types::ValueRef::Real(number) => number.into(),
            rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
                String::from_utf8_lossy(text).into()
            }
        };
        line.insert(name.clone(), value);
    }
    Ok(line.into())
}

fn integer(name: &str, number: i64, chosen: Option<&str>) -> Value {
    match name {
        "room_id" => format!("room_{number}").into(),
        "user_id" => match chosen {
            Some(chosen) => chosen.into(),
            None => format!("user_{number}").into(),
        },
        name if name == "at" || name.ends_with("_at") => {
            let micros = u64::try_from(number).unwrap_or(0);
            timestamp(chat_core::Time(micros)).into()
        }
        _ => number.into(),
    }
}
