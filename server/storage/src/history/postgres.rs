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
mod past;
mod tables;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_core::Position;
use tokio::sync::watch;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use super::past::{PastQuery, PastReading};
use super::progress::Progress;
use super::{HistoryOptions, PATIENCE, PastError, Readers, Timed};
use crate::journal::DatabaseError;

use copier::Copier;

/// The time limit to connect.
const CONNECT: Duration = Duration::from_secs(2);

/// The time limit of a statement of a reader, which the server keeps, in milliseconds.
const READ_MS: u32 = 1_000;

/// The pause before a new attempt to copy, after an error.
const RETRY: Duration = Duration::from_secs(2);

/// The copy in PostgreSQL.
#[derive(Debug)]
pub(super) struct SharedHistory {
    config: Config,
    /// The position up to which the copy has everything; none while it is away.
    pub(super) reached: watch::Receiver<Option<Position>>,
    progress: Arc<Progress>,
    readers: Readers<Client>,
}

/// Why the copy cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    #[error("{}", of_server(_0))]
    Server(#[from] tokio_postgres::Error),
    #[error("{0}")]
    File(#[from] rusqlite::Error),
    #[error("{0}")]
    Journal(#[from] DatabaseError),
    #[error("history.db is not read: {0}")]
    Thread(#[from] std::io::Error),
    #[error("{0}")]
    Past(#[from] PastError),
    #[error("the database has tables of version {found}, and this server writes version {ours}")]
    Version { found: i32, ours: i32 },
    #[error("{0}")]
    Other(&'static str),
}

/// An error of PostgreSQL with the message of the server.
fn of_server(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => said.message().into(),
        None => error.to_string(),
    }
}

impl SharedHistory {
    /// Starts to copy the tables of the file in this folder. None without a server to copy them to. Must
    /// be called on a runtime.
    pub(super) fn start(
        folder: &Path,
        options: &HistoryOptions,
        progress: &Arc<Progress>,
    ) -> Option<Self> {
        let url = options.server.as_ref()?;
        let mut config: Config = url.with_password().parse().expect("it was checked");
        config.connect_timeout(CONNECT);
        config.application_name("talking-stick");
        let (reach, reached) = watch::channel(None);
        let copier = Copier {
            config: config.clone(),
            folder: folder.into(),
            options: options.clone(),
            reach,
            written: None,
            follower: progress.subscribe(),
            shown: url.to_string(),
        };
        tokio::spawn(copier.run());
        Some(Self {
            config,
            reached,
            progress: Arc::clone(progress),
            readers: Readers::new(),
        })
    }

    /// The number of entries of the journal that the copy lacks.
    pub(super) fn lag(&self) -> u64 {
        let reached = self.reached.borrow().unwrap_or_default();
        self.progress.now().known.0.saturating_sub(reached.0)
    }

    /// Reads as from the file. `None` while PostgreSQL is away.
    pub(super) async fn read(
        &self,
        query: &PastQuery,
        before: Option<u64>,
        reading: &PastReading,
    ) -> Option<Timed> {
        let mut took = Duration::ZERO;
        let read = async {
            self.caught_up().await?;
            let _place = self.readers.place().await?;
            let client = match self.readers.take().filter(|client| !client.is_closed()) {
                Some(client) => client,
                None => {
                    let client = connect(&self.config).await?;
                    let limit = format!("SET statement_timeout = {READ_MS}");
                    client.batch_execute(&limit).await?;
                    client
                }
            };
            let began = Instant::now();
            let read = past::read(&client, query, before, reading).await;
            self.readers.put(client);
            took = began.elapsed();
            read
        };
        let answer = match read.await {
            Ok(past) => Ok(past),
            Err(CopyError::Past(why)) => Err(why),
            Err(CopyError::Server(error)) if is_slow(&error) => Err(PastError::Slow),
            Err(error) => {
                tracing::debug!(%error, "the history is read from its file");
                return None;
            }
        };
        Some(Timed { took, answer })
    }

    /// Waits until everything that is committed now is there.
    async fn caught_up(&self) -> Result<(), CopyError> {
        let known = self.progress.now().known;
        let mut reached = self.reached.clone();
        let caught_up = async {
            self.progress.catch_up(PATIENCE).await;
            let is_over =
                |reached: &Option<Position>| reached.is_none_or(|reached| reached >= known);
            reached
                .wait_for(is_over)
                .await
                .is_ok_and(|reached| reached.is_some())
        };
        match tokio::time::timeout(PATIENCE, caught_up).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(CopyError::Other("nothing is copied now")),
            Err(_) => Err(PastError::Behind.into()),
        }
    }
}

/// Whether the time of a statement is over.
fn is_slow(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

/// Connects, and lets the connection work until the client is dropped.
async fn connect(config: &Config) -> Result<Client, CopyError> {
    let connecting = tokio::time::timeout(CONNECT, config.connect(NoTls)).await;
    let late = CopyError::Other("it takes longer than two seconds to connect");
    let (client, connection) = connecting.map_err(|_| late)??;
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
