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

mod checks;
mod followed;
mod follower;
mod gap;
mod past;
#[cfg(feature = "postgres")]
mod postgres;
mod progress;
mod retention;
mod salvage;
mod scripts;
mod sums;
mod tables;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use chat_core::{Config, Position, RoomId, RoomSeq, UserId};
use chat_journal::Origin;
use server_settings::{Retention, ServerUrl};
use tokio::sync::Mutex;

use crate::clock::Clock;
use follower::Follower;
use past::PastReader;
use progress::Progress;
use tables::Tables;

pub use checks::{DAMAGED, contents, has_sums};
pub use followed::Followed;
pub use past::{Match, Past, PastReading, QueryWords};
pub use sums::{MEMBERSHIP, MESSAGE, PLACE, ROOM, is_damage, open_to_read};

/// How long a read waits for the follower, and for its turn.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a read of a room may take.
const READ: Duration = Duration::from_secs(2);

/// How long a search may take.
const SEARCH: Duration = Duration::from_secs(1);

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
    progress: Arc<Progress>,
    /// A slow search does not hold up the reads of rooms.
    rooms: Arc<Mutex<Slot>>,
    searches: Arc<Mutex<Slot>>,
    /// The copy that is read first.
    #[cfg(feature = "postgres")]
    shared: Option<postgres::SharedHistory>,
}

/// What a history is made of, besides the journal in its folder.
#[derive(Clone, Debug)]
pub struct HistoryOptions {
    /// The beginning of the journal.
    pub origin: Origin,
    /// The position of the journal's end.
    pub end: Position,
    /// How long messages stay.
    pub retention: Retention,
    /// Who writes the copy.
    pub copiers: Copiers,
    /// The server with a copy.
    pub server: Option<ServerUrl>,
}

/// Who writes a copy of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copiers {
    /// This server alone: a copy that is ahead of the journal has entries that it has lost.
    One,
    /// The members of a cluster: a copy that is ahead has entries that another one was first with.
    #[cfg(feature = "cluster")]
    Members,
}

/// A connection, opened at its first use and after an error.
#[derive(Debug)]
struct Slot {
    path: PathBuf,
    reader: Option<PastReader>,
    /// The number of damaged files before the one that the reader reads.
    files: u64,
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
    #[error("the history is damaged, and is being built anew")]
    Damaged,
}

