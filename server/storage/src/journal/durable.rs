//! The durable journal: a separate thread writes it, and another makes snapshots. Records that neither a
//! recovery nor an operator needs are deleted in small batches.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chat_core::{Entry, Hub, Position, Time};
use chat_journal::{Chain, Mark, Origin, Snapshot};
use server_settings::JournalSettings;
use server_settings::os_error::reason;

use super::database::{Database, DatabaseError, is_certain};
use super::folder::{self, Folder, MarkFile, NoWrite};
use super::{Fate, FateReporter, Journal};

/// The number of entries between two snapshots.
const SNAPSHOT_EVERY: u64 = 50_000;

/// The largest number of records that one transaction deletes.
const FORGOTTEN: u64 = 500;

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
pub struct DurableJournal {
    /// The writer, until a driver is attached.
    opened: Option<Box<Writer>>,
    running: Option<Running>,
}

/// The thread of a writer.
#[derive(Debug)]
struct Running {
    batches: Sender<Batch>,
    /// Receives the writer when its thread has ended.
    ended: Receiver<Box<Writer>>,
}

/// A batch for the writer, with the instant of its entries.
type Batch = (Time, Vec<Entry>);

impl DurableJournal {
    /// The journal that this writer writes, once a driver is attached.
    pub(super) fn new(writer: Writer) -> Self {
        Self {
            opened: Some(Box::new(writer)),
            running: None,
        }
    }
}

impl Journal for DurableJournal {
    fn attach(&mut self, later: FateReporter) {
        let Some(mut writer) = self.opened.take() else {
            return;
        };
        let (batches, queue) = channel();
        let (end, ended) = channel();
        let spawned = thread::Builder::new()
            .name("journal".into())
            .spawn(move || {
                writer.run(&queue, &later);
                // A shutdown that has timed out no longer receives.
                let _ = end.send(writer);
            });
        let begun = spawned.map(|_| self.running = Some(Running { batches, ended }));
        tell(begun, "the journal has no thread");
    }

    fn append(&mut self, now: Time, entries: &[Entry]) -> Option<Fate> {
        let batch = (now, entries.to_vec());
        match &self.running {
            Some(running) if running.batches.send(batch).is_ok() => None,
            Some(_) | None => Some(Fate::Lost),
        }
    }

    fn close(&mut self, hub: &Hub) -> Result<(), NoWrite> {
        self.opened = None;
        let Some(Running { batches, ended }) = self.running.take() else {
            return Ok(());
        };
        drop(batches);
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
    settings: JournalSettings,
    /// `None` while it must be opened again.
    pub(super) database: Option<Database>,
    pub(super) origin: Origin,
    pub(super) chain: Chain,
    pub(super) marks: MarkFile,
    /// Records since the last checkpoint, and their size.
    unchecked: (u64, u64),
    /// The position of the newest snapshot.
    pub(super) snapshot: Position,
    /// The size of the records since then.
    grown: u64,
    /// A recovery needs the records after this position, and no others.
    needed_after: Position,
    /// All records up to this position are deleted.
    forgotten: Position,
    /// A snapshot in progress, which returns its position if it is made.
    pub(super) snapping: Option<JoinHandle<Option<Position>>>,
    /// A connection that is never used again. While one is open, SQLite keeps the shared memory of the
    /// WAL as it was opened. Without it, a reader that opens the journal while the file system is
    /// read-only would make that memory read-only for all connections, also after the disk has healed.
    anchor: Option<Database>,
}

impl Writer {
    /// A writer of the journal with this end, and with the newest snapshot at this position.
    pub(super) fn begin(
        mut folder: Folder,
        settings: &JournalSettings,
        database: Database,
        origin: Origin,
        (chain, snapshot): (Chain, Position),
    ) -> io::Result<Self> {
        let marks = MarkFile::begin(&folder.path, &Mark::at(&chain))?;
        let anchor = Database::open(&folder.path).ok();
        // The read opens the memory, also where it finds damage, which the recovery would have found.
        let _ = anchor
            .as_ref()
            .map(|anchor| anchor.first_after(Position(0)));
        folder.remember()?;
        Ok(Self {
            needed_after: folder::oldest_kept(&folder.path)?,
            forgotten: Position(0),
            folder,
            refused: None,
            settings: settings.clone(),
            database: Some(database),
            origin,
            chain,
            marks,
            unchecked: (0, 0),
            snapshot,
            grown: 0,
            snapping: None,
            anchor,
        })
    }

