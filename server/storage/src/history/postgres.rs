//! The history in PostgreSQL: a copy of `history.db` that the members of a cluster share, and that
//! keeps what the file forgets.
//!
//! ```text
//! follower ──► history.db ──(rows after the copy's place)──► copier ──► PostgreSQL
//!                                                                           ▲
//! history, search ── wait until the copier has caught up, then read ────────┘
//!                 └─ read history.db while PostgreSQL does not answer
//! ```
//!
//! Each transaction of a copier moves the place with the rows, and locks it first. So every row is
//! there exactly once, after any crash, and with any number of members that copy.

mod copier;
mod links;
mod past;
mod rows;
mod tables;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_core::{Position, RoomId, RoomSeq, Span};
use server_settings::{Keep, ServerUrl};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use super::past::{Found, Past, PastReading};
use super::progress::Progress;
use super::readers::Readers;
use super::words::QueryWords;
use super::{Copiers, PATIENCE, PastError, Timed};
use crate::journal::DatabaseError;

use copier::Copier;

/// The time limit to connect.
const CONNECT: Duration = Duration::from_secs(2);

/// The time limit of a statement of a reader, which the server keeps, in milliseconds.
const READ_MS: u32 = 1_000;

/// The pause before a new attempt to copy, after an error.
const RETRY: Duration = Duration::from_secs(2);

/// What is copied.
#[derive(Debug)]
pub(super) struct Copied {
    /// The file of the tables.
    pub(super) file: PathBuf,
    /// The folder of the journal.
    pub(super) folder: PathBuf,
    /// The realm of the journal.
    pub(super) realm: u128,
    /// The position of the journal's end. A copy that is ahead of it is cut, unless others may write
    /// it.
    pub(super) end: Position,
    pub(super) copiers: Copiers,
    /// The largest age of a message in the copy.
    pub(super) age: Keep<Span>,
}

/// The copy in PostgreSQL.
pub(super) struct SharedHistory(Arc<SharedParts>);

struct SharedParts {
    config: Config,
    /// The position up to which the copy has everything; none while it is away.
    reached: watch::Receiver<Option<Position>>,
    progress: Arc<Progress>,
    readers: Readers<Client>,
}

impl fmt::Debug for SharedHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedHistory(…)")
    }
}

/// Why the copy cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    #[error("{}", of_server(_0))]
    Server(#[from] tokio_postgres::Error),
    #[error("it takes longer than two seconds to connect")]
    Unreachable,
    #[error("{0}")]
    File(#[from] rusqlite::Error),
    #[error("the database has the history of another realm: name another one with --history")]
    Elsewhere,
    #[error("the database has tables of version {found}, and this server writes version {ours}")]
    Version { found: i32, ours: i32 },
    #[error(
        "the database has another history than the journal, and no place where both agree: name \
         another one with --history"
    )]
    OtherHistory,
    #[error("{0}")]
    Journal(#[from] DatabaseError),
    #[error("history.db is not read: {0}")]
    Thread(#[from] std::io::Error),
    #[error("it panicked, and the log says why")]
    Panicked,
    #[error("nothing is copied now")]
    Away,
}

/// An error of PostgreSQL with the message of the server.
fn of_server(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => said.message().into(),
        None => error.to_string(),
    }
}

/// Why a read of the copy has no result.
#[derive(Debug)]
pub(super) enum SharedError {
    /// The reader has to be told.
    Past(PastError),
    /// PostgreSQL does not answer: `history.db` has the newest messages.
    Away(CopyError),
}

impl From<tokio_postgres::Error> for SharedError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) if *code == SqlState::QUERY_CANCELED => Self::Past(PastError::Slow),
            Some(_) | None => Self::Away(error.into()),
        }
    }
}

impl SharedHistory {
    /// Starts to copy the tables of a file. Must be called on a runtime.
    pub(super) fn start(url: &ServerUrl, copied: Copied, progress: Arc<Progress>) -> Self {
        let mut config: Config = url.with_password().parse().expect("it was checked");
        config.connect_timeout(CONNECT);
        config.application_name("talking-stick");
        let (reach, reached) = watch::channel(None);
        let copier = Copier {
            config: config.clone(),
            copied,
            reach,
            written: None,
            follower: progress.subscribe(),
            shown: url.to_string(),
        };
        tokio::spawn(copier.run());
        Self(Arc::new(SharedParts {
            config,
            reached,
            progress,
            readers: Readers::new(),
        }))
    }