impl History {
    /// Starts to follow the journal in this folder, which ends at `end`. The second value is
    /// notified when the follower has ended.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(
        folder: &Path,
        config: &Config,
        options: &HistoryOptions,
    ) -> std::io::Result<(Self, Receiver<()>)> {
        let HistoryOptions {
            origin,
            end,
            retention,
            ..
        } = *options;
        let tables = path_in(folder);
        if !tables.exists() {
            // Commands on the folder find tables once the server answers. The follower opens the
            // file again, and reports why it cannot.
            let _ = Tables::open(&tables, origin.realm);
        }
        let progress = Arc::new(Progress::new(end));
        #[cfg(feature = "postgres")]
        let shared = options.server.as_ref().map(|url| {
            let age = retention.age;
            let copied = postgres::Copied {
                file: tables.clone(),
                folder: folder.into(),
                copiers: options.copiers,
                realm: origin.realm,
                end,
                age,
            };
            postgres::SharedHistory::start(url, copied, Arc::clone(&progress))
        });
        #[cfg(feature = "postgres")]
        let copied = shared.as_ref().map(postgres::SharedHistory::copied);
        #[cfg(not(feature = "postgres"))]
        let copied = None;
        let follower = Follower {
            folder: folder.into(),
            copied,
            origin,
            config: config.clone(),
            retention,
            clock: Clock::start(),
            progress: Arc::clone(&progress),
        };
        let (end, ended) = channel();
        thread::Builder::new()
            .name("history".into())
            .spawn(move || {
                crate::priority::lower();
                follower.run();
                // A shutdown that has timed out no longer receives.
                let _ = end.send(());
            })?;
        let slot = || {
            Arc::new(Mutex::new(Slot {
                path: path_in(folder),
                reader: None,
                files: 0,
            }))
        };
        let shared = HistoryParts {
            progress,
            rooms: slot(),
            searches: slot(),
            #[cfg(feature = "postgres")]
            shared,
        };
        Ok((Self(Arc::new(shared)), ended))
    }

    /// The number of entries of the journal that the history lacks.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.0.progress.lag()
    }

    /// The number of entries of the journal that the copy in PostgreSQL lacks; none without a copy.
    #[must_use]
    pub fn copy_lag(&self) -> Option<u64> {
        #[cfg(feature = "postgres")]
        return self.0.shared.as_ref().map(postgres::SharedHistory::lag);
        #[cfg(not(feature = "postgres"))]
        None
    }

    /// The number of damaged files that were built anew since the start, and the number of rows that
    /// were damaged and that the journal no longer had.
    #[must_use]
    pub fn damage(&self) -> (u64, u64) {
        self.0.progress.damage()
    }

    /// Whether the participant is or was a member of the room.
    ///
    /// # Errors
    /// The history is behind, slow, unreadable or damaged: see [`PastError`].
    pub async fn was_in(&self, user: UserId, room: RoomId) -> Result<bool, PastError> {
        #[cfg(feature = "postgres")]
        if let Some(shared) = &self.0.shared
            && let Some(answer) = shared.was_in(user, room).await
        {
            return answer;
        }
        self.read(&self.0.rooms, READ, move |past| past.was_in(user, room))
            .await
    }

    /// The room's messages before `before`, the newest first.
    ///
    /// # Errors
    /// The history is behind, slow, unreadable or damaged: see [`PastError`].
    pub async fn room(
        &self,
        room: RoomId,
        before: Option<RoomSeq>,
        reading: PastReading,
    ) -> Result<Past, PastError> {
        #[cfg(feature = "postgres")]
        if let Some(shared) = &self.0.shared
            && let Some(answer) = shared.room(room, before, &reading).await
        {
            return answer;
        }
        let work = move |past: &PastReader| past.room(room, before, &reading);
        self.read(&self.0.rooms, READ, work).await
    }

    /// The messages with all of these words, the newest first, and whether there are older ones.
    ///
    /// # Errors
    /// The history is behind, slow, unreadable or damaged: see [`PastError`].
    pub async fn search(
        &self,
        words: QueryWords,
        place: (Option<RoomId>, Option<u64>),
        reading: PastReading,
    ) -> Result<(Vec<Match>, bool), PastError> {
        #[cfg(feature = "postgres")]
        if let Some(shared) = &self.0.shared
            && let Some(answer) = shared.search(&words, place, &reading).await
        {
            return answer;
        }
        let work = move |past: &PastReader| past.search(&words, place, &reading);
        self.read(&self.0.searches, SEARCH, work).await
    }

    /// Reads when the history has everything that is committed now.
    async fn read<T: Send + 'static>(
        &self,
        slot: &Arc<Mutex<Slot>>,
        limit: Duration,
        work: impl FnOnce(&PastReader) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, PastError> {
        let (files, _) = self.0.progress.damage();
        if !self.0.progress.catch_up(PATIENCE).await {
            return Err(PastError::Behind);
        }
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(slot).lock_owned());
        let mut slot = turn.await.map_err(|_| PastError::Slow)?;
        let read = tokio::task::spawn_blocking(move || {
            let reader = slot.reader.take().filter(|_| slot.files == files);
            let mut reader = match reader {
                Some(reader) => reader,
                None => PastReader::open(&slot.path)?,
            };
            slot.files = files;
            reader.until(Instant::now() + limit)?;
            let read = work(&reader);
            // After an error the file may be another one.
            if read.is_ok() {
                slot.reader = Some(reader);
            }
            read
        });
        let read = read.await.map_err(|_| PastError::Broken)?;
        read.map_err(|error: rusqlite::Error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => PastError::Slow,
            _ if is_damage(&error) => {
                self.0.progress.found_damaged(files);
                PastError::Damaged
            }
            Some(_) | None => {
                tracing::error!(%error, "the history cannot be read");
                PastError::Broken
            }
        })
    }
}