    /// Writes batches until all senders are gone.
    fn run(&mut self, queue: &Receiver<Batch>, later: &FateReporter) {
        if let Some(database) = &self.database {
            reserve(&self.folder, database);
        }
        loop {
            match queue.recv_timeout(self.refused.map_or(IDLE, |_| REFUSED)) {
                Ok((at, entries)) => {
                    let fate = self.append(at, &entries, later);
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
    fn append(&mut self, at: Time, entries: &[Entry], later: &FateReporter) -> Fate {
        if self.is_refused() {
            return Fate::Failed;
        }
        let sealed = self.chain.seal(at, entries);
        let first = sealed.first;
        let appended = match &self.database {
            Some(database) => database.append(first, &sealed.bytes, (at, entries)),
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
        Fate::Committed { first, at }
    }

    /// The journal ends here now, after this number of records of this size.
    pub(super) fn wrote(&mut self, chain: Chain, (records, bytes): (u64, u64)) {
        self.chain = chain;
        self.unchecked.0 += records;
        self.unchecked.1 += bytes;
        self.grown += bytes;
        let marked = self.marks.set(&Mark::at(&self.chain));
        tell(marked, "the mark of the journal cannot be written");
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
        let database = Database::open_to_write(&self.folder.path, self.settings.durability)?;
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
        if self.marks.is_due() {
            let synced = self.marks.sync();
            tell(synced, "the mark of the journal cannot be made durable");
        }
    }

    /// Work that waits for a pause.
    fn postponed(&mut self) {
        self.sync_marks();
        self.snapshot_beside();
        self.forget_some();
    }

    /// Deletes one batch of old records, if there is something to delete.
    fn forget_some(&mut self) {
        let Some(database) = &self.database else {
            return;
        };
        let (last, needed) = (self.chain.last().0, self.needed_after.0);
        let kept = self.settings.entries;
        let by_number = kept.map_or(0, |most| last.saturating_sub(most));
        // Whether the records take more bytes than they may.
        let is_over = |most| database.bytes().is_ok_and(|bytes| bytes > most);
        let is_more = by_number < needed && self.forgotten.0 < needed;
        let end = match is_more && self.settings.bytes.is_some_and(is_over) {
            true => Position(needed),
            false => Position(by_number.min(needed)),
        };
        if end <= self.forgotten {
            return;
        }
        match database.delete_to(end, FORGOTTEN) {
            Ok(deleted) if deleted < FORGOTTEN => self.forgotten = end,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "old records cannot be deleted"),
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
            match folder::oldest_kept(&self.folder.path) {
                Ok(position) => self.needed_after = position,
                Err(error) => tracing::warn!(%error, "the snapshots cannot be listed"),
            }
        }
        // Two are kept, and the records between them and after them.
        let most = self.settings.bytes;
        let frees_room = most.is_some_and(|most| self.grown > most / 4);
        let is_due = frees_room || self.chain.last().0 - self.snapshot.0 >= SNAPSHOT_EVERY;
        if self.snapping.is_some() || !is_due || !self.folder.is_there() {
            return;
        }
        self.grown = 0;
        let folder = self.folder.path.clone();
        let origin = self.origin;
        let spawned = thread::Builder::new()
            .name("snapshot".into())
            .spawn(move || {
                // While the writers take all cores, the journal would grow far beyond its bytes.
                if !frees_room {
                    crate::lower_priority();
                }
                let made = snapshot_of(&folder, &origin);
                made.inspect_err(|error| tracing::error!(%error, "a snapshot could not be made"))
                    .ok()
            });
        let begun = spawned.map(|snapping| self.snapping = Some(snapping));
        tell(begun, "a snapshot has no thread");
    }

    /// The last writes of a clean shutdown. `hub` is the state after the last record, unless the
    /// node does not know its outcome.
    pub(super) fn finish(&mut self, hub: &Hub) -> Result<(), NoWrite> {
        if let Some(snapping) = self.snapping.take() {
            // The thread ends by itself. Two snapshots at once would write the same file.
            let _ = snapping.join();
        }
        // The last connection to close empties the WAL, which one for reading does not.
        self.anchor = None;
        if !self.folder.is_there() {
            // Another server may use the folder.
            return Err(NoWrite::Vanished);
        }
        let written = match hub.position() == self.chain.last() {
            true => {
                let bytes = Snapshot::write(&self.origin, &self.chain, hub);
                folder::write_snapshot(&self.folder.path, self.chain.last(), &bytes)
            }
            false => Ok(()),
        };
        let written = written.and_then(|()| self.marks.sync());
        tell(
            written,
            "the last snapshot was not written; the next start replays",
        );
        if let Some(Err(error)) = self.database.as_ref().map(Database::truncate) {
            tracing::warn!(%error, "the last checkpoint failed; the next start makes it");
        }
        Ok(())
    }
}

/// Tells the operator of an error.
fn tell(done: io::Result<()>, what: &str) {
    if let Err(error) = done {
        tracing::error!(error = reason(&error), "{what}");
    }
}

/// Makes the WAL as long as it usually becomes.
pub(super) fn reserve(folder: &Folder, database: &Database) {
    let free = folder::free(&folder.path).map_or(u64::MAX, |(free, _)| free);
    if let Err(error) = database.reserve(free) {
        tracing::warn!(
            error = reason(&error),
            "the WAL grows with its records, which takes longer"
        );
    }
}

/// Makes a snapshot at the end of the journal, and returns its position.
fn snapshot_of(folder: &Path, origin: &Origin) -> Result<Position, Box<dyn std::error::Error>> {
    let state = Database::open(folder)?.recover(origin)?;
    let bytes = Snapshot::write(origin, &state.chain, &state.hub);
    folder::write_snapshot(folder, state.chain.last(), &bytes)?;
    Ok(state.chain.last())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chat_core::Config;
    use rusqlite::{Connection, OpenFlags};
    use server_settings::{Durability, JournalSettings};

    use super::*;
    use crate::journal::open;

    #[expect(
        clippy::disallowed_methods,
        reason = "it has a flag that no other connection has"
    )]
    #[test]
    fn a_reader_of_a_read_only_disk_does_not_keep_the_writer_out() {
        let folder = tempfile::tempdir().unwrap();
        let settings = JournalSettings {
            folder: folder.path().into(),
            durability: Durability::Os,
            ..JournalSettings::default()
        };
        let opened = open(&settings, &Config::default()).unwrap();
        let mut writer = opened.journal.opened.unwrap();
        // The disk turns read-only: the writer closes its connection, which removes no file there, and a
        // reader opens one that can open the shared memory only for reading.
        let files = ["journal.db-wal", "journal.db-shm"].map(|name| folder.path().join(name));
        let there = files.map(|file| (fs::read(&file).unwrap(), file));
        writer.database = None;
        for (bytes, file) in there.iter().filter(|(_, file)| !file.exists()) {
            fs::write(file, bytes).unwrap();
        }
        let path = format!("file:{}/journal.db?readonly_shm=1", folder.path().display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let reader = Connection::open_with_flags(path, flags).unwrap();
        let read = |_: &rusqlite::Row<'_>| Ok(());
        reader
            .query_row("SELECT count(*) FROM sqlite_schema", [], read)
            .unwrap();
        // The disk has healed, and the reader stays.
        writer.reopened(Database::is_copy_of_log).unwrap();
    }
}
