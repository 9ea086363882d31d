//! The folder of a journal: its lock, the files beside the database, and whether it still takes records: it is
//! the one that was opened, and its disk has room.
//!
//! ```text
//! DIR/lock           held by the server that uses the folder
//! DIR/journal.db     the records (SQLite), with journal.db-wal beside it
//! DIR/marks          the last position whose callers may have received answers
//! DIR/snapshot-N     the state at position N; the newest two are kept
//! DIR/history.db     past messages and memberships, derived from the journal: see `history`
//! DIR/sessions.json  the page's sessions: see `guard`
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_core::Position;
use chat_journal::Mark;
use server_settings::JournalSettings;

use super::opening::OpenError;
use crate::private;

/// The number of kept snapshots: the newest, and one that replaces it if it is damaged.
const SNAPSHOTS_KEPT: usize = 2;

/// The longest time for which a mark is not made durable.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The default free space: room for a snapshot, for what the history still has to write, and for
/// other programs.
const RESERVE: u64 = 64 << 20;

/// The part of a small disk that is left free at most.
const SHARE: u64 = 16;

/// The prefix of a snapshot's file name, before its position.
const SNAPSHOT: &str = "snapshot-";

/// Why nothing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWrite {
    /// The folder, or a file in it, is another one.
    #[error(
        "its folder or a file of it vanished or was replaced while the server ran; stop the server, put \
         the folder back, or restore a backup, and start again"
    )]
    Vanished,
    /// The disk has little free space.
    #[error(
        "its disk has less free space than --disk-reserve; free some, or lower --journal-bytes or \
         --history-bytes"
    )]
    Short,
}

/// The free space of the disk with this path, and its size, in bytes.
pub(crate) fn free(path: &Path) -> io::Result<(u64, u64)> {
    let found = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok((bytes(found.f_bavail), bytes(found.f_blocks)))
}

/// A folder that this process has locked.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Closing it unlocks the folder.
    _lock: File,
    /// The lock and the database, each with the device and the number of its file, which another file of
    /// the name does not have. Empty until the database is there.
    files: Vec<(PathBuf, (u64, u64))>,
    reserve: Option<u64>,
}

