//! Commands on the folder of a journal: `export`, `records`, `backup`, `restore`, `inspect`.
//!
//! All but `restore` work while a server uses the folder, and change nothing in it.
//!
//! A copy, of a backup or from one, is made beside its place and recovered as a start would, and gets
//! its name when that succeeded. So a folder of that name is a whole copy.
//!
//! The history is JSON lines, of one moment: the first says what it is and up to which position, then
//! come rooms, participants, memberships and messages, and the last line has the number of lines before
//! it.

mod inspect;

use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use chat_core::{Position, Time};
use chat_journal::{BundleWriter, Checkpoint, Origin, Snapshot};
use rusqlite::Row;
use rusqlite::backup::Backup;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};
use server_chat::render_text;
use server_chat::wire::timestamp;
use server_settings::os_error::{advice, reason};
use server_storage::history;
use server_storage::journal::{
    DatabaseError, JournalReader, database_in, marks_in, note_lost_life, snapshot_in,
};
use server_storage::private::{self, Access, is_no_folder};

pub use inspect::inspect;

/// What is missing where a journal should be.
const NO_JOURNAL: &str = "there is no journal; --data names its folder";

/// Why a command on a folder failed, in words for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UpkeepError(String);

impl UpkeepError {
    /// What is wrong with this file or folder.
    pub(crate) fn at(path: &Path, why: impl Display) -> Self {
        Self(format!("{}: {why}", path.display()))
    }
}

/// What a file, a folder or a database gave.
pub(crate) trait At<T> {
    /// Says in an error which file or folder it is about.
    fn at(self, path: &Path) -> Result<T, UpkeepError>;
}

impl<T, E: Into<DatabaseError>> At<T> for Result<T, E> {
    fn at(self, path: &Path) -> Result<T, UpkeepError> {
        self.map_err(|error| match error.into() {
            DatabaseError::File(error) => UpkeepError::at(path, unread(&error)),
            error @ (DatabaseError::Sqlite(_)
            | DatabaseError::Identity
            | DatabaseError::Randomness(_)) => UpkeepError::at(path, error),
        })
    }
}

/// An error of the output, to which commands write as they read.
impl From<io::Error> for UpkeepError {
    fn from(error: io::Error) -> Self {
        Self(format!("the output cannot be written: {}", reason(&error)))
    }
}

/// Why a file or folder cannot be used, and what to do.
fn unread(error: &io::Error) -> String {
    if is_no_folder(error) {
        return "it is not a folder, or is a link; a journal and its backup are folders".into();
    }
    let refused = "; run the command as the user as whom the server runs";
    let advice = advice(error, &[(io::ErrorKind::PermissionDenied, refused)], "");
    format!("{}{advice}", reason(error))
}

/// Checks that the folder of a journal has a journal; `none` says what to do if it has not.
fn check_journal(folder: &Path, none: &str) -> Result<(), UpkeepError> {
    match database_in(folder).try_exists().at(folder)? {
        true => Ok(()),
        false => Err(UpkeepError::at(folder, none)),
    }
}

/// Opens the journal of a folder.
fn opened(folder: &Path) -> Result<(JournalReader, Origin), UpkeepError> {
    check_journal(folder, NO_JOURNAL)?;
    let reader = JournalReader::open(folder).at(folder)?;
    let origin = reader.origin().at(folder)?;
    Ok((reader, origin))
}

/// The snapshots of a journal, without those that the server replaces meanwhile.
fn snapshots(
    reader: &JournalReader,
) -> io::Result<impl DoubleEndedIterator<Item = io::Result<(Position, Vec<u8>)>>> {
    let present = move |position| {
        let file = private::present(reader.snapshot(position)).transpose()?;
        Some(file.map(|file| (position, file)))
    };
    Ok(reader.snapshots()?.into_iter().filter_map(present))
}

/// Writes the records of the journal in `data` as a bundle: all of them, and a snapshot to start
/// from if the first ones are gone.
///
/// # Errors
/// There is no journal, it cannot be read, or a terminal would show it.
pub fn records(data: &Path, out: &mut dyn Write) -> Result<(), UpkeepError> {
    if io::stdout().is_terminal() {
        let how = "write them to a file, as in `talking-stick records > journal.bundle`";
        return Err(UpkeepError(format!("the records are not text: {how}")));
    }
    let (reader, origin) = opened(data)?;
    let mut bytes = Vec::new();
    let mut bundle = BundleWriter::begin(&origin, &mut bytes);
    // The marks are read first: the journal only grows.
    let marks = reader.marks().at(data)?;
    bundle.marks(&marks, &mut bytes);
    let first = reader.first_after(Position(0)).at(data)?;
    let needed_from = Position(first.map_or(0, |first| first.0 - 1));
    let mut is_whole = needed_from == Position(0) && first.is_some();
    for snapshot in snapshots(&reader).at(data)?.rev() {
        let (_, file) = snapshot.at(data)?;
        let Some((position, digest)) = Snapshot::head_of(&origin, &file) else {
            continue;
        };
        if !is_whole && position >= needed_from {
            bundle.snapshot(position, &file, &mut bytes);
            is_whole = true;
        }
        bundle.checkpoint(Checkpoint { position, digest }, &mut bytes);
    }
    let mut after = Position(0);
    loop {
        out.write_all(&bytes)?;
        bytes.clear();
        let batch = reader.batch(after).at(data)?;
        let Some((last, _)) = batch.last() else {
            break;
        };
        after = *last;
        for (first, record) in batch {
            bundle.record(first, &record, &mut bytes);
        }
    }
    bundle.end(&mut bytes);
    Ok(out.write_all(&bytes)?)
}

