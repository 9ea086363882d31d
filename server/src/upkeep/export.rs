//! The history as JSON lines, at one moment.
//!
//! The first line says what it is and up to which position, then come rooms, participants,
//! memberships and messages, and the last line has the number of lines before it.

use std::io::Write;
use std::path::Path;

use rusqlite::Row;
use serde_json::{Map, Value, json};
use server_chat::render_text;
use server_chat::wire::timestamp;
use server_storage::history;

use super::UpkeepError;

/// The version of the lines.
const FORMAT: u32 = 1;

/// A kind of lines, with the parts of its query. A column `…at` is an instant; `room` and `user`
/// become ids.
struct Kind {
    name: &'static str,
    select: &'static str,
    /// Fails at a damaged row.
    sums: &'static str,
    end: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "room",
        select: "SELECT room AS room_id, name, position, at, ended_position, ended_at FROM rooms",
        sums: history::ROOM,
        end: "ORDER BY room",
    },
    Kind {
        name: "participant",
        select: "SELECT user AS user_id, chosen_id, name AS display_name,
             min(from_position) AS position, min(from_at) AS at FROM memberships",
        sums: history::MEMBERSHIP,
        end: "GROUP BY user, chosen_id, name ORDER BY position, user",
    },
    Kind {
        name: "membership",
        select: "SELECT user AS user_id, chosen_id, room AS room_id, from_seq, from_position,
             from_at, to_seq, to_position, to_at FROM memberships",
        sums: history::MEMBERSHIP,
        end: "ORDER BY from_position, id",
    },
    Kind {
        name: "message",
        select: "SELECT id AS position, room AS room_id, seq AS room_seq, at, user AS user_id,
             chosen_id, name AS display_name, epoch, text AS message FROM messages",
        sums: history::MESSAGE,
        end: "ORDER BY id",
    },
];

/// Writes the history of the journal in `data`.
///
/// # Errors
/// There is none, or it cannot be read or is damaged.
pub fn export(data: &Path, out: &mut dyn Write) -> Result<(), UpkeepError> {
    let path = history::path_in(data);
    if !path.try_exists().map_err(UpkeepError::file(data))? {
        return Err(UpkeepError::NoHistory { path });
    }
    let wrong = || {
        |error: rusqlite::Error| match history::is_damage(&error) {
            true => UpkeepError::Damaged {
                path: path.clone(),
                problems: history::DAMAGED.into(),
            },
            false => UpkeepError::database(&path)(error),
        }
    };
    let connection = history::open_to_read(&path).map_err(wrong())?;
    if !history::has_sums(&connection).map_err(wrong())? {
        return Err(UpkeepError::NoHistory { path });
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
    for Kind {
        name,
        select,
        sums,
        end,
    } in KINDS
    {
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
