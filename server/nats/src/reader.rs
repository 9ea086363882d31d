//! Reads of the log beside the member that follows it: of its extent, of runs of records, of single
//! copies, and of snapshots.

use std::fmt;
use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::{self, ErrorCode};
use chat_cluster::READ_TIMEOUT;
use futures_util::StreamExt as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::calls::Calls;
use crate::connection;
use crate::endpoint::Endpoint;
use crate::follow::all_copies;
use crate::options::LogOptions;
use crate::read::{Found, by_leader, by_replica};
use crate::snapshots::{self, StoredBytes};
use crate::streams::{AGAIN, OpenError, PATIENCE, SettingFault};

/// The largest number of records of one run.
const RECORDS: usize = 1_024;

/// The size of records after which a run ends.
const BYTES: usize = 16 << 20;

/// How often a source is asked that does not answer.
const ATTEMPTS: u32 = 3;

/// The records that the log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sequence of the first record. Earlier ones are purged.
    pub first: u64,
    /// The sequence of the last record; one less than the first if the log has none.
    pub last: u64,
}

/// A second reader of the log. Cheap to clone.
#[derive(Clone)]
pub struct LogReader(Endpoint);

impl fmt::Debug for LogReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogReader({})", self.0.realm())
    }
}

impl LogReader {
    pub(crate) const fn new(endpoint: Endpoint) -> Self {
        Self(endpoint)
    }

    /// Connects to the servers, and makes nothing there.
    ///
    /// # Errors
    /// No server can be reached.
    pub async fn open(options: &LogOptions) -> Result<Self, OpenError> {
        let client = connection::connect(options).await?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(connection::REQUEST);
        let endpoint = Endpoint::new(client, context, options.realm.clone());
        Ok(Self::new(endpoint))
    }

    /// The calls between members over the same connection.
    #[must_use]
    pub fn calls(&self) -> Calls {
        Calls::new(self.0.client().clone(), self.0.realm().clone())
    }

    /// The records that the log has, by its leader.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn extent(&self) -> Result<Extent, OpenError> {
        let stream = self.0.realm().stream();
        let until = Instant::now() + PATIENCE;
        loop {
            let error = match self.0.context().get_stream(&stream).await {
                Ok(found) => {
                    let state = &found.cached_info().state;
                    let (first, last) = (state.first_sequence, state.last_sequence);
                    return Ok(Extent {
                        // A stream that never had a record begins at 0.
                        first: first.max(1),
                        last,
                    });
                }
                Err(error) => error,
            };
            if let GetStreamErrorKind::JetStream(error) = error.kind()
                && error.error_code() == ErrorCode::STREAM_NOT_FOUND
            {
                let fault = SettingFault::Absent;
                return Err(OpenError::Stream { stream, fault });
            }
            if Instant::now() >= until {
                let fault = SettingFault::Unmade(error.to_string());
                return Err(OpenError::Stream { stream, fault });
            }
            sleep(AGAIN).await;
        }
    }

    /// The identity of the realm; none if it has none yet.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn identity(&self) -> Result<Option<Vec<u8>>, OpenError> {
        let stream = self.0.realm().identity_stream();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match by_leader(self.0.client(), &stream, 1).await {
                Some(Found::Record(bytes)) => return Ok(Some(bytes)),
                Some(Found::Nothing) => return Ok(None),
                // The stream's leader may not be elected yet.
                None => sleep(AGAIN).await,
            }
        }
        let fault = SettingFault::Unmade("its leader does not answer".into());
        Err(OpenError::Stream { stream, fault })
    }

    /// The next records from this sequence on, each with its sequence, as one replica has them: one
    /// that it has lost is absent. Empty if none comes in time.
    pub async fn run(&self, from: u64) -> Vec<(u64, Vec<u8>)> {
        let mut run = Vec::new();
        if let Err(why) = self.fill(from, &mut run).await {
            tracing::debug!(from, %why, "a run of records ends early");
        }
        run
    }

    async fn fill(
        &self,
        from: u64,
        run: &mut Vec<(u64, Vec<u8>)>,
    ) -> Result<(), async_nats::Error> {
        let last = self.extent().await?.last;
        let stream = self.0.realm().stream();
        let stream = self.0.context().get_stream_no_info(stream).await?;
        let config = OrderedConfig {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: from,
            },
            ..OrderedConfig::default()
        };
        let mut messages = stream.create_consumer(config).await?.messages().await?;
        let patience = Duration::from_micros(READ_TIMEOUT.0);
        let mut bytes = 0;
        while run.last().map_or(from <= last, |(at, _)| *at < last)
            && run.len() < RECORDS
            && bytes < BYTES
            && let Ok(Some(message)) = timeout(patience, messages.next()).await
        {
            let message = message?;
            let sequence = message.info()?.stream_sequence;
            bytes += message.payload.len();
            run.push((sequence, message.payload.to_vec()));
        }
        Ok(())
    }

    /// The record as the leader and as the replicas have it, each different copy once.
    pub async fn copies(&self, sequence: u64) -> Vec<Vec<u8>> {
        all_copies(&self.0, sequence).await
    }

    /// The records from one sequence to another, each by the leader of the log and by any replica, of
    /// which the servers choose one. In the order of their sequences.
    pub async fn twice(&self, from: u64, to: u64) -> Vec<ReadTwice> {
        let mut reads = JoinSet::new();
        for sequence in from..=to {
            let endpoint = self.0.clone();
            reads.spawn(async move { read_twice(&endpoint, sequence).await });
        }
        let mut read = reads.join_all().await;
        read.sort_by_key(|read| read.sequence);
        read
    }

    /// The stored snapshots with their sequences, in ascending order.
    ///
    /// # Errors
    /// The object store cannot be read.
    pub async fn snapshots(&self) -> Result<Vec<(u64, StoredBytes)>, OpenError> {
        snapshots::all(self.0.context(), self.0.realm()).await
    }

    /// The newest snapshot that can be read; none if there is none.
    ///
    /// # Errors
    /// The object store cannot be read.
    pub async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, OpenError> {
        snapshots::newest(self.0.context(), self.0.realm()).await
    }
}

/// A record, read at two sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTwice {
    /// Its sequence.
    pub sequence: u64,
    /// As the leader of the log has it.
    pub leader: RecordCopy,
    /// As a replica has it.
    pub replica: RecordCopy,
}

async fn read_twice(endpoint: &Endpoint, sequence: u64) -> ReadTwice {
    let (client, realm) = (endpoint.client(), endpoint.realm());
    let mut read = ReadTwice {
        sequence,
        leader: RecordCopy::Unanswered,
        replica: RecordCopy::Unanswered,
    };
    for _ in 0..ATTEMPTS {
        if read.leader == RecordCopy::Unanswered {
            let found = by_leader(client, &realm.stream(), sequence).await;
            read.leader = found.into();
        }
        if read.replica == RecordCopy::Unanswered {
            read.replica = by_replica(client, realm, sequence).await.into();
        }
    }
    read
}

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

impl From<Option<Found>> for RecordCopy {
    fn from(found: Option<Found>) -> Self {
        match found {
            Some(Found::Record(bytes)) => Self::There(bytes),
            Some(Found::Nothing) => Self::Absent,
            None => Self::Unanswered,
        }
    }
}
