//! The journal that a member of a cluster keeps: a copy of the batches of the cluster's log.
//!
//! Its records are those of a single server's journal, so that everything that reads one reads the
//! other. One transaction writes records and the place in the log behind them. So a crash never
//! leaves a journal whose place is another one, and what it lacks at its end is in the log.

use std::path::Path;
use std::sync::Arc;

use chat_cluster::{LogSnapshot, Place};
use chat_core::{Config, Continuity, Hub, Position};
use chat_journal::{Broken, Chain, Identity, Loss, Mark, Marks, Origin, Snapshot, recover};

use super::database::{Database, DatabaseError, KeptRow};
use super::durable::Writer;
use super::folder::{self, Folder, MarkFile};
use super::forgetting::Forgetting;
use super::kinds::kinds;
use super::opening::{OpenError, Options, set_aside, stored_database};
use super::reader::Stored;
use super::space::{NoWrite, OpenedFolder};

/// Why records are not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// They do not continue the journal.
    #[error("they do not continue the journal: {0}")]
    Gap(#[from] Broken),
    /// The database cannot be written.
    #[error("{0}")]
    Database(#[from] DatabaseError),
    /// A file beside it cannot be written.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// The folder takes nothing.
    #[error("{0}")]
    Folder(#[from] NoWrite),
}

impl From<rusqlite::Error> for KeepError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

/// A batch of the log: its record of the journal, and the place behind it.
#[derive(Clone, Debug)]
pub struct KeptBatch {
    /// The place behind it.
    pub place: Place,
    /// Its record, as bytes.
    pub record: Arc<[u8]>,
}

/// What a folder has, locked and unchanged.
#[derive(Debug)]
pub struct FoundJournal {
    folder: Folder,
    options: Options,
    config: Config,
    /// The identity of the journal; none in a new folder.
    pub identity: Option<Identity>,
    /// The readable end of the journal, and the state there.
    pub end: Option<Chain>,
    /// The state at that end.
    pub hub: Option<Hub>,
    /// The place in the log at the end; none if the journal is of a single server.
    pub place: Option<Place>,
    /// Whether there is more behind the readable end, which is not readable.
    is_damaged: bool,
    /// Whether a life may be lost behind the readable end. Other members may have had more than a
    /// copy of the log has.
    pub continuity: Continuity,
}

/// Locks the folder, and reads the journal there.
///
/// # Errors
/// The folder cannot be used, or its journal is damaged.
pub fn find(options: &Options, config: &Config) -> Result<FoundJournal, OpenError> {
    let folder = Folder::open(&options.folder)?;
    let wrong = |error: DatabaseError| OpenError::Database {
        path: folder.database(),
        error,
    };
    let (mut identity, mut end, mut place) = (None, None, None);
    let mut continuity = Continuity::Whole;
    if let Some(database) = stored_database(&folder).map_err(wrong)? {
        identity = database.identity().map_err(wrong)?;
        let stored = database.log_place().map_err(|error| wrong(error.into()))?;
        place = stored.and_then(|bytes| Place::from_bytes(&bytes));
        if let Some(identity) = &identity {
            let origin = identity.origin();
            let found = (folder.path(), &database);
            let found = state(found, &origin, (options, config), place.as_ref())?;
            let noted = database.continuity(found.chain.last());
            continuity = match place.is_some() || found.is_damaged {
                true => Continuity::Broken,
                false => noted.map_err(|error| wrong(error.into()))?,
            };
            end = Some(found);
        }
    }
    let is_damaged = end.as_ref().is_some_and(|found| found.is_damaged);
    let (end, hub) = end.map(|found| (found.chain, found.hub)).unzip();
    Ok(FoundJournal {
        hub,
        is_damaged,
        continuity,
        folder,
        options: options.clone(),
        config: config.clone(),
        identity,
        end,
        place,
    })
}

/// The readable end of a journal.
struct ReadableEnd {
    chain: Chain,
    hub: Hub,
    is_damaged: bool,
}

/// The readable end of the journal: of all of it, unless the loss of the rest is accepted.
fn state(
    (folder, database): (&Path, &Database),
    origin: &Origin,
    (options, config): (&Options, &Config),
    place: Option<&Place>,
) -> Result<ReadableEnd, OpenError> {
    let mut stored = Stored {
        folder,
        database: Some(database),
    };
    // The log has what a copy lacks at its end: its place decides, and not the mark.
    let loss = match place {
        Some(_) => Loss::Accepted,
        None => options.loss,
    };
    let look = &mut |_: &_, _, _: &_, _: &_| {};
    let recovered = recover(&mut stored, origin, config, loss, look);
    let recovered = recovered.map_err(|error| OpenError::of(error, folder))?;
    for warning in &recovered.warnings {
        tracing::warn!("{warning}");
    }
    let chain = recovered.chain;
    let is_damaged = match place.map(Place::chain) {
        Some(end) => Mark::at(end) != Mark::at(&chain),
        None => recovered.cut.is_some(),
    };
    if let Some(place) = place
        && is_damaged
        && options.loss == Loss::Refused
    {
        return Err(OpenError::Copy {
            path: folder.into(),
            whole: chain.last(),
            end: place.chain().last(),
        });
    }
    Ok(ReadableEnd {
        chain,
        hub: recovered.hub,
        is_damaged,
    })
}

impl FoundJournal {
    /// The position of the last entry; 0 if there is none, or none that is readable.
    pub fn last(&self) -> Position {
        self.end.as_ref().map_or(Position(0), Chain::last)
    }

    /// Whether the operator accepts that entries are set aside.
    #[must_use]
    pub fn is_loss_accepted(&self) -> bool {
        self.options.loss == Loss::Accepted
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The position up to which answers may have left, if it is known.
    #[must_use]
    pub fn marked(&self) -> Option<Position> {
        let marks = folder::read_marks(self.folder.path()).ok()?;
        Marks::read(&marks).known().map(|mark| mark.position)
    }

    /// Continues the journal from the place of a member that starts. If the journal does not end
    /// there, it is set aside, and another one begins at the member's state.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn keep(self, identity: &Identity, start: &LogSnapshot) -> Result<KeptJournal, KeepError> {
        let Self {
            folder,
            options,
            config,
            end,
            ..
        } = self;
        let failed = |error| OpenError::File {
            path: options.folder.clone(),
            error,
        };
        let database = Database::open(&folder.database(), options.durability)?;
        if self.identity.is_none() {
            database.set_identity(identity)?;
        }
        let origin = identity.origin();
        let mut chain = end.unwrap_or_else(|| Chain::new(&origin));
        if self.is_damaged {
            // The operator accepts it.
            set_aside(&folder, &database, Position(1))?;
            chain = Chain::new(&origin);
        }
        let marks = MarkFile::begin(folder.path(), &Mark::at(&chain)).map_err(failed)?;
        let forgetting = Forgetting::new(folder.path(), &options).map_err(failed)?;
        let opened = OpenedFolder::of(&folder, options.reserve).map_err(failed)?;
        let snapshots = folder::snapshots(folder.path()).map_err(failed)?;
        let writer = Writer {
            opened,
            refused: None,
            grown: 0,
            folder,
            durability: options.durability,
            database: Some(database),
            origin,
            config,
            chain,
            marks,
            unchecked: (0, 0),
            snapshot: snapshots.first().copied().unwrap_or(Position(0)),
            forgetting,
            snapping: None,
        };
        writer.reserve();
        let place = Place::new(&origin);
        let mut kept = KeptJournal { writer, place };
        kept.continue_at(start)?;
        Ok(kept)
    }
}

/// The journal, open for writing.
#[derive(Debug)]
pub struct KeptJournal {
    writer: Writer,
    place: Place,
}

impl KeptJournal {
    /// The place in the log up to which the journal has everything.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Writes batches that continue the journal up to this place in the log, durably.
    ///
    /// # Errors
    /// They do not continue it, or cannot be written. Nothing is written then.
    pub fn append(&mut self, batches: &[KeptBatch], end: &Place) -> Result<(), KeepError> {
        if *end == self.place {
            return Ok(());
        }
        self.writer.opened.check()?;
        let mut chain = self.writer.chain;
        let mut rows = Vec::with_capacity(batches.len());
        let mut bytes = 0;
        for KeptBatch { record, .. } in batches {
            let batch = chain.follow(record)?;
            bytes += record.len() as u64;
            rows.push(KeptRow {
                first: batch.first,
                record: Arc::clone(record),
                at: batch.at,
                kinds: kinds(&batch.entries),
            });
        }
        self.database()?.append_kept(&rows, &end.to_bytes())?;
        self.place = end.clone();
        self.writer.wrote(chain, (rows.len() as u64, bytes));
        self.writer.tidy();
        Ok(())
    }

    /// Continues at this snapshot of the log. If the journal ends at its position, only the place
    /// moves. If not, records are missing: those before are set aside, and the journal begins anew.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn continue_at(&mut self, start: &LogSnapshot) -> Result<(), KeepError> {
        let chain = *start.place().chain();
        if Mark::at(&chain) != Mark::at(&self.writer.chain) {
            self.begin_anew(&chain, start.hub())?;
        }
        self.database()?.set_log_place(&start.place().to_bytes())?;
        self.writer.chain = chain;
        self.place = start.place().clone();
        Ok(())
    }

    fn begin_anew(&mut self, chain: &Chain, hub: &Hub) -> Result<(), KeepError> {
        if let Some(snapping) = self.writer.snapping.take() {
            // It would make a snapshot of what is set aside.
            let _ = snapping.recv();
        }
        self.database()?;
        let Writer {
            folder, database, ..
        } = &self.writer;
        let Some(database) = database else {
            return Err(rusqlite::Error::InvalidQuery.into());
        };
        set_aside(folder, database, Position(1))?;
        let path = folder.path();
        let failed = |error| OpenError::File {
            path: path.into(),
            error,
        };
        if chain.last() > Position(0) {
            let bytes = Snapshot::write(&self.writer.origin, chain, hub);
            folder::write_snapshot(path, chain.last(), &bytes).map_err(failed)?;
        }
        self.writer.marks = MarkFile::begin(path, &Mark::at(chain)).map_err(failed)?;
        self.writer.snapshot = chain.last();
        Ok(())
    }

    /// The database, which is opened again after an error, from what the disk has: after a failed
    /// commit the pages in memory prove nothing.
    fn database(&mut self) -> Result<&Database, KeepError> {
        if self.writer.database.is_none() {
            let database = Database::open(&self.writer.folder.database(), self.writer.durability)?;
            if !database.truncate()? {
                return Err(rusqlite::Error::InvalidQuery.into());
            }
            if let Some(place) = database.log_place()?
                && let Some(place) = Place::from_bytes(&place)
            {
                self.writer.chain = *place.chain();
                self.place = place;
            }
            self.writer.database = Some(database);
            self.writer.reserve();
            tracing::warn!("the journal was opened again");
        }
        let database = self.writer.database.as_ref();
        database.ok_or_else(|| rusqlite::Error::InvalidQuery.into())
    }

    /// Closes the database, so that the next write reads what the disk has.
    pub fn close_database(&mut self) {
        self.writer.database = None;
    }

    /// Work while there is nothing to write.
    pub fn rest(&mut self) {
        self.writer.rest();
    }

    /// The last writes, with the member's last state.
    pub fn finish(&mut self, end: &Place, hub: &Hub) {
        if Mark::at(end.chain()) == Mark::at(&self.writer.chain)
            && let Ok(database) = self.database()
            && let Err(error) = database.set_log_place(&end.to_bytes())
        {
            tracing::warn!(%error, "the place in the log was not written; the next start reads more of it");
        }
        if let Err(why) = self.writer.finish(hub) {
            tracing::error!("the journal of this member ends early: {why}");
        }
    }
}
