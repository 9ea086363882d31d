//! The durable journal: a separate thread writes it, and another makes snapshots.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chat_core::{Config, Entry, Hub, Position, Time};
use chat_journal::{Chain, Loss, Mark, Origin, Snapshot};
use server_settings::os_error::reason;
use server_settings::{Durability, JournalSettings};

use super::database::{Database, DatabaseError, is_certain};
use super::folder::{self, Folder, MarkFile};
use super::forgetting::Forgetting;
use super::reader::JournalReader;
use super::space::{self, NoWrite};
use super::{Fate, FateReporter, Journal};

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
                writer.run(&queue, &later);
                // A shutdown that has timed out no longer receives.
                let _ = end.send(writer);
            });
        match spawned {
            Ok(_) => self.0 = State::Running { jobs, ended },
            Err(error) => tracing::error!(error = reason(&error), "the journal has no thread"),
        }
    }

    fn append(&mut self, now: Time, entries: &[Entry]) -> Option<Fate> {
        let entries = entries.to_vec();
        match &self.0 {
            State::Running { jobs, .. } if jobs.send(Job { at: now, entries }).is_ok() => None,
            State::Running { .. } | State::Opened(_) | State::Closed => Some(Fate::Lost),
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
    /// Why the folder takes nothing, as far as was seen.
    refused: Option<NoWrite>,
    durability: Durability,
    /// `None` while it must be opened again.
    pub(super) database: Option<Database>,
    pub(super) origin: Origin,
    config: Config,
    pub(super) chain: Chain,
    pub(super) marks: MarkFile,
    /// Records since the last checkpoint, and their size.
    unchecked: (u64, u64),
    /// The position of the newest snapshot.
    pub(super) snapshot: Position,
    /// The size of the records since then.
    grown: u64,
    forgetting: Forgetting,
    /// A snapshot in progress, which returns its position if it is made.
    pub(super) snapping: Option<JoinHandle<Option<Position>>>,
}

impl Writer {
    /// A writer of the journal with this end, and with the newest snapshot at this position.
    pub(super) fn begin(
        mut folder: Folder,
        settings: &JournalSettings,
        database: Database,
        (origin, config): (Origin, &Config),
        (chain, snapshot): (Chain, Position),
    ) -> io::Result<Self> {
        let marks = MarkFile::begin(folder.path(), &Mark::at(&chain))?;
        folder.remember()?;
        Ok(Self {
            forgetting: Forgetting::new(folder.path(), settings)?,
            folder,
            refused: None,
            durability: settings.durability,
            database: Some(database),
            origin,
            config: config.clone(),
            chain,
            marks,
            unchecked: (0, 0),
            snapshot,
            grown: 0,
            snapping: None,
        })
    }

    /// Writes batches until all senders are gone.
    fn run(&mut self, queue: &Receiver<Job>, later: &FateReporter) {
        if let Some(database) = &self.database {
            reserve(&self.folder, database);
        }
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
        let refused = self.folder.check().err();
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
            Some(database) => database.append(first, &sealed.bytes, (job.at, &job.entries)),
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

    /// Finds out whether the record was written.
    fn learn(&mut self, first: Position, record: &[u8]) -> bool {
        loop {
            self.database = None;
            if !self.folder.is_there() {
                return false;
            }
            match self.reopened(|database| database.record(first)) {
                Ok(found) => {
                    tracing::info!(found = found.is_some(), "the batch was looked up");
                    return found.is_some_and(|found| found == record);
                }
                Err(error) => {
                    tracing::error!(%error, "the fate of a batch is unknown: the server halts");
                    thread::sleep(ASK_AGAIN);
                }
            }
        }
    }

    /// What `read` finds in the database, which is opened again for it, from pages on the disk. After a failed
    /// fsync, pages in memory may be marked as written although they are not (Rebello et al., ATC'20).
    pub(super) fn reopened<T>(
        &mut self,
        read: impl FnOnce(&Database) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        // The one before is closed first, so that the new connection reads the files again.
        self.database = None;
        let database = Database::open(&self.folder.database(), self.durability)?;
        if !database.truncate()? {
            return Err(rusqlite::Error::InvalidQuery.into());
        }
        let found = read(&database)?;
        reserve(&self.folder, &database);
        self.database = Some(database);
        tracing::warn!("the journal was opened again");
        Ok(found)
    }

    /// Work between two batches.
    pub(super) fn tidy(&mut self) {
        let (records, bytes) = self.unchecked;
        if let Some(database) = &self.database
            && database.is_full(records, bytes)
        {
            self.checkpoint();
        }
        self.postponed();
    }

    /// Lets the next records replace those in the WAL.
    fn checkpoint(&mut self) {
        self.unchecked = (0, 0);
        let Some(database) = &self.database else {
            return;
        };
        match database.checkpoint() {
            Ok(true) => reserve(&self.folder, database),
            Err(error) => tracing::warn!(%error, "a checkpoint failed, and is tried again"),
            Ok(false) => {}
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

    /// Work that waits for a pause.
    fn postponed(&mut self) {
        self.sync_marks();
        self.snapshot_beside();
        if let Some(database) = &self.database {
            self.forgetting.some(database, self.chain.last());
        }
    }

    /// Work while there is nothing to write.
    pub(super) fn rest(&mut self) {
        // A checkpoint may take long.
        self.sync_marks();
        // Not one that always truncates: a WAL that must grow again makes commits slow.
        let is_long = self.database.as_ref().is_some_and(Database::is_wal_long);
        if self.unchecked.0 > 0 || is_long {
            self.checkpoint();
        }
        self.postponed();
    }

    /// Starts the next snapshot when it is due, in a thread that reads the journal from the last
    /// snapshot on, as a recovery does, so that no call waits for it.
    fn snapshot_beside(&mut self) {
        if let Some(snapping) = self.snapping.take_if(|snapping| snapping.is_finished()) {
            let made = snapping.join().ok().flatten();
            self.snapshot = made.unwrap_or(self.chain.last());
            self.forgetting.snapshot_made(self.folder.path());
        }
        let frees_room = self.forgetting.wants_snapshot(self.grown);
        let is_due = frees_room || self.chain.last().0 - self.snapshot.0 >= SNAPSHOT_EVERY;
        if self.snapping.is_some() || !is_due || !self.folder.is_there() {
            return;
        }
        self.grown = 0;
        let folder = self.folder.path().to_owned();
        let (origin, config) = (self.origin, self.config.clone());
        let spawned = thread::Builder::new()
            .name("snapshot".into())
            .spawn(move || {
                // While the writers take all cores, the journal would grow far beyond its bytes.
                if !frees_room {
                    crate::priority::lower();
                }
                let made = snapshot_of(&folder, &origin, &config);
                made.inspect_err(|error| tracing::error!(%error, "a snapshot could not be made"))
                    .ok()
            });
        match spawned {
            Ok(snapping) => self.snapping = Some(snapping),
            Err(error) => tracing::error!(error = reason(&error), "a snapshot has no thread"),
        }
    }

    /// The last writes of a clean shutdown. `hub` is the state after the last record, unless the
    /// node does not know its outcome.
    pub(super) fn finish(&mut self, hub: &Hub) -> Result<(), NoWrite> {
        if let Some(snapping) = self.snapping.take() {
            // The thread ends by itself. Two snapshots at once would write the same file.
            let _ = snapping.join();
        }
        if !self.folder.is_there() {
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

/// Makes the WAL as long as it usually becomes.
pub(super) fn reserve(folder: &Folder, database: &Database) {
    let free = space::free(folder.path()).map_or(u64::MAX, |(free, _)| free);
    if let Err(error) = database.reserve(free) {
        tracing::warn!(
            error = reason(&error),
            "the WAL grows with its records, which takes longer"
        );
    }
}

/// Makes a snapshot at the end of the journal, and returns its position.
fn snapshot_of(
    folder: &Path,
    origin: &Origin,
    config: &Config,
) -> Result<Position, Box<dyn std::error::Error>> {
    let state = JournalReader::open(folder)?.recovered(origin, config, Loss::Refused)?;
    let bytes = Snapshot::write(origin, &state.chain, &state.hub);
    folder::write_snapshot(folder, state.chain.last(), &bytes)?;
    Ok(state.chain.last())
}
