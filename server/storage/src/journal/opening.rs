//! Opens the journal in a folder: recovers its state, or begins a new journal.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_core::{Config, Continuity, Node, Position};
use chat_journal::{Identity, Loss, Mark, Recovered, RecoveryError, recover};
use server_settings::os_error::reason;
use server_settings::{Durability, JournalSettings, LossRule};

use super::database::{Database, DatabaseError, new_identity};
use super::durable::{DurableJournal, Writer};
use super::folder::{self, Folder, FolderError, MarkFile};
use super::forgetting::Forgetting;
use super::reader::{ReadError, Stored};
use super::space::OpenedFolder;

/// Why a server cannot start from its journal.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The database cannot be used.
    #[error(
        "{}: {error}. If the file is damaged, restore a backup of the folder",
        path.display()
    )]
    Database {
        /// The database.
        path: PathBuf,
        /// The reason.
        error: DatabaseError,
    },
    /// A file beside the database cannot be read or written.
    #[error("{}: {}", path.display(), reason(error))]
    File {
        /// The folder.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// Another build wrote the journal, in a format that this build cannot read.
    #[error(
        "{}: {error}. Nothing was changed. Go on with the build that wrote it, or use another folder",
        path.display()
    )]
    OtherBuild {
        /// The folder.
        path: PathBuf,
        /// The format.
        error: Box<RecoveryError<ReadError>>,
    },
    /// The copy of a cluster's log is incomplete or damaged.
    #[cfg(feature = "cluster")]
    #[error(
        "{}: the copy of the cluster's log is whole up to position {}, and its end at position {} is \
         another one. Nothing was changed. --accept-loss keeps it beside a new journal, which begins \
         at a snapshot of the log",
        path.display(), whole.0, end.0
    )]
    Copy {
        /// The folder.
        path: PathBuf,
        /// The last position of the whole part.
        whole: Position,
        /// The position of the stored end.
        end: Position,
    },
    /// The journal is incomplete or damaged.
    #[error(
        "{}: {error}. Nothing was changed. Restore a backup of the folder, or go on without what is \
         lost by --accept-loss, which keeps the damaged records beside the journal",
        path.display()
    )]
    Recovery {
        /// The folder.
        path: PathBuf,
        /// The defect.
        error: Box<RecoveryError<ReadError>>,
    },
}

impl OpenError {
    pub(super) fn of(error: RecoveryError<ReadError>, folder: &Path) -> Self {
        let (path, error) = (folder.into(), Box::new(error));
        match error.is_of_another_build() {
            true => Self::OtherBuild { path, error },
            false => Self::Recovery { path, error },
        }
    }
}

/// The options for opening a journal.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder.
    pub folder: PathBuf,
    /// The durability of a commit.
    pub durability: Durability,
    /// Whether to continue a journal that has lost acknowledged entries.
    pub loss: Loss,
    /// The number of last entries to keep, besides those that the kept snapshots need; none to keep
    /// all.
    pub entries: Option<u64>,
    /// The size of the records to keep, besides those that the kept snapshots need; none to keep all.
    pub bytes: Option<u64>,
    /// The free space of the disk that is left; none for as much as suits the disk.
    pub reserve: Option<u64>,
}

impl From<&JournalSettings> for Options {
    fn from(given: &JournalSettings) -> Self {
        Self {
            folder: given.folder.clone(),
            durability: given.durability,
            loss: match given.loss {
                LossRule::Refused => Loss::Refused,
                LossRule::Accepted => Loss::Accepted,
            },
            entries: given.entries,
            bytes: given.bytes,
            reserve: given.reserve,
        }
    }
}

/// A server's recovered state and journal.
#[derive(Debug)]
pub struct Opened {
    /// The node, whose first entry is *started* or *resumed*.
    pub node: Node,
    /// The journal for its batches.
    pub journal: DurableJournal,
    /// The journal's identity, with the server's secret.
    pub identity: Identity,
}

