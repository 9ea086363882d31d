//! Reads of the log: single records, and beside the member that follows it, its identity, its extent, its
//! state for operators, runs of records, and all copies of one.

use std::iter;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::StatusCode;
use async_nats::connection::State as Connection;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::stream::{DirectGetErrorKind, RawMessageErrorKind, State};
use chat_cluster::{READ_TIMEOUT, Source};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use crate::connection::{LogReader, retried};
use crate::error::OpenError;
use crate::streams::{AGAIN, PATIENCE};

/// The time limit of one read.
const READ_PATIENCE: Duration = Duration::from_micros(READ_TIMEOUT.0);

/// The largest number of records of one run.
const RECORDS: usize = 1_024;

/// The size of records after which a run ends.
const BYTES: usize = 16 << 20;

/// How often a source is asked that does not answer.
const ATTEMPTS: u64 = 3;

/// How often any replica is asked for a record that is missing: each request reaches one of them.
const REPLICAS_ASKED: u64 = 6;

/// A record at one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordCopy {
    /// The bytes.
    There(Vec<u8>),
    /// The source has no such record.
    Absent,
    /// The source does not answer.
    Unanswered,
}

/// The records that the log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sequence of the first record. Earlier ones are purged.
    pub first: u64,
    /// The sequence of the last record; one less than the first if the log has none.
    pub last: u64,
}

/// What the log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    /// The sequence of the last record; 0 before the first.
    pub last: u64,
    /// The number of records.
    pub records: u64,
    /// Their size.
    pub bytes: u64,
    /// When the last snapshot was stored, in seconds since the epoch of Unix; zero if there is none.
    pub snapshot_at: u64,
}

impl LogReader {
    /// The records that the log has, by its leader.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn extent(&self) -> Result<Extent, OpenError> {
        let stream = self.stream();
        let is_absent = |error: &GetStreamError| {
            matches!(error.kind(), GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
        };
        let find = || self.context.get_stream(&stream);
        let found = retried(PATIENCE, find, is_absent, || sleep(AGAIN)).await;
        let found = found.map_err(|error| match is_absent(&error) {
            true => OpenError::Absent(stream.clone()),
            false => OpenError::unmade(&stream, error),
        })?;
        let state = &found.cached_info().state;
        Ok(Extent {
            // A stream that never had a record begins at 0.
            first: state.first_sequence.max(1),
            last: state.last_sequence,
        })
    }

