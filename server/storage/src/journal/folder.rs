//! The folder of a journal: its lock, and the files beside the database.
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
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_core::Position;
use chat_journal::Mark;
use server_settings::JournalSettings;

use super::opening::OpenError;
use crate::private::{self, NotPrivate};

/// The number of kept snapshots: the newest, and one that replaces it if it is damaged.
const SNAPSHOTS_KEPT: usize = 2;

/// The longest time for which a mark is not made durable.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The prefix of a snapshot's file name, before its position.
const SNAPSHOT: &str = "snapshot-";

/// A folder that this process has locked.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Closing it unlocks the folder.
    _lock: File,
    /// The lock and the database, each with the device and the number of its file, which another file of
    /// the name does not have. Empty until the database is there.
    pub(super) files: Vec<(PathBuf, (u64, u64))>,
    pub(super) reserve: Option<u64>,
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
        let wrong = |error| NotPrivate::Io {
            path: file.clone(),
            error,
        };
        let mut options = File::options();
        let lock = private::open(&file, options.read(true).write(true).create(true));
        let mut lock = lock.map_err(wrong)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // Unreadable content is left out of the error.
                let _ = lock.take(100).read_to_string(&mut owner);
                return Err(OpenError::InUse {
                    path: path.into(),
                    owner: match owner.trim() {
                        "" => "another process".into(),
                        owner => owner.into(),
                    },
                });
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

    /// The path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the database.
    pub(super) fn database(&self) -> PathBuf {
        database_in(&self.path)
    }
}

/// The path of the database in a folder.
#[must_use]
pub fn database_in(folder: &Path) -> PathBuf {
    folder.join("journal.db")
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
        let file = private::replace(&folder.join("marks"), &mark.file())?;
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

    /// Makes the last mark durable if that was not done for a second.
    pub(super) fn sync_when_due(&mut self) -> io::Result<()> {
        match self.synced.elapsed() < SYNC_EVERY {
            true => Ok(()),
            false => self.sync(),
        }
    }
}

/// The content of the file of marks; empty if it is absent.
pub(super) fn read_marks(folder: &Path) -> io::Result<Vec<u8>> {
    match private::read(&folder.join("marks")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
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

/// The bytes of the snapshot at this position.
pub(super) fn read_snapshot(folder: &Path, position: Position) -> io::Result<Vec<u8>> {
    private::read(&snapshot_path(folder, position))
}

/// Writes the snapshot at this position, completely or not at all, and removes the oldest ones.
pub(super) fn write_snapshot(folder: &Path, position: Position, bytes: &[u8]) -> io::Result<()> {
    private::replace(&snapshot_path(folder, position), bytes)?;
    for old in snapshots(folder)?.into_iter().skip(SNAPSHOTS_KEPT) {
        fs::remove_file(snapshot_path(folder, old))?;
    }
    Ok(())
}

/// Renames the snapshot at this position, so that it is not used.
pub(super) fn set_aside(folder: &Path, position: Position) -> io::Result<()> {
    let aside = folder.join(format!("lost-{SNAPSHOT}{}", position.0));
    fs::rename(snapshot_path(folder, position), aside)
}

pub(super) fn snapshot_path(folder: &Path, position: Position) -> PathBuf {
    folder.join(format!("{SNAPSHOT}{}", position.0))
}
