//! The settings of a durable journal.

use std::path::PathBuf;

use super::{ServeArgs, SettingsError, Unnamed};
use crate::{Bytes, Durability, Keep, LossRule};

/// The default number of last entries that a journal keeps.
const JOURNAL_ENTRIES: u64 = 1_000_000;

/// The default size of a journal: its entries, if they have two kilobytes on average. A usual one has
/// two hundred bytes.
const JOURNAL_BYTES: u64 = 2 << 30;

/// A durable journal.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// The folder.
    pub folder: PathBuf,
    /// The durability of a commit.
    pub durability: Durability,
    /// Whether to continue a journal that has lost acknowledged entries.
    pub loss: LossRule,
    /// The number of last entries to keep, besides those that the kept snapshots need; none to keep
    /// all.
    pub entries: Option<u64>,
    /// The largest size of the records, as long as the kept snapshots do not need more; none for no
    /// limit.
    pub bytes: Option<u64>,
    /// The free space of the disk below which nothing is accepted; by default as much as suits the
    /// disk.
    pub reserve: Option<u64>,
}

impl JournalSettings {
    /// The settings; none for a server in memory.
    pub(super) fn gather(
        given: &ServeArgs,
        unnamed: Unnamed,
    ) -> Result<Option<Self>, SettingsError> {
        let folder = match (given.data.clone(), given.in_memory) {
            (Some(folder), true) => return Err(SettingsError::KeptAndNot { folder }),
            (Some(folder), false) => Some(folder),
            (None, true) => None,
            (None, false) => unnamed.folder()?,
        };
        Ok(folder.map(|folder| Self {
            folder,
            durability: given.durability.unwrap_or_default(),
            loss: given.accept_loss.into(),
            entries: match given.journal_entries {
                Some(Keep::All) => None,
                Some(Keep::UpTo(entries)) => Some(entries),
                None => Some(JOURNAL_ENTRIES),
            },
            bytes: match given.journal_bytes {
                Some(Keep::All) => None,
                Some(Keep::UpTo(Bytes(bytes))) => Some(bytes),
                None => Some(JOURNAL_BYTES),
            },
            reserve: match given.disk_reserve {
                Some(Keep::All) => Some(0),
                Some(Keep::UpTo(Bytes(bytes))) => Some(bytes),
                None => None,
            },
        }))
    }
}
