//! The durable journal: a separate thread writes it, and another makes snapshots.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use chat_core::{Config, Entry, Hub, Node, Position, Time};
use chat_journal::{
    Chain, Identity, Loss, Mark, Recovered, RecoveryError, Snapshot, Store, recover,
};

use super::database::{Database, DatabaseError, Durability, is_certain};
use super::folder::{self, Folder, FolderError, MarkFile};
use super::forgetting::Forgetting;
use super::kinds::kinds;
use super::{Append, Fate, Journal, Later};

/// The number of entries between two snapshots.
const SNAPSHOT_EVERY: u64 = 50_000;

/// The number of records in the WAL before a checkpoint between two batches.
const CHECKPOINT_EVERY: u64 = 1_000;

/// The idle time after which the writer does its postponed work.
const IDLE: Duration = Duration::from_secs(1);

/// The pause between two attempts to find out the outcome of a batch.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long a shutdown waits for the writer.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Why a server cannot start from its journal.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The database cannot be used.
    #[error("{}: {error}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// The reason.
        error: DatabaseError,
    },
    /// A file beside the database cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The folder.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
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

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An error of SQLite.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A file cannot be read.
    #[error("{0}")]
    File(#[from] std::io::Error),
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
    let database = Database::open(&folder.database(), options.durability).map_err(wrong)?;
    let identity = database.identity().map_err(wrong)?;
    let mut stored = Stored {
        folder: folder.path(),
        database: &database,
    };
    let began = Instant::now();
    let look = &mut |_: Position, _: Time, _: &Entry, _: &_| {};
    let recovered = recover(&mut stored, &identity, config, options.loss, look);
    let recovered = recovered.map_err(|error| OpenError::Recovery {
        path: folder.path().into(),
        error: Box::new(error),
    })?;
    report(&recovered, began.elapsed());
    let failed = |error| OpenError::File {
        path: folder.path().into(),
        error,
    };
    if let Some(from) = recovered.cut {
        let moved = database.set_aside(from);
        moved.map_err(|error| wrong(error.into()))?;
        for position in folder::snapshots(folder.path()).map_err(failed)? {
            if position >= from {
                folder::set_aside(folder.path(), position).map_err(failed)?;
            }
        }
    }
    let mut marks = MarkFile::open(folder.path()).map_err(failed)?;
    marks.begin(&Mark::at(&recovered.chain)).map_err(failed)?;
    let node = match recovered.chain.last() {
        Position(0) => Node::start(config.clone(), identity.seed),
        _ => Node::resume(recovered.hub, config.clone()),
    };
    let forgetting = Forgetting::new(folder.path(), options.entries).map_err(failed)?;
    let journal = DurableJournal(State::Opened(Box::new(Writer {
        forgetting,
        folder,
        durability: options.durability,
        database: Some(database),
        identity: identity.clone(),
        config: config.clone(),
        chain: recovered.chain,
        marks,
        unchecked: 0,
        snapshot: recovered.snapshot,
        snapping: None,
    })));
    Ok(Opened {
        node,
        journal,
        identity,
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
            took_ms = took.as_millis(),
            "the journal was read back"
        );
    }
}

/// A folder with its database, for reading.
pub(super) struct Stored<'f> {
    pub(super) folder: &'f Path,
    pub(super) database: &'f Database,
}

impl Store for Stored<'_> {
    type Error = ReadError;

    fn snapshot(&mut self, number: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let positions = folder::snapshots(self.folder)?;
        let Some(position) = positions.get(number) else {
            return Ok(None);
        };
        Ok(Some(folder::read_snapshot(self.folder, *position)?))
    }

    fn marks(&mut self) -> Result<Vec<u8>, ReadError> {
        Ok(folder::read_marks(self.folder)?)
    }

    fn records(
        &mut self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        Ok(self.database.records(after, take)?)
    }
}

/// A journal on a disk.
#[derive(Debug)]
pub struct DurableJournal(State);

#[derive(Debug)]
enum State {
    /// No driver is attached yet.
    Opened(Box<Writer>),
    Running {
        jobs: Sender<Job>,
        /// Receives the writer when its thread has ended.
        ended: Receiver<Box<Writer>>,
    },
    Closed,
}

/// A batch for the writer.
#[derive(Debug)]
struct Job {
    at: Time,
    entries: Vec<Entry>,
}