impl Folder {
    /// Creates the folder if it is absent, and locks it.
    ///
    /// # Errors
    /// The folder cannot be created or written, is not private, or another server uses it.
    pub(super) fn open(settings: &JournalSettings) -> Result<Self, OpenError> {
        let path = &settings.folder;
        private::folder(path)?;
        let file = path.join("lock");
        let wrong = |error| private::unusable_at(&file)(error);
        let mut options = File::options();
        let lock = private::open(&file, options.read(true).write(true).create(true));
        let mut lock = lock.map_err(wrong)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // Unreadable content is left out of the error.
                let _ = lock.take(100).read_to_string(&mut owner);
                let owner = match owner.trim() {
                    "" => "another process",
                    owner => owner,
                };
                return Err(OpenError(format!(
                    "{} is in use by {owner}: stop that server first, or choose another folder with \
                     --data",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(wrong(error).into()),
        }
        let written = lock
            .set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| writeln!(lock, "process {}", std::process::id()));
        written.map_err(wrong)?;
        private::restrict_files(path)?;
        Ok(Self {
            path: path.into(),
            _lock: lock,
            files: Vec::new(),
            reserve: settings.reserve,
        })
    }

    /// Remembers which files are in it, once it has a database.
    pub(super) fn remember(&mut self) -> io::Result<()> {
        for path in [self.path.join("lock"), database_in(&self.path)] {
            let id = id_of(&path)?;
            self.files.push((path, id));
        }
        Ok(())
    }

    /// Whether it is still there.
    pub(super) fn is_there(&self) -> bool {
        let mut files = self.files.iter();
        files.all(|(path, id)| id_of(path).is_ok_and(|found| found == *id))
    }

    /// Checks that a record may be written.
    pub(super) fn check(&self) -> Result<(), NoWrite> {
        if !self.is_there() {
            return Err(NoWrite::Vanished);
        }
        match free(&self.path) {
            Ok((free, all)) if free < self.reserve.unwrap_or(RESERVE.min(all / SHARE)) => {
                Err(NoWrite::Short)
            }
            // Where the system does not say, a write does.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// The path of the database in a folder.
#[must_use]
pub fn database_in(folder: &Path) -> PathBuf {
    folder.join("journal.db")
}

/// The path of the file of marks in a folder.
#[must_use]
pub fn marks_in(folder: &Path) -> PathBuf {
    folder.join("marks")
}

/// The file of marks, open for writing.
#[derive(Debug)]
pub(super) struct MarkFile {
    file: File,
    turn: u64,
    is_synced: bool,
    /// The instant of the last sync.
    synced: Instant,
}

impl MarkFile {
    /// Replaces the file of this folder by one with this mark in both slots: the journal continues
    /// from here. A crash leaves the old file or the new one.
    pub(super) fn begin(folder: &Path, mark: &Mark) -> io::Result<Self> {
        let file = private::replace(&marks_in(folder), &mark.file())?;
        Ok(Self {
            file,
            turn: 0,
            is_synced: true,
            synced: Instant::now(),
        })
    }

    /// Writes a mark, so that answers up to it may leave.
    pub(super) fn set(&mut self, mark: &Mark) -> io::Result<()> {
        let (offset, slot) = mark.slot(self.turn);
        self.turn += 1;
        self.is_synced = false;
        self.file.write_all_at(&slot, offset)
    }

    /// Makes the last mark durable.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if !self.is_synced {
            self.file.sync_data()?;
            self.is_synced = true;
            self.synced = Instant::now();
        }
        Ok(())
    }

    /// Whether the last mark was not made durable for a second.
    pub(super) fn is_due(&self) -> bool {
        self.synced.elapsed() >= SYNC_EVERY
    }
}

/// The content of the file of marks; empty if it is absent.
pub(super) fn read_marks(folder: &Path) -> io::Result<Vec<u8>> {
    Ok(private::present(private::read(&marks_in(folder)))?.unwrap_or_default())
}

/// The positions of the snapshots, newest first.
pub(super) fn snapshots(folder: &Path) -> io::Result<Vec<Position>> {
    let mut positions = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let position = name.to_str().and_then(|name| name.strip_prefix(SNAPSHOT));
        positions.extend(position.and_then(|text| text.parse().ok()).map(Position));
    }
    positions.sort_unstable_by(|a, b| b.cmp(a));
    Ok(positions)
}

/// The position of the oldest snapshot to keep; 0 as long as there are fewer than that. A recovery
/// needs the records after it, and no others.
pub(super) fn oldest_kept(folder: &Path) -> io::Result<Position> {
    let positions = snapshots(folder)?;
    let oldest = positions.get(SNAPSHOTS_KEPT - 1);
    Ok(oldest.copied().unwrap_or(Position(0)))
}

/// Writes the snapshot at this position, completely or not at all, and removes the oldest ones.
pub(super) fn write_snapshot(folder: &Path, position: Position, bytes: &[u8]) -> io::Result<()> {
    private::replace(&snapshot_in(folder, position), bytes)?;
    for old in snapshots(folder)?.into_iter().skip(SNAPSHOTS_KEPT) {
        fs::remove_file(snapshot_in(folder, old))?;
    }
    Ok(())
}

/// Renames the snapshot at this position, so that it is not used.
pub(super) fn set_aside(folder: &Path, position: Position) -> io::Result<()> {
    let aside = folder.join(format!("lost-{SNAPSHOT}{}", position.0));
    fs::rename(snapshot_in(folder, position), aside)
}

/// The path of the snapshot at this position.
#[must_use]
pub fn snapshot_in(folder: &Path, position: Position) -> PathBuf {
    folder.join(format!("{SNAPSHOT}{}", position.0))
}

#[cfg(test)]
mod tests {
    use server_settings::Durability;

    use super::super::database::Database;

    #[test]
    fn the_reserved_wal_leaves_most_of_a_small_disk_free() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open_to_write(folder.path(), Durability::Os).unwrap();
        let wal = || {
            folder
                .path()
                .join("journal.db-wal")
                .metadata()
                .unwrap()
                .len()
        };
        let used = wal();
        database.reserve(2 << 20).unwrap();
        assert_eq!(wal(), used.max(256 << 10));
        assert!(
            database.is_full(64, 0),
            "a checkpoint is due before it grows"
        );
        database.reserve(1 << 30).unwrap();
        assert_eq!(wal(), 8 << 20);
    }
}