/// How often a copy is made again: the server may have replaced a snapshot meanwhile.
const ATTEMPTS: usize = 3;

/// Copies the journal's folder `data` to the new folder `to`.
///
/// # Errors
/// The journal cannot be read, or the copy not be written. Then there is no folder `to`.
pub fn backup(data: &Path, to: &Path, out: &mut dyn Write) -> Result<(), UpkeepError> {
    check_journal(data, NO_JOURNAL)?;
    let Position(position) = copy(data, to, |_, _| Ok(()))?;
    let (from, to) = (data.display(), to.display());
    let told = format!("{from} up to position {position} is copied to {to}, and verified");
    Ok(writeln!(out, "{told}")?)
}

/// Makes the folder `data` of a journal from a backup. The life of the server since the backup is
/// lost: the next start passes its numbers.
///
/// # Errors
/// As for a backup; a journal that cannot be recovered is not restored.
pub fn restore(from: &Path, data: &Path, out: &mut dyn Write) -> Result<(), UpkeepError> {
    let none = "there is no backup; write the folder that `talking-stick backup` made";
    check_journal(from, none)?;
    let Position(position) = copy(from, data, |copy, end| note_lost_life(copy, end).at(copy))?;
    let data = data.display();
    let told = format!("{data} is restored up to position {position}, and verified");
    Ok(writeln!(out, "{told}")?)
}

/// Copies, and passes the copy with its last position to `finish` before it gets its name. Returns
/// that position.
fn copy(
    from: &Path,
    to: &Path,
    finish: impl FnOnce(&Path, Position) -> Result<(), UpkeepError>,
) -> Result<Position, UpkeepError> {
    let to = &plain(to)?;
    check_empty(to)?;
    let beside = to.with_added_extension("incomplete");
    if found(&beside)?.is_some() {
        let why = "an earlier attempt or another program left it, and nothing was changed; look at \
                   it, and remove it";
        return Err(UpkeepError::at(&beside, why));
    }
    let mut copied = attempt_copy(from, &beside);
    for _ in 1..ATTEMPTS {
        if copied.is_err() {
            fs::remove_dir_all(&beside).at(&beside)?;
            copied = attempt_copy(from, &beside);
        }
    }
    let placed = copied.and_then(|position| {
        finish(&beside, position)?;
        fs::rename(&beside, to).at(to)?;
        Ok(position)
    });
    if placed.is_err() {
        // The error of before says more than one of the removal.
        let _ = fs::remove_dir_all(&beside);
    }
    let position = placed?;
    sync(private::folder_of(to))?;
    Ok(position)
}

/// The path without a slash at its end. One that ends with a dot is resolved: it has no name to which
/// more can be added.
fn plain(path: &Path) -> Result<PathBuf, UpkeepError> {
    let path: PathBuf = path.components().collect();
    match path.file_name() {
        Some(_) => Ok(path),
        None => fs::canonicalize(&path).at(&path),
    }
}

/// Checks that there is no such folder, or an empty one.
fn check_empty(path: &Path) -> Result<(), UpkeepError> {
    let entries = match found(path)? {
        None => return Ok(()),
        Some(found) if found.is_symlink() => Err(io::ErrorKind::NotADirectory.into()),
        Some(_) => fs::read_dir(path),
    };
    if entries.at(path)?.next().is_some() {
        let why = "it is not empty, and nothing was changed; name a folder that is";
        return Err(UpkeepError::at(path, why));
    }
    Ok(())
}

/// What is at this path; a link itself, and not where it leads.
fn found(path: &Path) -> Result<Option<Metadata>, UpkeepError> {
    private::present(fs::symlink_metadata(path)).at(path)
}

fn attempt_copy(from: &Path, to: &Path) -> Result<Position, UpkeepError> {
    private::new_folder(to).at(to)?;
    // The marks and the history are never ahead of a journal that is copied after them.
    let reader = JournalReader::open(from).at(from)?;
    let marks = reader.marks().at(from)?;
    write(&marks_in(to), &marks)?;
    let past = history::path_in(from);
    if past.symlink_metadata().is_ok() {
        copy_database(&past, &history::path_in(to))?;
    }
    copy_database(&database_in(from), &database_in(to))?;
    for snapshot in snapshots(&reader).at(from)? {
        let (position, file) = snapshot.at(from)?;
        write(&snapshot_in(to, position), &file)?;
    }
    sync(to)?;
    verify(to)
}

