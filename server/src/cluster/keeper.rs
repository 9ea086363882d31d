//! Keeps a member's journal, behind what the member applies.
//!
//! ```text
//! Member ──Applied──► queue of 64 MiB ──► keeper's thread ──► journal.db ──► history
//!                        │ full                ▲
//!                        └─ left out ──► the log, from the journal's place on
//! ```
//!
//! No call waits for it. What does not fit into the queue, or was not written because of an error of
//! the disk, is read from the log again. Where the log is purged, the journal begins anew at the
//! newest snapshot: it never has a gap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use chat_cluster::{LogSnapshot, Place};
use chat_core::{Hub, Position};
use chat_journal::Origin;
use server_nats::LogReader;
use server_storage::history::History;
use server_storage::journal::{KeepError, KeptBatch, KeptJournal};
use tokio::runtime::Handle;

/// The size of the batches that wait for the disk, at most.
const WAITING: u64 = 64 << 20;

/// The largest number of batches of one transaction.
const BATCHES: usize = 512;

/// How often the next record is missing until it counts as lost, though the log is not purged there.
const MISSES: u32 = 10;

/// The idle time after which the journal does its postponed work, and the pause after an error.
const IDLE: Duration = Duration::from_secs(1);

/// How long a shutdown waits for the last batches.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// What the member's side and the keeper's thread share.
#[derive(Debug, Default)]
struct Backlog {
    /// The size of the batches that wait.
    waiting: AtomicU64,
    /// The sequence of the last batch that is applied.
    applied: AtomicU64,
    is_stopping: AtomicBool,
}

/// The member's side.
#[derive(Debug)]
pub(super) struct Keeper {
    queue: Option<Sender<KeptBatch>>,
    backlog: Arc<Backlog>,
    /// The history that follows the journal.
    pub(super) history: History,
    /// Receives the journal when its thread has ended.
    ended: Receiver<KeptJournal>,
    announced: Position,
}

impl Keeper {
    /// Starts to keep the journal.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(super) fn start(
        journal: KeptJournal,
        (reader, origin): (LogReader, Origin),
        history: History,
    ) -> std::io::Result<Self> {
        let backlog = Arc::new(Backlog::default());
        let (queue, batches) = channel();
        let (end, ended) = channel();
        let worker = Worker {
            journal,
            batches,
            backlog: Arc::clone(&backlog),
            reader,
            origin,
            history: history.clone(),
            runtime: Handle::current(),
            misses: 0,
        };
        thread::Builder::new()
            .name("keeper".into())
            .spawn(move || {
                server_storage::lower_priority();
                // A shutdown that has timed out no longer receives.
                let _ = end.send(worker.run());
            })?;
        Ok(Self {
            queue: Some(queue),
            backlog,
            history,
            ended,
            announced: Position(0),
        })
    }

    /// The member has applied entries up to this position: reads of the history wait for them.
    pub(super) fn announce(&mut self, last: Position) {
        if last > self.announced {
            self.announced = last;
            self.history.announce(last);
        }
    }

    /// Keeps a batch that is in the log.
    pub(super) fn keep(&self, place: Place, record: Arc<[u8]>) {
        let (sequence, size) = (place.sequence, record.len() as u64);
        let waiting = self.backlog.waiting.fetch_add(size, Ordering::Relaxed);
        let sent = match &self.queue {
            Some(queue) if waiting == 0 || waiting + size <= WAITING => {
                let sent = queue.send(KeptBatch { place, record });
                sent.expect("the keeper's thread ends after its queue, unless it panics");
                true
            }
            Some(_) | None => false,
        };
        if !sent {
            self.backlog.waiting.fetch_sub(size, Ordering::Relaxed);
        }
        self.backlog.applied.store(sequence, Ordering::Release);
    }

    /// Writes what waits, and a snapshot of the last state.
    pub(super) fn close(&mut self, end: &Place, hub: &Hub) {
        self.queue = None;
        self.backlog.is_stopping.store(true, Ordering::Relaxed);
        match self.ended.recv_timeout(LAST_WRITES) {
            Ok(mut journal) => journal.finish(end, hub),
            Err(_) => {
                tracing::warn!("the journal is not complete; the next start reads the rest");
            }
        }
        self.history.stop();
    }
}

/// The state of the keeper's thread.
struct Worker {
    journal: KeptJournal,
    batches: Receiver<KeptBatch>,
    backlog: Arc<Backlog>,
    reader: LogReader,
    origin: Origin,
    history: History,
    runtime: Handle,
    /// How often in a row the log did not have the next record.
    misses: u32,
}

