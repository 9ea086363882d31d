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

mod past;
mod tables;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_core::Position;
use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use super::past::PastReading;
use super::progress::Progress;
use super::{HistoryOptions, PATIENCE, PastError, Readers, Timed, path_in};
use crate::blocking;
use crate::clock::wall;
use crate::journal::DatabaseError;
use crate::sqlite::{signed, unsigned};

/// The time limit to connect.
const CONNECT: Duration = Duration::from_secs(2);

/// The time limit of a statement of a reader, which the server keeps, in milliseconds.
const READ_MS: u32 = 1_000;

/// The pause before a new attempt to copy, after an error.
const RETRY: Duration = Duration::from_secs(2);

/// The longest pause without new rows: old messages are deleted at least this often.
const IDLE: Duration = Duration::from_secs(60);

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
    #[error(
        "the database has tables of version {found}, and this server writes version {ours}: name \
         another one with --history, or drop its tables"
    )]
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
    /// Starts to copy the tables of the file. None without a server to copy them to. Must
    /// be called on a runtime.
    pub(super) fn start(options: &HistoryOptions, progress: &Arc<Progress>) -> Option<Self> {
        let url = options.server.as_ref()?;
        let mut config: Config = url.with_password().parse().expect("it was checked");
        config.connect_timeout(CONNECT);
        config.application_name("talking-stick");
        // Until the first attempt has an outcome, reads wait: the file may lack what the copy has.
        let (reach, reached) = watch::channel(Some(Position(0)));
        let copier = Copier {
            config: config.clone(),
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

    /// Reads as from the file. `None` while PostgreSQL is away.
    pub(super) async fn read(&self, reading: &PastReading) -> Option<Timed> {
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
            let read = past::read(&client, reading).await;
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

/// Copies the tables of one file.
struct Copier {
    config: Config,
    options: HistoryOptions,
    /// Where the copier shows how far it is; nowhere while it cannot copy.
    reach: watch::Sender<Option<Position>>,
    /// The place of the copy, if this copier has moved it there.
    written: Option<i64>,
    /// How far the file is.
    follower: watch::Receiver<Position>,
    /// The address, without its password.
    shown: String,
}

impl Copier {
    /// Copies until the server ends. After any error it begins again at the place of the copy.
    async fn run(mut self) {
        let mut is_down = false;
        loop {
            // The library panics where the system has no thread: one more error.
            let session = AssertUnwindSafe(self.session(&mut is_down)).catch_unwind();
            let panicked = CopyError::Other("it panicked, and the log says why");
            let Err(error) = session.await.unwrap_or(Err(panicked)) else {
                return;
            };
            if !std::mem::replace(&mut is_down, true) {
                tracing::error!(%error, server = self.shown, "the history is not copied; it tries again");
            }
            self.reach.send_replace(None);
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Copies with one connection. Ends without an error with the server.
    async fn session(&mut self, is_down: &mut bool) -> Result<(), CopyError> {
        self.written = None;
        let mut client = connect(&self.config).await?;
        let mut place = tables::open(&mut client, self.options.origin.realm).await?;
        let end = signed(self.options.end.0);
        if place > end && !self.options.is_shared {
            place = cut(&mut client, end).await?;
        }
        if std::mem::take(is_down) {
            tracing::info!(server = self.shown, "the history is copied again");
        }
        loop {
            self.follower.mark_unchanged();
            place = self.copy(&mut client, place).await?;
            self.trim(&mut client).await?;
            let woken = tokio::time::timeout(IDLE, self.follower.changed()).await;
            if matches!(woken, Ok(Err(_))) {
                return Ok(());
            }
        }
    }

    /// Copies all rows that the file has.
    async fn copy(&mut self, client: &mut Client, mut place: i64) -> Result<i64, CopyError> {
        loop {
            if self.written != Some(place)
                && let Some(position) =
                    tables::compare_links(client, self.options.folder.clone()).await?
            {
                place = cut(client, position).await?;
            }
            self.reach.send_replace(Some(Position(unsigned(place))));
            let file = path_in(&self.options.folder);
            let read = blocking(move || tables::rows_of(&file, place));
            let Some(rows) = read.await?? else {
                return Ok(place);
            };
            place = tables::write(client, place, &rows).await?;
            self.written = (place == rows.end).then_some(place);
            // From here on, a copy that is ahead is one that another member has written.
            self.options.end = self.options.end.max(Position(unsigned(place)));
        }
    }

    async fn trim(&self, client: &mut Client) -> Result<(), CopyError> {
        let Some(age) = self.options.retention.age else {
            return Ok(());
        };
        let before = signed(wall().0.saturating_sub(age.0));
        while tables::trim(client, before).await? {}
        Ok(())
    }
}

/// Cuts the copy to this position, which is the journal's.
async fn cut(client: &mut Client, position: i64) -> Result<i64, CopyError> {
    tracing::warn!(
        position,
        "the copy has what the journal has lost, and is cut to it"
    );
    tables::cut(client, position).await?;
    Ok(position)
}
