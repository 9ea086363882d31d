//! The state of the log and of the connection, for operators.

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::connection::State as Connection;
use async_nats::jetstream::stream::State;

use crate::connection::LogReader;

/// What the log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    /// The sequence of the last record; 0 before the first.
    pub last: u64,
    /// The number of records.
    pub records: u64,
    /// Their size.
    pub bytes: u64,
    /// When the last snapshot was stored, since the epoch of Unix; zero if there is none.
    pub snapshot_at: Duration,
}

impl LogReader {
    /// How often the connection was made again; none while there is no connection.
    #[must_use]
    pub fn reconnects(&self) -> Option<u64> {
        let connects = self.client.statistics().connects.load(Ordering::Relaxed);
        let is_connected = self.client.connection_state() == Connection::Connected;
        is_connected.then(|| connects.saturating_sub(1))
    }

    /// The state of the log; none if the servers do not answer.
    pub async fn state(&self) -> Option<LogState> {
        let log = self.state_of(self.realm.stream()).await?;
        let snapshots = self.state_of(self.realm.snapshot_stream()).await?;
        let seconds = match snapshots.messages {
            0 => 0,
            _ => snapshots.last_timestamp.unix_timestamp(),
        };
        Some(LogState {
            last: log.last_sequence,
            records: log.messages,
            bytes: log.bytes,
            snapshot_at: Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
        })
    }

    async fn state_of(&self, stream: String) -> Option<State> {
        let stream = self.context.get_stream(stream).await.ok()?;
        Some(stream.cached_info().state.clone())
    }
}
