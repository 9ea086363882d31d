//! The log: its requests.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chat_cluster::{AppendId, Outcome, PUBLISH_TIMEOUT, ReadId, Source};
use server_settings::ClusterSettings;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::connection::LogReader;
use crate::endpoint::{Endpoint, Report, follow};
use crate::error::OpenError;
use crate::reader::RecordCopy;
use crate::snapshots::StoredSnapshot;
use crate::{monitor, streams};

/// The shared log of one realm.
pub struct Log {
    endpoint: Endpoint,
    /// The task that follows the log, which ends when this is dropped.
    following: JoinSet<()>,
    /// Each task that stores a snapshot has a copy.
    storing: Arc<()>,
}

impl Log {
    /// Connects to the servers, checks them, and makes the streams of the realm if they are absent.
    ///
    /// # Errors
    /// No server can be reached, or they do not keep what they acknowledge, or the streams have
    /// other settings.
    pub async fn open(options: &ClusterSettings) -> Result<Self, OpenError> {
        let reader = LogReader::open(options).await?;
        let unfit = |why| OpenError::Unusable(format!("--cluster: {why}"));
        monitor::check_connected(&reader.client).map_err(unfit)?;
        let replicas = streams::make(&reader).await?;
        let checked = monitor::check_all(&reader, options).await;
        checked.map_err(unfit)?;
        tracing::info!(realm = %options.realm, replicas, "the cluster's log is open");
        Ok(Self {
            endpoint: Endpoint::new(reader),
            following: JoinSet::new(),
            storing: Arc::default(),
        })
    }

    /// Sets where reports go. Before, they are dropped.
    pub fn attach(&mut self, tell: impl Fn(Report) + Send + Sync + 'static) {
        self.endpoint.tell = Arc::new(tell);
    }

    /// A reader of the log over the same connection.
    #[must_use]
    pub const fn reader(&self) -> &LogReader {
        &self.endpoint.reader
    }

    /// Appends the bytes if the log's last sequence is `expected`.
    pub fn publish(&self, id: AppendId, expected: u64, bytes: &[u8]) {
        let (endpoint, bytes) = (self.endpoint.clone(), bytes.to_vec());
        tokio::spawn(async move {
            let began = Instant::now();
            let mut appending = pin!(endpoint.reader.append("log", expected, bytes));
            let patience = Duration::from_micros(PUBLISH_TIMEOUT.0);
            let in_time = timeout(patience, &mut appending).await;
            let is_late = in_time.is_err();
            report(&endpoint, id, (in_time.unwrap_or(None), began)).await;
            if is_late && let Some(late) = appending.await {
                report(&endpoint, id, (Some(late), began)).await;
            }
        });
    }

    /// Reads a record.
    pub fn read(&self, id: ReadId, sequence: u64, source: Source) {
        let endpoint = self.endpoint.clone();
        tokio::spawn(async move {
            let reader = &endpoint.reader;
            let found = reader.record(&reader.stream(), sequence, source).await;
            if source == Source::Leader {
                endpoint.ended(found != RecordCopy::Unanswered).await;
            }
            let bytes = match found {
                RecordCopy::There(bytes) => Some(bytes),
                RecordCopy::Absent => None,
                RecordCopy::Unanswered => return,
            };
            (endpoint.tell)(Report::Found { id, bytes });
        });
    }

    /// Follows the log from this sequence on, in place of where it was followed before. The attempts
    /// after the first, which is 0, read the record from other replicas, too.
    pub fn follow(&mut self, from: u64, attempt: u64) {
        let following = follow(self.endpoint.clone(), from, attempt);
        self.following = JoinSet::new();
        self.following.spawn(following);
    }

    /// Stores a snapshot, and purges the log below the last two.
    pub fn store(&self, snapshot: StoredSnapshot) {
        let (endpoint, storing) = (self.endpoint.clone(), Arc::clone(&self.storing));
        tokio::spawn(async move {
            let StoredSnapshot {
                sequence, position, ..
            } = snapshot;
            match endpoint.reader.store(snapshot).await {
                Ok(()) => tracing::info!(sequence, position, "a snapshot is stored"),
                Err(why) => tracing::error!(sequence, %why, "a snapshot is not stored"),
            }
            drop(storing);
            (endpoint.tell)(Report::Stored);
        });
    }

    /// Whether a snapshot is being stored. A report follows when it is not any more.
    #[must_use]
    pub fn is_storing(&self) -> bool {
        Arc::strong_count(&self.storing) > 1
    }

    /// Reports the newest stored snapshot, if there is one.
    pub fn fetch_snapshot(&self) {
        let endpoint = self.endpoint.clone();
        tokio::spawn(async move {
            match endpoint.reader.newest_snapshot().await {
                Ok(Some(bytes)) => (endpoint.tell)(Report::Snapshot(bytes)),
                Ok(None) => tracing::error!("the log lacks records, and no snapshot is stored"),
                Err(why) => tracing::warn!(%why, "no snapshot can be read now"),
            }
        });
    }
}

/// Reports what is known of an attempt to append that began at this instant.
async fn report(endpoint: &Endpoint, id: AppendId, (outcome, began): (Option<Outcome>, Instant)) {
    let took = began.elapsed();
    // A log without a leader answers nothing.
    endpoint
        .ended(!matches!(outcome, None | Some(Outcome::Busy)))
        .await;
    (endpoint.tell)(Report::Published { id, outcome, took });
}
