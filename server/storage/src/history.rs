//! The history: messages and memberships of the past in `history.db`, beside the journal.
//!
//! ```text
//! driver ──► journal.db ──(its own thread reads records)──► follower ──► history.db
//!                                                                            ▲
//! history, search ── wait until the follower has caught up, then read ───────┘
//! ```
//!
//! A commit never waits for it. The follower replays the records in a state of its own, which takes
//! as much memory as the server's.

mod follower;
mod gap;
mod past;
#[cfg(feature = "postgres")]
mod postgres;
mod progress;
mod sums;
mod tables;
#[cfg(test)]
mod tests;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use chat_core::Position;
use chat_journal::Origin;
use server_settings::{Retention, ServerUrl};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::journal::folder;
use crate::{blocking, lock};
use follower::Follower;
use past::{PastReader, VISITED};
use progress::Progress;
use tables::Tables;

pub use past::{Past, PastQuery, PastReading};
pub use sums::{
    DAMAGED, MEMBERSHIP, MESSAGE, PLACE, ROOM, contents, has_sums, is_damage, open_to_read,
};
pub use words::QueryWords;

/// How long a read waits for the follower, and for its turn.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a read may take.
const READ: Duration = Duration::from_secs(1);

/// The number of reads at a time. A source has one of them, so that none holds them all.
const READERS: usize = 4;

/// How long a shutdown waits for the follower.
const LAST_WRITES: Duration = Duration::from_secs(3);

/// The file of the tables.
#[must_use]
pub fn path_in(folder: &Path) -> PathBuf {
    folder.join("history.db")
}

/// The history of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct History(Arc<HistoryParts>);

#[derive(Debug)]
struct HistoryParts {
    folder: PathBuf,
    progress: Arc<Progress>,
    /// The end of the copy, if there is to be one; none while it is away.
    copied: Option<watch::Receiver<Option<Position>>>,
    /// Each with the number of damaged files before the one that it reads.
    readers: Readers<(u64, PastReader)>,
    /// The copy that is read first.
    #[cfg(feature = "postgres")]
    shared: Option<postgres::SharedHistory>,
}

/// What a history is made of.
#[derive(Clone, Debug)]
pub struct HistoryOptions {
    /// The folder of the journal, and of the tables.
    pub folder: PathBuf,
    /// The beginning of the journal.
    pub origin: Origin,
    /// The position of the journal's end.
    pub end: Position,
    /// How long messages stay.
    pub retention: Retention,
    /// Whether the members of a cluster write the copy: one that is ahead of the journal has entries that
    /// another member was first with. If not, it has entries that the journal has lost.
    pub is_shared: bool,
    /// The server with a copy.
    pub server: Option<ServerUrl>,
}

/// The answer to a read.
#[derive(Debug)]
pub struct Timed {
    /// How long the read took, without waiting.
    pub took: Duration,
    /// The answer, or why there is none.
    pub answer: Result<Option<Past>, PastError>,
}

/// Why the past cannot be read now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PastError {
    /// The follower has not caught up.
    #[error("the history is still being written")]
    Behind,
    /// It takes too long.
    #[error("it takes too long")]
    Slow,
    /// The file cannot be read.
    #[error("the history cannot be read")]
    Broken,
    /// The file is not what was written. It is built anew.
    #[error("the history is damaged, and is being rebuilt")]
    Damaged,
}

