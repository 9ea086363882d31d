//! Where reports go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_cluster::{AppendId, Outcome, ReadId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::LogReader;
use crate::isolation::Isolation;

/// The largest number of records that wait for the member.
const WAITING: usize = 64;

/// What happened at the log.
#[derive(Debug)]
pub enum Report {
    /// An attempt to append has ended.
    Published {
        /// The append.
        id: AppendId,
        /// The result; none if it is not known.
        outcome: Option<Outcome>,
        /// The duration of the attempt.
        took: Duration,
    },
    /// The result of a read.
    Found {
        /// The read.
        id: ReadId,
        /// The record; none if the source has none, which proves nothing.
        bytes: Option<Vec<u8>>,
    },
    /// A record of the log that is followed.
    Record {
        /// Its sequence.
        sequence: u64,
        /// Its bytes.
        bytes: Vec<u8>,
        /// To be dropped when the record is taken: the next ones wait for it.
        credit: Credit,
    },
    /// The newest stored snapshot.
    Snapshot(Vec<u8>),
    /// The storing of a snapshot has ended.
    Stored,
}

/// The right to have one record wait.
#[derive(Debug)]
pub struct Credit(#[expect(dead_code, reason = "its drop gives it back")] OwnedSemaphorePermit);

/// Where reports go.
pub(crate) type Tell = Arc<dyn Fn(Report) + Send + Sync>;

/// A reader of the log, and where its reports go, for tasks.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) reader: LogReader,
    pub(crate) tell: Tell,
    waiting: Arc<Semaphore>,
    isolation: Arc<Isolation>,
}

impl Endpoint {
    pub(crate) fn new(reader: LogReader) -> Self {
        Self {
            reader,
            tell: Arc::new(|_| {}),
            waiting: Arc::new(Semaphore::new(WAITING)),
            isolation: Arc::default(),
        }
    }

    pub(crate) fn tell(&self, report: Report) {
        (self.tell)(report);
    }

    /// Takes note of the end of a request to the log's leader. Connects to another server, if the one of
    /// this connection does not reach the leader.
    pub(crate) async fn ended(&self, has_answered: bool) {
        if self.isolation.is_likely(has_answered, Instant::now()) {
            tracing::warn!("the server does not reach the log: connecting to another one");
            // The connection is closed only when the process ends.
            let _ = self.reader.client.force_reconnect().await;
        }
    }

    /// Waits until few enough records wait.
    pub(crate) async fn credit(&self) -> Credit {
        let permit = Arc::clone(&self.waiting).acquire_owned().await;
        Credit(permit.expect("the semaphore is never closed"))
    }
}