impl Journal for DurableJournal {
    fn attach(&mut self, later: Later) {
        let State::Opened(writer) = std::mem::replace(&mut self.0, State::Closed) else {
            return;
        };
        let (jobs, queue) = channel();
        let (end, ended) = channel();
        let spawned = thread::Builder::new()
            .name("journal".into())
            .spawn(move || {
                let mut writer = writer;
                writer.run(&queue, &later);
                // A shutdown that has timed out no longer receives.
                let _ = end.send(writer);
            });
        match spawned {
            Ok(_) => self.0 = State::Running { jobs, ended },
            Err(error) => tracing::error!(%error, "the journal has no thread: nothing is accepted"),
        }
    }

    fn append(&mut self, now: Time, entries: &[Entry]) -> Append {
        let entries = entries.to_vec();
        match &self.0 {
            State::Running { jobs, .. } if jobs.send(Job { at: now, entries }).is_ok() => {
                Append::Pending
            }
            State::Running { .. } | State::Opened(_) | State::Closed => {
                Append::Settled(Fate::Failed)
            }
        }
    }

    fn close(&mut self, hub: &Hub) {
        let State::Running { jobs, ended } = std::mem::replace(&mut self.0, State::Closed) else {
            return;
        };
        drop(jobs);
        match ended.recv_timeout(LAST_WRITES) {
            Ok(mut writer) => writer.finish(hub),
            Err(_) => tracing::error!("the journal did not end in time: the disk does not answer"),
        }
    }
}

/// The state of the writer's thread.
#[derive(Debug)]
struct Writer {
    folder: Folder,
    durability: Durability,
    /// `None` while it must be opened again.
    database: Option<Database>,
    identity: Identity,
    config: Config,
    chain: Chain,
    marks: MarkFile,
    /// Records since the last checkpoint.
    unchecked: u64,
    /// The position of the newest snapshot.
    snapshot: Position,
    forgetting: Forgetting,
    /// A snapshot in progress; receives its position when it is finished.
    snapping: Option<Receiver<Option<Position>>>,
}