/// Opens the journal in a folder and recovers its state, or creates a new journal.
///
/// # Errors
/// The journal is unusable, or may have lost acknowledged entries.
pub fn open(options: &Options, config: &Config) -> Result<Opened, OpenError> {
    let folder = Folder::open(&options.folder)?;
    let wrong = |error: DatabaseError| OpenError::Database {
        path: folder.database(),
        error,
    };
    let began = Instant::now();
    // The recovery reads only: a refused start leaves the folder as it is.
    let found = stored_database(&folder).map_err(wrong)?;
    let known = match &found {
        Some(database) => database.identity().map_err(wrong)?,
        None => None,
    };
    let identity = match &known {
        Some(identity) => identity.clone(),
        None => new_identity().map_err(DatabaseError::from).map_err(wrong)?,
    };
    let mut stored = Stored {
        folder: folder.path(),
        database: found.as_ref(),
    };
    let look = &mut |_: &_, _, _: &_, _: &_| {};
    let origin = identity.origin();
    let recovered = recover(&mut stored, &origin, config, options.loss, look);
    let recovered = recovered.map_err(|error| OpenError::of(error, folder.path()))?;
    drop(found);
    let database = Database::open(&folder.database(), options.durability).map_err(wrong)?;
    if known.is_none() {
        let set = database.set_identity(&identity);
        set.map_err(|error| wrong(error.into()))?;
    }
    report(&recovered, began.elapsed());
    let failed = |error| OpenError::File {
        path: folder.path().into(),
        error,
    };
    let last = recovered.chain.last();
    if let Some(from) = recovered.cut {
        set_aside(&folder, &database, from)?;
    }
    // Before the marks: a start that ends here finds the loss again.
    let continuity = leave_lost_life(&database, last, recovered.cut.is_some());
    let continuity = continuity.map_err(wrong)?;
    let marks = MarkFile::begin(folder.path(), &Mark::at(&recovered.chain)).map_err(failed)?;
    let node = Node::with_journal(recovered.hub, config.clone(), identity.seed, continuity);
    let forgetting = Forgetting::new(folder.path(), options).map_err(failed)?;
    let opened = OpenedFolder::of(&folder, options.reserve).map_err(failed)?;
    let journal = DurableJournal::new(Writer {
        forgetting,
        opened,
        refused: None,
        grown: 0,
        folder,
        durability: options.durability,
        database: Some(database),
        origin,
        config: config.clone(),
        chain: recovered.chain,
        marks,
        unchecked: (0, 0),
        snapshot: recovered.snapshot,
        snapping: None,
    });
    Ok(Opened {
        node,
        journal,
        identity,
    })
}

/// Notes whether a life is lost behind the end of the journal: what came there was set aside, or the
/// journal is a copy of a cluster's log, of which other members may have had more.
fn leave_lost_life(
    database: &Database,
    end: Position,
    is_cut: bool,
) -> Result<Continuity, DatabaseError> {
    if is_cut || database.is_copy_of_log()? {
        database.set_lost_life(end)?;
        database.forget_log_place()?;
    }
    Ok(database.continuity(end)?)
}

/// Notes in the folder of a journal that a life of its server was lost: it ends at this position, and
/// may have gone on elsewhere. The next start passes the numbers of that life.
///
/// # Errors
/// The database cannot be written.
pub fn note_lost_life(folder: &Path, end: Position) -> Result<(), DatabaseError> {
    let database = Database::open(&folder::database_in(folder), Durability::Fsync)?;
    Ok(database.set_lost_life(end)?)
}

/// Moves records and snapshots from this position on out of the journal, after an accepted loss.
pub(super) fn set_aside(
    folder: &Folder,
    database: &Database,
    from: Position,
) -> Result<(), OpenError> {
    let moved = database.set_aside(from);
    moved.map_err(|error| OpenError::Database {
        path: folder.database(),
        error: error.into(),
    })?;
    let failed = |error| OpenError::File {
        path: folder.path().into(),
        error,
    };
    for position in folder::snapshots(folder.path()).map_err(failed)? {
        if position >= from {
            folder::set_aside(folder.path(), position).map_err(failed)?;
        }
    }
    Ok(())
}

/// The database of this folder, for reading; none if there is none yet.
pub(super) fn stored_database(folder: &Folder) -> Result<Option<Database>, DatabaseError> {
    if !folder.database().exists() {
        return Ok(None);
    }
    let database = Database::open_to_read(&folder.database())?;
    Ok(match database.is_empty()? {
        true => None,
        false => Some(database),
    })
}

/// Logs the result of the recovery for operators.
fn report(recovered: &Recovered, took: Duration) {
    for warning in &recovered.warnings {
        tracing::warn!("{warning}");
    }
    let last = recovered.chain.last();
    if last > Position(0) {
        tracing::info!(
            position = last.0,
            replayed = last.0 - recovered.snapshot.0,
            took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "the journal was read back"
        );
    }
}
