//! The durable journal: a separate thread writes it, and another makes snapshots.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use chat_core::{Config, Entry, Hub, Position, Time};
use chat_journal::{Chain, Loss, Mark, Origin, Snapshot, recover};
use server_settings::Durability;
use server_settings::os_error::reason;

use super::database::{Database, DatabaseError, is_certain};
use super::folder::{self, Folder, MarkFile};
use super::forgetting::Forgetting;
use super::kinds::kinds;
use super::reader::Stored;
use super::space::{NoWrite, OpenedFolder};
use super::{Append, Fate, FateReporter, Journal};

/// The number of entries between two snapshots.
const SNAPSHOT_EVERY: u64 = 50_000;

/// The idle time after which the writer does its postponed work, and looks for its folder.
const IDLE: Duration = Duration::from_secs(1);

/// The idle time while the folder takes nothing: shorter than the pause of a node that was told so.
const REFUSED: Duration = Duration::from_millis(500);

/// The pause between two attempts to find out the outcome of a batch.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long a shutdown waits for the writer.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// A journal on a disk.
#[derive(Debug)]
pub struct DurableJournal(State);

impl DurableJournal {
    /// The journal that this writer writes, once a driver is attached.
    pub(super) fn new(writer: Writer) -> Self {
        Self(State::Opened(Box::new(writer)))
    }
}

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
    fn attach(&mut self, later: FateReporter) {
        let State::Opened(writer) = std::mem::replace(&mut self.0, State::Closed) else {
            return;
        };
        let (jobs, queue) = channel();
        let (end, ended) = channel();
        let spawned = thread::Builder::new()
            .name("journal".into())
            .spawn(move || {
                let mut writer = writer;
                writer.reserve();
                writer.run(&queue, &later);
                // A shutdown that has timed out no longer receives.
                let _ = end.send(writer);
            });
        match spawned {
            Ok(_) => self.0 = State::Running { jobs, ended },
            Err(error) => tracing::error!(error = reason(&error), "the journal has no thread"),
        }
    }

    fn append(&mut self, now: Time, entries: &[Entry]) -> Append {
        let entries = entries.to_vec();
        match &self.0 {
            State::Running { jobs, .. } if jobs.send(Job { at: now, entries }).is_ok() => {
                Append::Pending
            }
            State::Running { .. } | State::Opened(_) | State::Closed => Append::Settled(Fate::Lost),
        }
    }

    fn close(&mut self, hub: &Hub) -> Result<(), NoWrite> {
        let State::Running { jobs, ended } = std::mem::replace(&mut self.0, State::Closed) else {
            return Ok(());
        };
        drop(jobs);
        match ended.recv_timeout(LAST_WRITES) {
            Ok(mut writer) => return writer.finish(hub),
            Err(_) => tracing::error!("the journal did not end in time: the disk does not answer"),
        }
        Ok(())
    }
}

/// The state of the writer's thread.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) folder: Folder,
    pub(super) opened: OpenedFolder,
    /// Why the folder takes nothing, as far as was seen.
    pub(super) refused: Option<NoWrite>,
    pub(super) durability: Durability,
    /// `None` while it must be opened again.
    pub(super) database: Option<Database>,
    pub(super) origin: Origin,
    pub(super) config: Config,
    pub(super) chain: Chain,
    pub(super) marks: MarkFile,
    /// Records since the last checkpoint, and their size.
    pub(super) unchecked: (u64, u64),
    /// The position of the newest snapshot.
    pub(super) snapshot: Position,
    /// The size of the records since then.
    pub(super) grown: u64,
    pub(super) forgetting: Forgetting,
    /// A snapshot in progress; receives its position when it is finished.
    pub(super) snapping: Option<Receiver<Option<Position>>>,
}

