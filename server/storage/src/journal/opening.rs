//! Opens the journal in a folder: recovers its state, or begins a new journal.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use chat_core::{Config, Continuity, Node, Position};
use chat_journal::{Identity, Loss, Recovered, RecoveryError};
use server_settings::os_error::reason;
use server_settings::{Durability, JournalSettings};

use super::database::{Database, DatabaseError, new_identity};
use super::durable::{DurableJournal, Writer};
use super::folder::{self, Folder};

/// Why a server cannot start from its journal, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub(super) String);

impl From<String> for OpenError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl OpenError {
    /// The error of a journal that is incomplete or damaged, or that another build wrote in a format that this
    /// build cannot read.
    pub(super) fn of(error: &RecoveryError<DatabaseError>, folder: &Path) -> Self {
        let advice = match error.is_of_another_build() {
            true => "Go on with the build that wrote it, or use another folder",
            false => {
                "Restore a backup of the folder, or go on without what is lost by --accept-loss, which \
                 keeps the damaged records beside the journal"
            }
        };
        let folder = folder.display();
        Self(format!("{folder}: {error}. Nothing was changed. {advice}"))
    }

    /// The error of the database in this folder.
    pub(super) fn database<E: Into<DatabaseError>>(folder: &Path) -> impl FnOnce(E) -> Self {
        move |error| {
            let (path, error) = (folder::database_in(folder), error.into());
            let advice = "If the file is damaged, restore a backup of the folder";
            Self(format!("{}: {error}. {advice}", path.display()))
        }
    }

    /// The error of a file beside it.
    pub(super) fn file(folder: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self(format!("{}: {}", folder.display(), reason(&error)))
    }
}

/// Whether these settings continue a journal that has lost acknowledged entries.
pub(super) const fn loss(settings: &JournalSettings) -> Loss {
    match settings.accept_loss {
        false => Loss::Refused,
        true => Loss::Accepted,
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
pub fn open(settings: &JournalSettings, config: &Config) -> Result<Opened, OpenError> {
    let folder = Folder::open(settings)?;
    let path = &folder.path;
    let began = Instant::now();
    // The recovery reads only: a refused start leaves the folder as it is.
    let found = Database::open_or_empty(path).map_err(OpenError::database(path))?;
    let known = found.identity().map_err(OpenError::database(path))?;
    let identity = match &known {
        Some(identity) => identity.clone(),
        None => new_identity().map_err(OpenError::database(path))?,
    };
    let origin = identity.origin();
    let recovered = found.recovered(&origin, config, loss(settings));
    let recovered = recovered.map_err(|error| OpenError::of(&error, path))?;
    drop(found);
    let database = Database::open_to_write(path, settings.durability);
    let database = database.map_err(OpenError::database(path))?;
    if known.is_none() {
        let set = database.set_identity(&identity);
        set.map_err(OpenError::database(path))?;
    }
    report(&recovered, began.elapsed());
    if let Some(from) = recovered.cut {
        set_aside(path, &database, from)?;
    }
    // Before the marks: a start that ends here finds the loss again.
    let last = recovered.chain.last();
    let continuity = leave_lost_life(&database, last, recovered.cut.is_some());
    let continuity = continuity.map_err(OpenError::database(path))?;
    let node = Node::with_journal(recovered.hub, config.clone(), identity.seed, continuity);
    let end = (recovered.chain, recovered.snapshot);
    let writer = Writer::begin(folder, settings, database, origin, end);
    let writer = writer.map_err(OpenError::file(&settings.folder))?;
    Ok(Opened {
        node,
        journal: DurableJournal::new(writer),
        identity,
    })
}

/// Notes whether a life is lost behind the end of the journal: what came there was set aside, or the
/// journal is a copy of a cluster's log, of which other members may have had more.
fn leave_lost_life(
    database: &Database,
    end: Position,
    is_cut: bool,
) -> rusqlite::Result<Continuity> {
    if is_cut || database.is_copy_of_log()? {
        database.set_lost_life(end)?;
        database.forget_log_place()?;
    }
    database.continuity(end)
}

/// Notes in the folder of a journal that a life of its server was lost: it ends at this position, and
/// may have gone on elsewhere. The next start passes the numbers of that life.
///
/// # Errors
/// The database cannot be written.
pub fn note_lost_life(folder: &Path, end: Position) -> Result<(), DatabaseError> {
    let database = Database::open_to_write(folder, Durability::Fsync)?;
    Ok(database.set_lost_life(end)?)
}

/// Moves records and snapshots from this position on out of the journal, after an accepted loss.
pub(super) fn set_aside(
    folder: &Path,
    database: &Database,
    from: Position,
) -> Result<(), OpenError> {
    let moved = database.set_aside(from);
    moved.map_err(OpenError::database(folder))?;
    for position in folder::snapshots(folder).map_err(OpenError::file(folder))? {
        if position >= from {
            folder::set_aside(folder, position).map_err(OpenError::file(folder))?;
        }
    }
    Ok(())
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