/// Recovers the copy as a start would. Snapshots beyond the end of its journal count as damaged.
fn verify(folder: &Path) -> Result<Position, UpkeepError> {
    let (reader, origin) = opened(folder)?;
    let recovered = reader.recover(&origin);
    let recovered = recovered.map_err(|error| UpkeepError::at(folder, error))?;
    Ok(recovered.chain.last())
}

/// Copies a database at one moment, with what is in its WAL.
fn copy_database(from: &Path, to: &Path) -> Result<(), UpkeepError> {
    let source = private::database(from, Access::Read).at(from)?;
    let mut target = private::database(to, Access::Write).at(to)?;
    // In one step, because a commit between two steps makes SQLite start the copy again.
    let copied = Backup::new(&source, &mut target).and_then(|backup| backup.step(-1));
    copied.at(from)?;
    drop(target);
    sync(to)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), UpkeepError> {
    private::replace(path, bytes).map(drop).at(path)
}

/// Makes a file, or what a folder has, durable.
fn sync(path: &Path) -> Result<(), UpkeepError> {
    File::open(path).and_then(|file| file.sync_all()).at(path)
}

/// The version of the lines.
const FORMAT: u32 = 1;

/// What a folder without a history lacks.
const NO_HISTORY: &str = "there is no history yet; a server that starts with this folder makes it";

/// The kinds of lines: the name, the query, what fails at a damaged row, and the end of the query. A
/// column `…at` is an instant.
const KINDS: [[&str; 4]; 4] = [
    [
        "room",
        "SELECT 'room_' || room AS room_id, name, position, at, ended_position, ended_at FROM rooms",
        history::ROOM,
        "ORDER BY room",
    ],
    [
        "participant",
        "SELECT coalesce(chosen_id, 'user_' || user) AS user_id, name AS display_name,
             min(from_position) AS position, min(from_at) AS at FROM memberships",
        history::MEMBERSHIP,
        "GROUP BY user, chosen_id, name ORDER BY position, user",
    ],
    [
        "membership",
        "SELECT coalesce(chosen_id, 'user_' || user) AS user_id, 'room_' || room AS room_id,
             from_seq, from_position, from_at, to_seq, to_position, to_at FROM memberships",
        history::MEMBERSHIP,
        "ORDER BY from_position, id",
    ],
    [
        "message",
        "SELECT id AS position, 'room_' || room AS room_id, seq AS room_seq, at,
             coalesce(chosen_id, 'user_' || user) AS user_id, name AS display_name, epoch,
             text AS message FROM messages",
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
    if !path.try_exists().at(data)? {
        return Err(UpkeepError::at(&path, NO_HISTORY));
    }
    let wrong = |error: rusqlite::Error| match history::is_damage(&error) {
        true => UpkeepError::at(&path, history::DAMAGED),
        false => UpkeepError::at(&path, error),
    };
    let connection = history::open_to_read(&path).map_err(wrong)?;
    if !history::has_sums(&connection).map_err(wrong)? {
        return Err(UpkeepError::at(&path, NO_HISTORY));
    }
    // One transaction: all lines are of one moment.
    let moment = connection.unchecked_transaction().map_err(wrong)?;
    let place = format!("SELECT position FROM place WHERE {}", history::PLACE);
    let position: i64 = moment
        .query_row(&place, [], |row| row.get(0))
        .map_err(wrong)?;
    let head = json!({ "kind": "export", "format": FORMAT, "position": position });
    writeln!(out, "{head}")?;
    let mut lines = 1_u64;
    for [name, select, sums, end] in KINDS {
        let query = format!("{select} WHERE {sums} {end}");
        let mut select = moment.prepare(&query).map_err(wrong)?;
        let names: Vec<String> = select.column_names().map(Into::into).collect();
        let mut rows = select.query([]).map_err(wrong)?;
        while let Some(row) = rows.next().map_err(wrong)? {
            let line = line(name, &names, row).map_err(wrong)?;
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
    for (index, name) in names.iter().enumerate() {
        let value = match row.get_ref(index)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(micros) if name == "at" || name.ends_with("_at") => {
                timestamp(Time(u64::try_from(micros).unwrap_or(0))).into()
            }
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
        };
        line.insert(name.clone(), value);
    }
    Ok(line.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_user_is_told_as_such() {
        let refused = io::ErrorKind::PermissionDenied.into();
        let said = Err::<(), io::Error>(refused).at(Path::new("data"));
        let said = said.unwrap_err().to_string();
        let wanted = "data: permission denied; run the command as the user as whom the server runs";
        assert_eq!(said, wanted);
    }
}