    /// The identity of the realm: `drawn`, if it has none yet. All members receive the same one. None if it has
    /// none and none was drawn.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn identity(&self, drawn: Option<&[u8]>) -> Result<Option<Vec<u8>>, OpenError> {
        let stream = self.identity_stream();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(drawn) = drawn {
                // Whatever the fate of this is: the record that is there is the identity.
                let _ = self.append("identity", 0, drawn.to_vec()).await;
            }
            match self.record(&stream, 1, Source::Leader).await {
                RecordCopy::There(bytes) => return Ok(Some(bytes)),
                RecordCopy::Absent if drawn.is_none() => return Ok(None),
                // The stream's first leader may not be elected yet.
                RecordCopy::Absent | RecordCopy::Unanswered => sleep(AGAIN).await,
            }
        }
        Err(OpenError::unmade(&stream, "its leader does not answer"))
    }

    /// The next records from this sequence on, each with its sequence, as one replica has them: one
    /// that it has lost is absent. Empty if none comes in time.
    pub async fn run(&self, from: u64) -> Vec<(u64, Vec<u8>)> {
        let mut run: Vec<(u64, Vec<u8>)> = Vec::new();
        let filled = async {
            let last = self.extent().await?.last;
            let mut messages = self.messages(from, 0).await?;
            let mut bytes = 0;
            while run.last().map_or(from <= last, |(at, _)| *at < last)
                && run.len() < RECORDS
                && bytes < BYTES
                && let Ok(Some(message)) = timeout(READ_PATIENCE, messages.next()).await
            {
                let message = message?;
                let sequence = message.info()?.stream_sequence;
                bytes += message.payload.len();
                run.push((sequence, message.payload.to_vec()));
            }
            Ok::<_, async_nats::Error>(())
        };
        if let Err(why) = filled.await {
            tracing::debug!(from, %why, "a run of records ends early");
        }
        run
    }

    /// The records from this sequence on, as one replica has them. One request pulls so many at most; 0
    /// for as many as the library does.
    pub(crate) async fn messages(
        &self,
        from: u64,
        max_batch: i64,
    ) -> Result<Ordered, async_nats::Error> {
        let stream = self.context.get_stream_no_info(self.stream()).await?;
        let config = OrderedConfig {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: from,
            },
            max_batch,
            ..OrderedConfig::default()
        };
        Ok(stream.create_consumer(config).await?.messages().await?)
    }

    /// The record as the leader and as the replicas have it, each different copy once.
    pub async fn copies(&self, sequence: u64) -> Vec<Vec<u8>> {
        let (stream, mut copies) = (self.stream(), Vec::new());
        let replicas = (0..REPLICAS_ASKED).map(Source::Replica);
        for source in iter::once(Source::Leader).chain(replicas) {
            if let RecordCopy::There(bytes) = self.record(&stream, sequence, source).await
                && !copies.contains(&bytes)
            {
                copies.push(bytes);
            }
        }
        copies
    }

    /// A record of a stream.
    ///
    /// The fate of an append is read only by the leader: a replica may lag behind.
    pub(crate) async fn record(&self, stream: &str, sequence: u64, source: Source) -> RecordCopy {
        let read = async {
            let stream = self.context.get_stream_no_info(stream).await.ok()?;
            // None if nobody has answered.
            let found = match source {
                Source::Leader => match stream.get_raw_message(sequence).await {
                    Err(error) if error.kind() == RawMessageErrorKind::Other => return None,
                    found => found.ok(),
                },
                Source::Replica(_) => match stream.direct_get(sequence).await {
                    Err(error) if is_silence(&error.kind()) => return None,
                    found => found.ok(),
                },
            };
            let found = found.filter(|found| found.sequence == sequence);
            Some(found.map_or(RecordCopy::Absent, |found| {
                RecordCopy::There(found.payload.into())
            }))
        };
        let read = timeout(READ_PATIENCE, read).await;
        read.ok().flatten().unwrap_or(RecordCopy::Unanswered)
    }

    /// The records from one sequence to another. Each is read by the leader of the log, and by any replica, of
    /// which the servers choose one.
    pub async fn twice(&self, from: u64, to: u64) -> Vec<[RecordCopy; 2]> {
        join_all((from..=to).map(|sequence| self.read_twice(sequence))).await
    }

    async fn read_twice(&self, sequence: u64) -> [RecordCopy; 2] {
        let mut copies = [RecordCopy::Unanswered, RecordCopy::Unanswered];
        for attempt in 0..ATTEMPTS {
            let sources = [Source::Leader, Source::Replica(attempt)];
            for (copy, source) in copies.iter_mut().zip(sources) {
                if *copy == RecordCopy::Unanswered {
                    *copy = self.record(&self.stream(), sequence, source).await;
                }
            }
        }
        copies
    }

    /// How often the connection was made again; none while there is no connection.
    #[must_use]
    pub fn reconnects(&self) -> Option<u64> {
        let connects = self.client.statistics().connects.load(Ordering::Relaxed);
        let is_connected = self.client.connection_state() == Connection::Connected;
        is_connected.then(|| connects.saturating_sub(1))
    }

    /// The state of the log; none if the servers do not answer.
    pub async fn state(&self) -> Option<LogState> {
        let log = self.state_of(self.stream()).await?;
        // The bucket of the snapshots is kept in this stream.
        let snapshots = self.state_of(format!("OBJ_{}", self.bucket())).await?;
        let seconds = match snapshots.messages {
            0 => 0,
            _ => snapshots.last_timestamp.unix_timestamp(),
        };
        Some(LogState {
            last: log.last_sequence,
            records: log.messages,
            bytes: log.bytes,
            snapshot_at: u64::try_from(seconds).unwrap_or_default(),
        })
    }

    async fn state_of(&self, stream: String) -> Option<State> {
        let stream = self.context.get_stream(stream).await.ok()?;
        Some(stream.cached_info().state.clone())
    }
}

/// Whether this error says that no replica has answered.
fn is_silence(error: &DirectGetErrorKind) -> bool {
    matches!(
        error,
        DirectGetErrorKind::ErrorResponse(StatusCode::NO_RESPONDERS, _)
            | DirectGetErrorKind::TimedOut
            | DirectGetErrorKind::Request
            | DirectGetErrorKind::Other
    )
}
