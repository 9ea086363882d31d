//! The journal that a member of a cluster keeps: a copy of the batches of the cluster's log.
//!
//! Its records are those of a single server's journal, so that everything that reads one reads the
//! other. One transaction writes records and the place in the log behind them. So a crash never
//! leaves a journal whose place is another one, and what it lacks at its end is in the log.

use std::path::Path;
use std::sync::Arc;

use chat_cluster::{LogSnapshot, Place};
use chat_core::{Config, Continuity, Hub, Position};
use chat_journal::{Broken, Chain, Identity, Loss, Mark, Marks, Snapshot};
use server_settings::JournalSettings;

use super::database::{Database, DatabaseError};
use super::durable::{Writer, reserve};
use super::folder::{self, Folder, MarkFile, NoWrite};
use super::opening::{OpenError, loss, set_aside};

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
    settings: JournalSettings,
    /// The identity of the journal; none in a new folder.
    pub identity: Option<Identity>,
    /// The readable end of the journal: of all of it, unless the loss of the rest is accepted.
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
pub fn find(settings: &JournalSettings, config: &Config) -> Result<FoundJournal, OpenError> {
    let path = &settings.folder;
    let folder = Folder::open(settings)?;
    let stored = Database::open_or_empty(path).map_err(OpenError::database(path))?;
    let place = stored.log_place();
    let place = place.map_err(OpenError::database(path))?;
    let mut found = FoundJournal {
        folder,
        settings: settings.clone(),
        identity: stored.identity().map_err(OpenError::database(path))?,
        end: None,
        hub: None,
        place: place.and_then(|bytes| Place::from_bytes(&bytes)),
        is_damaged: false,
        continuity: Continuity::Whole,
    };
    let Some(identity) = &found.identity else {
        return Ok(found);
    };
    // The log has what a copy lacks at its end: its place decides, and not the mark.
    let loss = match found.place {
        Some(_) => Loss::Accepted,
        None => loss(settings),
    };
    let recovered = stored.recovered(&identity.origin(), config, loss);
    let recovered = recovered.map_err(|error| OpenError::of(&error, path))?;
    for warning in &recovered.warnings {
        tracing::warn!("{warning}");
    }
    let chain = recovered.chain;
    found.is_damaged = match &found.place {
        Some(place) => Mark::at(&place.chain) != Mark::at(&chain),
        None => recovered.cut.is_some(),
    };
    if let Some(place) = &found.place
        && found.is_damaged
        && !found.is_loss_accepted()
    {
        return Err(OpenError(format!(
            "{}: the copy of the cluster's log is whole up to position {}, and its end at position {} is \
             another one. Nothing was changed. --accept-loss keeps it beside a new journal, which begins \
             at a snapshot of the log",
            path.display(),
            chain.last().0,
            place.chain.last().0
        )));
    }
    let noted = stored.continuity(chain.last());
    found.continuity = match found.place.is_some() || found.is_damaged {
        true => Continuity::Broken,
        false => noted.map_err(OpenError::database(path))?,
    };
    (found.end, found.hub) = (Some(chain), Some(recovered.hub));
    Ok(found)
}

impl FoundJournal {
    /// The position of the last entry; 0 if there is none, or none that is readable.
    pub fn last(&self) -> Position {
        self.end.as_ref().map_or(Position(0), Chain::last)
    }

    /// Whether the operator accepts that entries are set aside.
    #[must_use]
    pub fn is_loss_accepted(&self) -> bool {
        loss(&self.settings) == Loss::Accepted
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// The position up to which answers may have left, if it is known.
    #[must_use]
    pub fn marked(&self) -> Option<Position> {
        let marks = folder::read_marks(&self.folder.path).ok()?;
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
            settings,
            end,
            ..
        } = self;
        let database = Database::open_to_write(&folder.path, settings.durability)?;
        if self.identity.is_none() {
            database.set_identity(identity)?;
        }
        let origin = identity.origin();
        let mut chain = end.unwrap_or_else(|| Chain::new(&origin));
        if self.is_damaged {
            // The operator accepts it.
            set_aside(&folder.path, &database, Position(1))?;
            chain = Chain::new(&origin);
        }
        reserve(&folder, &database);
        let snapshots = folder::snapshots(&folder.path);
        let begun = snapshots.and_then(|snapshots| {
            let newest = snapshots.first().copied().unwrap_or(Position(0));
            Writer::begin(folder, &settings, database, origin, (chain, newest))
        });
        let writer = begun.map_err(OpenError::file(&settings.folder))?;
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
        self.writer.folder.check()?;
        let mut chain = self.writer.chain;
        let mut rows = Vec::with_capacity(batches.len());
        let mut bytes = 0;
        for KeptBatch { record, .. } in batches {
            let batch = chain.follow(record)?;
            bytes += record.len() as u64;
            rows.push((batch, &**record));
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
        let chain = start.place.chain;
        if Mark::at(&chain) != Mark::at(&self.writer.chain) {
            self.begin_anew(&chain, &start.hub)?;
        }
        self.database()?.set_log_place(&start.place.to_bytes())?;
        self.writer.chain = chain;
        self.place = start.place.clone();
        Ok(())
    }

    fn begin_anew(&mut self, chain: &Chain, hub: &Hub) -> Result<(), KeepError> {
        if let Some(snapping) = self.writer.snapping.take() {
            // It would make a snapshot of what is set aside.
            let _ = snapping.join();
        }
        let path = self.writer.folder.path.clone();
        set_aside(&path, self.database()?, Position(1))?;
        if chain.last() > Position(0) {
            let bytes = Snapshot::write(&self.writer.origin, chain, hub);
            let written = folder::write_snapshot(&path, chain.last(), &bytes);
            written.map_err(OpenError::file(&path))?;
        }
        let marks = MarkFile::begin(&path, &Mark::at(chain));
        self.writer.marks = marks.map_err(OpenError::file(&path))?;
        self.writer.snapshot = chain.last();
        Ok(())
    }

    /// The database, which is opened again after an error, with the place that the disk has.
    fn database(&mut self) -> Result<&Database, KeepError> {
        if self.writer.database.is_none() {
            let place = self.writer.reopened(Database::log_place)?;
            if let Some(place) = place.and_then(|place| Place::from_bytes(&place)) {
                self.writer.chain = place.chain;
                self.place = place;
            }
        }
        let database = self.writer.database.as_ref();
        Ok(database.ok_or(DatabaseError::Sqlite(rusqlite::Error::InvalidQuery))?)
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
        if Mark::at(&end.chain) == Mark::at(&self.writer.chain)
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