impl Writer {
    /// Writes batches until all senders are gone.
    fn run(&mut self, queue: &Receiver<Job>, later: &FateReporter) {
        loop {
            match queue.recv_timeout(self.refused.map_or(IDLE, |_| REFUSED)) {
                Ok(job) => {
                    let fate = self.append(&job, later);
                    later.tell(fate);
                    self.tidy();
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.is_refused() {
                        later.tell(Fate::Refused);
                    }
                    self.rest();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    /// Whether the folder takes nothing.
    fn is_refused(&mut self) -> bool {
        let refused = self.opened.check().err();
        if let Some(why) = refused.filter(|why| self.refused != Some(*why)) {
            tracing::error!("nothing is accepted by the journal: {why}");
        }
        self.refused = refused;
        refused.is_some()
    }

    /// Appends a batch, and waits until its outcome is known.
    fn append(&mut self, job: &Job, later: &FateReporter) -> Fate {
        if self.is_refused() {
            return Fate::Failed;
        }
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
        self.wrote(sealed.after, (1, sealed.bytes.len() as u64));
        Fate::Committed { first, at: job.at }
    }

    /// The journal ends here now, after this number of records of this size.
    pub(super) fn wrote(&mut self, chain: Chain, (records, bytes): (u64, u64)) {
        self.chain = chain;
        self.unchecked.0 += records;
        self.unchecked.1 += bytes;
        self.grown += bytes;
        if let Err(error) = self.marks.set(&Mark::at(&self.chain)) {
            tracing::error!(
                error = reason(&error),
                "the mark of the journal cannot be written"
            );
        }
    }

    /// Finds out whether the record was written, from pages on the disk. After a failed fsync,
    /// pages in memory may be marked as written although they are not (Rebello et al., ATC'20).
    fn learn(&mut self, first: Position, record: &[u8]) -> bool {
        loop {
            // The database is closed first, so that the new connection reads the files again.
            self.database = None;
            if !self.opened.is_there() {
                return false;
            }
            match self.reopened(first) {
                Ok((database, found)) => {
                    self.database = Some(database);
                    self.reserve();
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

    /// Makes the WAL as long as it usually becomes.
    pub(super) fn reserve(&self) {
        let free = self.opened.free();
        let reserved = self
            .database
            .as_ref()
            .map(|database| database.reserve(free));
        if let Some(Err(error)) = reserved {
            tracing::warn!(
                error = reason(&error),
                "the WAL grows with its records, which takes longer"
            );
        }
    }

    /// Work between two batches.
    pub(super) fn tidy(&mut self) {
        let (records, bytes) = self.unchecked;
        if let Some(database) = &self.database
            && database.is_full(records, bytes)
        {
            self.checkpoint();
        }
        self.sync_marks();
        self.snapshot_beside();
        self.forget();
    }

    /// Lets the next records replace those in the WAL.
    fn checkpoint(&mut self) {
        self.unchecked = (0, 0);
        match self.database.as_ref().map(Database::checkpoint) {
            Some(Ok(true)) => self.reserve(),
            Some(Err(error)) => tracing::warn!(%error, "a checkpoint failed, and is tried again"),
            Some(Ok(false)) | None => {}
        }
    }

    fn sync_marks(&mut self) {
        if let Err(error) = self.marks.sync_when_due() {
            tracing::error!(
                error = reason(&error),
                "the mark of the journal cannot be made durable"
            );
        }
    }

    fn forget(&mut self) {
        if let Some(database) = &self.database {
            self.forgetting.some(database, self.chain.last());
        }
    }

    /// Work while there is nothing to write.
    pub(super) fn rest(&mut self) {
        self.sync_marks();
        // Not one that always truncates: a WAL that must grow again makes commits slow.
        let is_long = self.database.as_ref().is_some_and(Database::is_wal_long);
        if self.unchecked.0 > 0 || is_long {
            self.checkpoint();
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
        let frees_room = self.forgetting.wants_snapshot(self.grown);
        let is_due = frees_room || self.chain.last().0 - self.snapshot.0 >= SNAPSHOT_EVERY;
        if !is_due || !self.opened.is_there() {
            return;
        }
        self.grown = 0;
        let (done, snapping) = channel();
        let (folder, path) = (self.folder.path().to_owned(), self.folder.database());
        let (origin, config) = (self.origin, self.config.clone());
        let spawned = thread::Builder::new()
            .name("snapshot".into())
            .spawn(move || {
                // While the writers take all cores, the journal would grow far beyond its bytes.
                if !frees_room {
                    crate::priority::lower();
                }
                let made = snapshot_of(&folder, &path, &origin, &config);
                let position = made
                    .inspect_err(|error| tracing::error!(%error, "a snapshot could not be made"))
                    .ok();
                // A writer that has ended does not receive it.
                let _ = done.send(position);
            });
        match spawned {
            Ok(_) => self.snapping = Some(snapping),
            Err(error) => tracing::error!(error = reason(&error), "a snapshot has no thread"),
        }
    }

    /// The last writes of a clean shutdown. `hub` is the state after the last record, unless the
    /// node does not know its outcome.
    pub(super) fn finish(&mut self, hub: &Hub) -> Result<(), NoWrite> {
        if let Some(snapping) = self.snapping.take() {
            // The thread ends by itself. Two snapshots at once would write the same file.
            let _ = snapping.recv();
        }
        if !self.opened.is_there() {
            // Another server may use the folder.
            return Err(NoWrite::Vanished);
        }
        let written = match hub.position() == self.chain.last() {
            true => {
                let bytes = Snapshot::write(&self.origin, &self.chain, hub);
                folder::write_snapshot(self.folder.path(), self.chain.last(), &bytes)
            }
            false => Ok(()),
        };
        if let Err(error) = written.and_then(|()| self.marks.sync()) {
            tracing::error!(
                error = reason(&error),
                "the last snapshot was not written; the next start replays"
            );
        }
        if let Some(Err(error)) = self.database.as_ref().map(Database::truncate) {
            tracing::warn!(%error, "the last checkpoint failed; the next start makes it");
        }
        Ok(())
    }
}

/// Makes a snapshot at the end of the journal, and returns its position.
fn snapshot_of(
    folder: &Path,
    database: &Path,
    origin: &Origin,
    config: &Config,
) -> Result<Position, Box<dyn std::error::Error>> {
    let database = Database::open_to_read(database)?;
    let mut stored = Stored {
        folder,
        database: Some(&database),
    };
    let look = &mut |_: &_, _, _: &_, _: &_| {};
    let state = recover(&mut stored, origin, config, Loss::Refused, look)?;
    let bytes = Snapshot::write(origin, &state.chain, &state.hub);
    folder::write_snapshot(folder, state.chain.last(), &bytes)?;
    Ok(state.chain.last())
}
