//! The history as JSON lines, at one moment.
//!
//! The first line says what it is and up to which position, then come rooms, participants,
//! memberships and messages, and the last line has the number of lines before it.

use std::io::Write;
use std::path::Path;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};
use server_chat::render_text;
use server_chat::wire::timestamp;
use server_storage::history;

use super::UpkeepError;

/// The version of the lines.
const FORMAT: u32 = 1;

/// What a folder without a history lacks.
const NO_HISTORY: &str = "there is no history yet; a server that starts with this folder makes it";

/// The kinds of lines: the name, the query, what fails at a damaged row, and the end of the query. A
/// column `…at` is an instant; `room` and `user` become ids.
const KINDS: [[&str; 4]; 4] = [
    [
        "room",
        "SELECT room AS room_id, name, position, at, ended_position, ended_at FROM rooms",
        history::ROOM,
        "ORDER BY room",
    ],
    [
        "participant",
        "SELECT user AS user_id, chosen_id, name AS display_name,
             min(from_position) AS position, min(from_at) AS at FROM memberships",
        history::MEMBERSHIP,
        "GROUP BY user, chosen_id, name ORDER BY position, user",
    ],
    [
        "membership",
        "SELECT user AS user_id, chosen_id, room AS room_id, from_seq, from_position,
             from_at, to_seq, to_position, to_at FROM memberships",
        history::MEMBERSHIP,
        "ORDER BY from_position, id",
    ],
    [
        "message",
        "SELECT id AS position, room AS room_id, seq AS room_seq, at, user AS user_id,
             chosen_id, name AS display_name, epoch, text AS message FROM messages",
        history::MESSAGE,
        "ORDER BY id",
    ],
];

/// Writes the history of the journal in `data`.
///
/// # Errors
/// There is none, or it cannot be read or is damaged.
pub fn export(data: &Path, out: &mut dyn Write) -> Result<(), UpkeepError> {
    let path = history::path_in(data);
    if !path.try_exists().map_err(UpkeepError::file(data))? {
        return Err(UpkeepError::at(&path, NO_HISTORY));
    }
    let wrong = || {
        |error: rusqlite::Error| match history::is_damage(&error) {
            true => UpkeepError::at(&path, history::DAMAGED),
            false => UpkeepError::database(&path)(error),
        }
    };
    let connection = history::open_to_read(&path).map_err(wrong())?;
    if !history::has_sums(&connection).map_err(wrong())? {
        return Err(UpkeepError::at(&path, NO_HISTORY));
    }
    // One transaction: all lines are of one moment.
    let moment = connection.unchecked_transaction().map_err(wrong())?;
    let place = format!("SELECT position FROM place WHERE {}", history::PLACE);
    let position: i64 = moment
        .query_row(&place, [], |row| row.get(0))
        .map_err(wrong())?;
    let head = json!({ "kind": "export", "format": FORMAT, "position": position });
    writeln!(out, "{head}")?;
    let mut lines = 1_u64;
    for [name, select, sums, end] in KINDS {
        let query = format!("{select} WHERE {sums} {end}");
        let mut select = moment.prepare(&query).map_err(wrong())?;
        let names: Vec<String> = select.column_names().map(Into::into).collect();
        let mut rows = select.query([]).map_err(wrong())?;
        while let Some(row) = rows.next().map_err(wrong())? {
            let line = line(name, &names, row).map_err(wrong())?;
            writeln!(out, "{}", render_text::json_line(&line))?;
            lines += 1;
        }
    }
    writeln!(out, "{}", json!({ "kind": "end", "lines": lines }))?;
    Ok(())
}

fn line(kind: &str, names: &[String], row: &Row<'_>) -> rusqlite::Result<Value> {
    let mut line = Map::new();
    line.insert("kind".into(), kind.into());
    let chosen = names.iter().position(|name| name == "chosen_id");
    let chosen = chosen.map(|index| row.get::<_, Option<String>>(index));
    let chosen = chosen.transpose()?.flatten();
    for (index, name) in names.iter().enumerate() {
        let value = match row.get_ref(index)? {
            _ if name == "chosen_id" => continue,
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => integer(name, number, chosen.as_deref()),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
        };
        line.insert(name.clone(), value);
    }
    Ok(line.into())
}

fn integer(name: &str, number: i64, chosen: Option<&str>) -> Value {
    match name {
        "room_id" => format!("room_{number}").into(),
        "user_id" => chosen
            .map_or_else(|| format!("user_{number}"), Into::into)
            .into(),
        name if name == "at" || name.ends_with("_at") => {
            let micros = u64::try_from(number).unwrap_or(0);
            timestamp(chat_core::Time(micros)).into()
        }
        _ => number.into(),
    }
}