impl Writer {
    /// Writes batches until all senders are gone.
    fn run(&mut self, queue: &Receiver<Job>, later: &Later) {
        loop {
            match queue.recv_timeout(IDLE) {
                Ok(job) => {
                    let fate = self.append(&job, later);
                    later.tell(fate);
                    self.tidy();
                }
                Err(RecvTimeoutError::Timeout) => self.rest(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    /// Appends a batch, and waits until its outcome is known.
    fn append(&mut self, job: &Job, later: &Later) -> Fate {
        let sealed = self.chain.seal(job.at, &job.entries);
        let first = sealed.first;
        let appended = match &self.database {
            Some(database) => {
                let eyes = (job.at, &*kinds(&job.entries));
                database.append(first, &sealed.bytes, eyes)
            }
            None => Err(rusqlite::Error::InvalidQuery),
        };
        if let Err(error) = appended {
            tracing::error!(%error, "the journal cannot be written");
            if is_certain(&error) {
                return Fate::Failed;
            }
            later.tell(Fate::Unknown);
            if !self.learn(first, &sealed.bytes) {
                return Fate::Failed;
            }
        }
        self.chain = sealed.after;
        self.unchecked += 1;
        if let Err(error) = self.marks.set(&Mark::at(&self.chain)) {
            tracing::error!(%error, "the mark of the journal cannot be written");
        }
        Fate::Committed { first, at: job.at }
    }

    /// Finds out whether the record was written, from pages on the disk. After a failed fsync,
    /// pages in memory may be marked as written although they are not (Rebello et al., ATC'20).
    fn learn(&mut self, first: Position, record: &[u8]) -> bool {
        loop {
            // The database is closed first, so that the new connection reads the files again.
            self.database = None;
            match self.reopened(first) {
                Ok((database, found)) => {
                    self.database = Some(database);
                    tracing::warn!(found = found.is_some(), "the journal was opened again");
                    return found.is_some_and(|found| found == record);
                }
                Err(error) => {
                    tracing::error!(%error, "the fate of a batch is unknown: the server halts");
                    thread::sleep(ASK_AGAIN);
                }
            }
        }
    }

    fn reopened(&self, first: Position) -> Result<(Database, Option<Vec<u8>>), DatabaseError> {
        let database = Database::open(&self.folder.database(), self.durability)?;
        if !database.truncate()? {
            return Err(rusqlite::Error::InvalidQuery.into());
        }
        let found = database.record(first)?;
        Ok((database, found))
    }

    /// Work between two batches.
    fn tidy(&mut self) {
        if self.unchecked >= CHECKPOINT_EVERY {
            self.unchecked = 0;
            if let Some(Err(error)) = self.database.as_ref().map(Database::checkpoint) {
                tracing::warn!(%error, "a checkpoint failed, and is tried again");
            }
        }
        self.snapshot_beside();
        self.forget();
    }

    fn forget(&mut self) {
        if let Some(database) = &self.database {
            self.forgetting.some(database, self.chain.last());
        }
    }

    /// Work while there is nothing to write.
    fn rest(&mut self) {
        if let Err(error) = self.marks.sync() {
            tracing::error!(%error, "the mark of the journal cannot be made durable");
        }
        if self.unchecked > 0
            && matches!(
                self.database.as_ref().map(Database::truncate),
                Some(Ok(true))
            )
        {
            self.unchecked = 0;
        }
        self.snapshot_beside();
        self.forget();
    }

    /// Starts the next snapshot when it is due, in a thread that reads the journal from the last
    /// snapshot on, as a recovery does, so that no call waits for it.
    fn snapshot_beside(&mut self) {
        if let Some(snapping) = &self.snapping {
            match snapping.try_recv() {
                Ok(made) => self.snapshot = made.unwrap_or(self.chain.last()),
                Err(std::sync::mpsc::TryRecvError::Empty) => return,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    self.snapshot = self.chain.last();
                }
            }
            self.snapping = None;
            self.forgetting.snapshot_made(self.folder.path());
        }
        if self.chain.last().0 - self.snapshot.0 < SNAPSHOT_EVERY {
            return;
        }
        let (done, snapping) = channel();
        let (folder, path) = (self.folder.path().to_owned(), self.folder.database());
        let (identity, config) = (self.identity.clone(), self.config.clone());
        let spawned = thread::Builder::new()
            .name("snapshot".into())
            .spawn(move || {
                let made = snapshot_of(&folder, &path, &identity, &config);
                let position = made
                    .inspect_err(|error| tracing::error!(%error, "a snapshot could not be made"))
                    .ok();
                // A writer that has ended does not receive it.
                let _ = done.send(position);
            });
        match spawned {
            Ok(_) => self.snapping = Some(snapping),
            Err(error) => tracing::error!(%error, "a snapshot has no thread"),
        }
    }

    /// The last writes of a clean shutdown. `hub` is the state after the last record, unless the
    /// node does not know its outcome.
    fn finish(&mut self, hub: &Hub) {
        if let Some(snapping) = self.snapping.take() {
            // The thread ends by itself. Two snapshots at once would write the same file.
            let _ = snapping.recv();
        }
        let written = match hub.position() == self.chain.last() {
            true => {
                let bytes = Snapshot::write(&self.identity, &self.chain, hub);
                folder::write_snapshot(self.folder.path(), self.chain.last(), &bytes)
            }
            false => Ok(()),
        };
        if let Err(error) = written.and_then(|()| self.marks.sync()) {
            tracing::error!(%error, "the last snapshot was not written; the next start replays");
        }
        if let Some(Err(error)) = self.database.as_ref().map(Database::truncate) {
            tracing::warn!(%error, "the last checkpoint failed; the next start makes it");
        }
    }
}

/// Makes a snapshot at the end of the journal, and returns its position.
fn snapshot_of(
    folder: &Path,
    database: &Path,
    identity: &Identity,
    config: &Config,
) -> Result<Position, Box<dyn std::error::Error>> {
    let database = Database::open_beside(database)?;
    let mut stored = Stored {
        folder,
        database: &database,
    };
    let look = &mut |_: Position, _: Time, _: &Entry, _: &_| {};
    let state = recover(&mut stored, identity, config, Loss::Refused, look)?;
    let bytes = Snapshot::write(identity, &state.chain, &state.hub);
    folder::write_snapshot(folder, state.chain.last(), &bytes)?;
    Ok(state.chain.last())
}
