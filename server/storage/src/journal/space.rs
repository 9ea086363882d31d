//! Whether the folder still takes records: it is the one that was opened, and its disk has room.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::folder::Folder;

/// The default free space: room for a snapshot, for what the history still has to write, and for
/// other programs.
const RESERVE: u64 = 64 << 20;

/// The part of a small disk that is left free at most.
const SHARE: u64 = 16;

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

impl Folder {
    /// Remembers which files are in it, once it has a database.
    pub(super) fn remember(&mut self) -> io::Result<()> {
        for path in [self.path().join("lock"), self.database()] {
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
        match free(self.path()) {
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

#[cfg(test)]
mod tests {
    use server_settings::Durability;

    use super::super::database::Database;

    #[test]
    fn the_reserved_wal_leaves_most_of_a_small_disk_free() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal.db");
        let database = Database::open(&file, Durability::Os).unwrap();
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