impl History {
    /// Starts to follow the journal.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(options: HistoryOptions) -> std::io::Result<Self> {
        let folder = options.folder.clone();
        let tables = path_in(&folder);
        if !tables.exists() {
            // Commands on the folder find tables once the server answers. The follower opens the
            // file again, and reports why it cannot.
            let _ = Tables::open(&tables, options.origin.realm);
        }
        let progress = Arc::new(Progress::new(options.end));
        #[cfg(feature = "postgres")]
        let shared = postgres::SharedHistory::start(&options, &progress);
        #[cfg(feature = "postgres")]
        let copied = shared.as_ref().map(|shared| shared.reached.clone());
        #[cfg(not(feature = "postgres"))]
        let copied = None;
        let follower = Follower {
            copied: copied.clone(),
            options,
            progress: Arc::clone(&progress),
        };
        thread::Builder::new()
            .name("history".into())
            .spawn(move || {
                crate::lower_priority();
                while catch_unwind(AssertUnwindSafe(|| follower.run())).is_err() {
                    tracing::error!("the history's follower panicked, and is restarted");
                    thread::sleep(follower::RETRY);
                }
                follower.progress.end();
            })?;
        let shared = HistoryParts {
            folder,
            progress,
            copied,
            readers: Readers::new(),
            #[cfg(feature = "postgres")]
            shared,
        };
        Ok(Self(Arc::new(shared)))
    }

    /// The number of entries of the journal that the history lacks.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.0.progress.lag()
    }

    /// The number of entries of the journal that the copy in PostgreSQL lacks; none without a copy.
    #[must_use]
    pub fn copy_lag(&self) -> Option<u64> {
        let reached = self.0.copied.as_ref()?.borrow().unwrap_or_default();
        Some(self.0.progress.now().known.0.saturating_sub(reached.0))
    }

    /// The number of damaged files that were built anew since the start, and the number of rows that
    /// were damaged and that the journal no longer had.
    #[must_use]
    pub fn damage(&self) -> (u64, u64) {
        let known = self.0.progress.now();
        (known.files, known.lost)
    }

    /// The bytes of the journal, of its WAL, of the history with its WAL, and of the free space, each with its
    /// label in the metrics. What the system does not say is 0.
    #[must_use]
    pub fn disk(&self) -> [(&'static str, u64); 4] {
        let path = &self.0.folder;
        let bytes = |name: &str| path.join(name).metadata().map_or(0, |file| file.len());
        let history = bytes("history.db") + bytes("history.db-wal");
        [
            ("journal", bytes("journal.db")),
            ("journal_wal", bytes("journal.db-wal")),
            ("history", history),
            ("free", folder::free(path).map_or(0, |(free, _)| free)),
        ]
    }

    /// Clients may know of entries up to this position, which the journal will have: reads wait for
    /// them.
    #[cfg(feature = "cluster")]
    pub fn announce(&self, last: Position) {
        self.0.progress.announce(last);
    }

    /// The journal has entries up to this position. Reads that begin now wait for them.
    pub fn commit(&self, last: Position) {
        self.0.progress.commit(last);
    }

    /// Lets the follower reach the end of the journal, and waits until it has ended.
    pub fn stop(&self) {
        if !self.0.progress.stop(LAST_WRITES) {
            tracing::warn!("the history is not complete; the next start goes on with it");
        }
    }

    /// Reads the messages when the history has everything that is committed now. None if the reader never
    /// was a member of the room. A read that takes too long answers with what it found so far.
    pub async fn read(&self, reading: PastReading) -> Timed {
        #[cfg(feature = "postgres")]
        if let Some(shared) = &self.0.shared
            // Boxed, because the compiler nests the states of futures only so deep.
            && let Some(read) = Box::pin(shared.read(&reading)).await
        {
            return read;
        }
        let mut took = Duration::ZERO;
        let answer = self.read_file(reading, &mut took).await;
        Timed { took, answer }
    }

    async fn read_file(
        &self,
        reading: PastReading,
        took: &mut Duration,
    ) -> Result<Option<Past>, PastError> {
        let files = self.0.progress.now().files;
        if !self.0.progress.catch_up(PATIENCE).await {
            return Err(PastError::Behind);
        }
        // Held here, because the pool may keep work for which it has no thread. The work is never
        // abandoned, so the place is free when it is done.
        let _place = self.0.readers.place().await?;
        let parts = Arc::clone(&self.0);
        let work = blocking(move || {
            let began = Instant::now();
            let read = parts.read(files, &reading);
            (began.elapsed(), read)
        });
        let broken = |error: &dyn std::fmt::Display| {
            tracing::error!(%error, "the history cannot be read");
            PastError::Broken
        };
        let read;
        (*took, read) = work.await.map_err(|error| broken(&error))?;
        read.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => PastError::Slow,
            _ if is_damage(&error) => {
                self.0.progress.found_damaged(files);
                PastError::Damaged
            }
            Some(_) | None => broken(&error),
        })
    }
}

impl HistoryParts {
    /// Reads the file after `files` damaged ones.
    fn read(&self, files: u64, reading: &PastReading) -> rusqlite::Result<Option<Past>> {
        let free = self.readers.take().filter(|(of, _)| *of == files);
        let mut reader = match free {
            Some((_, reader)) => reader,
            None => PastReader::open(&path_in(&self.folder))?,
        };
        reader.until(Instant::now() + READ)?;
        let read = reader.read(reading, VISITED);
        // After an error the file may be another one.
        if read.is_ok() {
            self.readers.put((files, reader));
        }
        read
    }
}

/// Connections for reads: at most so many at a time, each opened at its first use. Those that are free, and
/// places for more of them.
#[derive(Debug)]
struct Readers<T> {
    places: Semaphore,
    free: Mutex<Vec<T>>,
}

impl<T> Readers<T> {
    fn new() -> Self {
        Self {
            places: Semaphore::new(READERS),
            free: Mutex::new(Vec::new()),
        }
    }

    /// A place for one read, in the order of asking.
    ///
    /// # Errors
    /// All are taken for too long.
    async fn place(&self) -> Result<SemaphorePermit<'_>, PastError> {
        let place = tokio::time::timeout(PATIENCE, self.places.acquire()).await;
        // The semaphore is never closed.
        place
            .map_err(|_| PastError::Slow)?
            .map_err(|_| PastError::Broken)
    }

    /// A connection that is free.
    fn take(&self) -> Option<T> {
        lock(&self.free).pop()
    }

    /// Gives a connection back that can be used again.
    fn put(&self, connection: T) {
        lock(&self.free).push(connection);
    }
}
