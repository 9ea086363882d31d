//! Takes the sound rows of damaged tables, where the journal cannot give them again.

use std::path::Path;

use chat_core::Position;
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, params_from_iter};

use super::sums::{KINDS, Kind, PLACE, open_to_read};
use super::tables::BEFORE;
use crate::sqlite::signed;

/// Copies the sound rows of the damaged file up to this position into empty tables, and counts in
/// `place` those that are lost. An unreadable part counts as one row.
///
/// # Errors
/// The tables cannot be written. An unreadable file has lost all, and is no error.
pub(super) fn salvage(
    into: &Transaction<'_>,
    damaged: &Path,
    until: Position,
) -> rusqlite::Result<()> {
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

/// Opens the damaged file, if it is of the same journal, and of this version or of the one before,
/// whose rows are the same.
fn open_same(into: &Transaction<'_>, damaged: &Path) -> rusqlite::Result<Connection> {
    let of = |connection: &Connection| -> rusqlite::Result<(i64, Vec<u8>)> {
        let place = format!("SELECT format, realm FROM place WHERE {PLACE}");
        connection.query_row(&place, [], |row| Ok((row.get(0)?, row.get(1)?)))
    };
    let from = open_to_read(damaged)?;
    let ((ours, realm), (format, of)) = (of(into)?, of(&from)?);
    match of == realm && [ours, BEFORE].contains(&format) {
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
    let Kind { table, columns, .. } = kind;
    let places = vec!["?"; columns.split(',').count()].join(", ");
    let insert = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})");
    let mut insert = into.prepare(&insert)?;
    let (keys, mut lost) = keys(kind, from);
    for (key, position) in keys {
        match row(kind, from, key) {
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
fn keys(kind: &Kind, from: &Connection) -> (Vec<(i64, i64)>, i64) {
    let Kind {
        table,
        key,
        position,
        ..
    } = kind;
    let mut found = Vec::new();
    for order in ["ASC", "DESC"] {
        let above = found.last().map_or(i64::MIN, |(key, _)| *key);
        let select = format!(
            "SELECT {key}, {position} FROM {table} WHERE {key} > ?1 ORDER BY {key} {order}"
        );
        let mut read = || -> rusqlite::Result<()> {
            let mut select = from.prepare(&select)?;
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

/// The values of a row.
///
/// # Errors
/// It is damaged.
fn row(kind: &Kind, from: &Connection, key: i64) -> rusqlite::Result<Vec<Value>> {
    let Kind {
        table,
        key: name,
        columns,
        sums,
        ..
    } = kind;
    let select = format!("SELECT {columns} FROM {table} WHERE {name} = ?1 AND {sums}");
    let mut select = from.prepare_cached(&select)?;
    let count = select.column_count();
    select.query_row([key], |row| {
        (0..count).map(|index| row.get(index)).collect()
    })
}