    /// The position up to which the copy has everything; none while it is away.
    pub(super) fn copied(&self) -> watch::Receiver<Option<Position>> {
        self.0.reached.clone()
    }

    /// The number of entries of the journal that the copy lacks.
    pub(super) fn lag(&self) -> u64 {
        let reached = self.0.reached.borrow().unwrap_or_default();
        self.0.progress.known().0.saturating_sub(reached.0)
    }

    /// The room's messages before `before`, as of the file. `None` while PostgreSQL is away.
    pub(super) async fn room(
        &self,
        room: RoomId,
        before: Option<RoomSeq>,
        reading: &PastReading,
    ) -> Option<Timed<Option<Past>>> {
        let (client, _place) = match self.reader().await {
            Ok(reader) => reader,
            Err(error) => return refused(error),
        };
        let began = Instant::now();
        let read = past::room(&client, room, before, reading).await;
        self.answered(client, began, read)
    }

    /// The messages with all of these words, as of the file. `None` while PostgreSQL is away.
    pub(super) async fn search(
        &self,
        words: &QueryWords,
        place: (Option<RoomId>, Option<u64>),
        reading: &PastReading,
    ) -> Option<Timed<Option<Found>>> {
        let (client, _place) = match self.reader().await {
            Ok(reader) => reader,
            Err(error) => return refused(error),
        };
        let began = Instant::now();
        let read = past::search(&client, words, place, reading).await;
        self.answered(client, began, read)
    }

    /// A connection for a read of everything that is committed now, with its place.
    async fn reader(&self) -> Result<(Client, OwnedSemaphorePermit), SharedError> {
        self.caught_up().await?;
        let readers = &self.0.readers;
        let place = readers.place().await.map_err(SharedError::Past)?;
        let client = match readers.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connected().await.map_err(SharedError::Away)?,
        };
        Ok((client, place))
    }

    /// The answer to a read that began then, if there is one.
    fn answered<T>(
        &self,
        client: Client,
        began: Instant,
        read: Result<T, SharedError>,
    ) -> Option<Timed<T>> {
        self.0.readers.put(client);
        let took = began.elapsed();
        match read {
            Ok(read) => Some(Timed {
                took,
                answer: Ok(read),
            }),
            Err(error) => Some(Timed {
                took,
                ..refused(error)?
            }),
        }
    }

    async fn caught_up(&self) -> Result<(), SharedError> {
        let shared = &self.0;
        let known = shared.progress.known();
        let mut reached = shared.reached.clone();
        let caught_up = async {
            shared.progress.catch_up(PATIENCE).await;
            let is_over =
                |reached: &Option<Position>| reached.is_none_or(|reached| reached >= known);
            reached
                .wait_for(is_over)
                .await
                .is_ok_and(|reached| reached.is_some())
        };
        match tokio::time::timeout(PATIENCE, caught_up).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SharedError::Away(CopyError::Away)),
            Err(_) => Err(SharedError::Past(PastError::Behind)),
        }
    }

    async fn connected(&self) -> Result<Client, CopyError> {
        let client = connect(&self.0.config).await?;
        let limit = format!("SET statement_timeout = {READ_MS}");
        client.batch_execute(&limit).await?;
        Ok(client)
    }
}

/// A read without a result. None if the file is to be read.
fn refused<T>(error: SharedError) -> Option<Timed<T>> {
    match error {
        SharedError::Past(why) => Some(Timed {
            took: Duration::ZERO,
            answer: Err(why),
        }),
        SharedError::Away(error) => {
            tracing::debug!(%error, "the history is read from its file");
            None
        }
    }
}

/// Connects, and lets the connection work until the client is dropped.
async fn connect(config: &Config) -> Result<Client, CopyError> {
    let connecting = tokio::time::timeout(CONNECT, config.connect(NoTls)).await;
    let (client, connection) = connecting.map_err(|_| CopyError::Unreachable)??;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(
                error = of_server(&error),
                "a connection to PostgreSQL has ended"
            );
        }
    });
    Ok(client)
}