impl Worker {
    /// Keeps batches until the member's side is gone.
    fn run(mut self) -> KeptJournal {
        loop {
            let mut applied = self.backlog.applied.load(Ordering::Acquire);
            let kept = match self.batches.recv_timeout(IDLE) {
                Ok(batch) => self.keep_with_waiting(batch),
                Err(RecvTimeoutError::Timeout) => {
                    self.journal.rest();
                    Ok(())
                }
                Err(RecvTimeoutError::Disconnected) => return self.journal,
            };
            if let Err(error) = kept {
                self.recover_from(&error);
                applied = self.backlog.applied.load(Ordering::Acquire);
            }
            self.catch_up(applied);
        }
    }

    /// Writes this batch and those that wait behind it.
    fn keep_with_waiting(&mut self, first: KeptBatch) -> Result<(), KeepError> {
        let mut batches = vec![first];
        while batches.len() < BATCHES
            && let Ok(batch) = self.batches.try_recv()
        {
            batches.push(batch);
        }
        let size = |batch: &KeptBatch| batch.record.len() as u64;
        let size = batches.iter().map(size).sum();
        self.backlog.waiting.fetch_sub(size, Ordering::Relaxed);
        let known = self.journal.place().sequence;
        batches.retain(|batch| batch.place.sequence > known);
        match batches.last().map(|batch| batch.place.clone()) {
            Some(end) => self.append(&batches, &end),
            None => Ok(()),
        }
    }

    fn append(&mut self, batches: &[KeptBatch], end: &Place) -> Result<(), KeepError> {
        self.journal.append(batches, end)?;
        self.misses = 0;
        self.history.commit(self.journal.place().chain.last());
        Ok(())
    }

    fn recover_from(&mut self, error: &KeepError) {
        match error {
            KeepError::Gap(_) => {
                tracing::info!(%error, "batches are read from the log for the journal");
            }
            KeepError::Folder(_) | KeepError::Database(_) | KeepError::Open(_) => {
                tracing::error!(%error, "the member's journal cannot be written; it tries again");
                if !matches!(error, KeepError::Folder(_)) {
                    self.journal.close_database();
                }
                thread::sleep(IDLE);
            }
        }
    }

    /// Reads from the log what the journal lacks up to this sequence.
    fn catch_up(&mut self, sequence: u64) {
        while self.journal.place().sequence < sequence {
            if self.backlog.is_stopping.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = self.read_on() {
                self.recover_from(&error);
            }
        }
    }

    /// Reads the next run of records.
    fn read_on(&mut self) -> Result<(), KeepError> {
        let mut place = self.journal.place().clone();
        let from = place.sequence + 1;
        let (runtime, reader) = (self.runtime.clone(), self.reader.clone());
        let mut records = runtime.block_on(reader.run(from));
        let is_next = |bytes: &Vec<u8>| place.open(bytes).is_ok();
        if !records.first().is_some_and(|(_, bytes)| is_next(bytes)) {
            // It is purged, or the replica has lost it.
            let copies = runtime.block_on(reader.copies(from));
            let next = copies.into_iter().find(is_next);
            match next {
                Some(copy) => records = vec![(from, copy)],
                None => return self.begin_anew(),
            }
        }
        let mut batches = Vec::new();
        for (_, bytes) in records {
            // A damaged record is the first of the next run, and is read elsewhere.
            let Ok(next) = place.open(&bytes) else {
                break;
            };
            place = next.after;
            if let Some((_, record)) = next.batch {
                let place = place.clone();
                batches.push(KeptBatch { place, record });
            }
        }
        self.append(&batches, &place)
    }

    /// Continues at the newest snapshot, if the log is purged, or its next record is lost.
    fn begin_anew(&mut self) -> Result<(), KeepError> {
        let place = self.journal.place();
        let (sequence, position) = (place.sequence, place.chain.last());
        self.misses += 1;
        let extent = self.runtime.block_on(self.reader.extent());
        let is_purged = extent.is_ok_and(|extent| extent.first > sequence + 1);
        if !is_purged && self.misses < MISSES {
            // The servers may not answer now.
            thread::sleep(IDLE);
            return Ok(());
        }
        let stored = self.runtime.block_on(self.reader.newest_snapshot());
        let read = stored.map(|bytes| {
            let bytes = bytes.unwrap_or_default();
            LogSnapshot::read(&self.origin, &bytes)
        });
        match read {
            Ok(Ok(snapshot)) if snapshot.place.sequence > sequence => {
                tracing::warn!(
                    last = position.0,
                    begins = snapshot.hub.position().0,
                    "the log has purged what this member's journal lacks: it begins again, and the \
                     old one is kept beside it"
                );
                self.journal.continue_at(&snapshot)?;
                self.history.commit(snapshot.hub.position());
                return Ok(());
            }
            Ok(Ok(_)) => tracing::debug!(sequence, "the log has no later record now"),
            Ok(Err(why)) => tracing::error!(%why, "the newest snapshot is not usable"),
            Err(why) => tracing::warn!(%why, "no snapshot can be read now"),
        }
        thread::sleep(IDLE);
        Ok(())
    }
}
