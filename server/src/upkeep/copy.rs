//! Copies the folder of a journal: a backup, or a journal from a backup.
//!
//! The copy is made beside its place and recovered as a start would, and gets its name when that
//! succeeded. So a folder of that name is a whole copy.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chat_core::Position;
use rusqlite::backup::Backup;
use server_storage::history;
use server_storage::journal::{JournalReader, database_in, marks_in, note_lost_life, snapshot_in};
use server_storage::private::{self, Access};

use super::{NO_JOURNAL, UpkeepError, check_journal, opened, snapshots};

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
    let Position(position) = copy(from, data, |copy, end| {
        note_lost_life(copy, end).map_err(UpkeepError::database(copy))
    })?;
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
    let mut name = to.as_os_str().to_owned();
    name.push(".incomplete");
    let beside = PathBuf::from(name);
    match fs::symlink_metadata(&beside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(_) => {
            let why = "an earlier attempt or another program left it, and nothing was changed; look at \
                       it, and remove it";
            return Err(UpkeepError::at(&beside, why));
        }
        Err(error) => return Err(UpkeepError::file(&beside)(error)),
    }
    let mut copied = attempt_copy(from, &beside);
    for _ in 1..ATTEMPTS {
        if copied.is_err() {
            fs::remove_dir_all(&beside).map_err(UpkeepError::file(&beside))?;
            copied = attempt_copy(from, &beside);
        }
    }
    let placed = copied.and_then(|position| {
        finish(&beside, position)?;
        fs::rename(&beside, to).map_err(UpkeepError::file(to))?;
        Ok(position)
    });
    if placed.is_err() {
        // The error of before says more than one of the removal.
        let _ = fs::remove_dir_all(&beside);
    }
    let position = placed?;
    let parent = match to.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    };
    sync(parent)?;
    Ok(position)
}

/// The path without a slash at its end. One that ends with a dot is resolved: it has no name to which
/// more can be added.
fn plain(path: &Path) -> Result<PathBuf, UpkeepError> {
    let path: PathBuf = path.components().collect();
    match path.file_name() {
        Some(_) => Ok(path),
        None => fs::canonicalize(&path).map_err(UpkeepError::file(&path)),
    }
}

/// Checks that there is no such folder, or an empty one.
fn check_empty(path: &Path) -> Result<(), UpkeepError> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if found.is_symlink() => Err(io::ErrorKind::NotADirectory.into()),
        Ok(_) => fs::read_dir(path),
        Err(error) => Err(error),
    };
    match found.map_err(UpkeepError::file(path))?.next() {
        Some(_) => {
            let why = "it is not empty, and nothing was changed; name a folder that is";
            Err(UpkeepError::at(path, why))
        }
        None => Ok(()),
    }
}

fn attempt_copy(from: &Path, to: &Path) -> Result<Position, UpkeepError> {
    private::new_folder(to).map_err(UpkeepError::file(to))?;
    // The marks and the history are never ahead of a journal that is copied after them.
    let reader = JournalReader::open(from).map_err(UpkeepError::database(from))?;
    let marks = reader.marks().map_err(UpkeepError::file(from))?;
    write(&marks_in(to), &marks)?;
    let past = history::path_in(from);
    if past.symlink_metadata().is_ok() {
        copy_database(&past, &history::path_in(to))?;
    }
    copy_database(&database_in(from), &database_in(to))?;
    for snapshot in snapshots(&reader).map_err(UpkeepError::file(from))? {
        let (position, file) = snapshot.map_err(UpkeepError::file(from))?;
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
    let source = private::database(from, Access::Read).map_err(UpkeepError::database(from))?;
    let mut target = private::database(to, Access::Write).map_err(UpkeepError::database(to))?;
    let wrong = UpkeepError::database(from);
    let copied = Backup::new(&source, &mut target).and_then(|backup| {
        // In one step, because a commit between two steps makes SQLite start the copy again.
        backup.step(-1)
    });
    copied.map_err(wrong)?;
    drop(target);
    let file = File::open(to).and_then(|file| file.sync_all());
    file.map_err(UpkeepError::file(to))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), UpkeepError> {
    let written = private::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(UpkeepError::file(path))
}

fn sync(folder: &Path) -> Result<(), UpkeepError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(UpkeepError::file(folder))
}
