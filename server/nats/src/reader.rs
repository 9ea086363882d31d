//! Reads of the log beside the member that follows it: of its identity, its extent, runs of records, and all
//! copies of one.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use futures_util::StreamExt as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::connection::LogReader;
use crate::open_error::{OpenError, SettingFault};
use crate::read::{self, RecordCopy};
use crate::retried::{AGAIN, PATIENCE, retried};

/// The largest number of records of one run.
const RECORDS: usize = 1_024;

/// The size of records after which a run ends.
const BYTES: usize = 16 << 20;

/// How often a source is asked that does not answer.
const ATTEMPTS: u32 = 3;

/// How often any replica is asked for a record that is missing: each request reaches one of them.
const REPLICAS_ASKED: usize = 6;

/// The records that the log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sequence of the first record. Earlier ones are purged.
    pub first: u64,
    /// The sequence of the last record; one less than the first if the log has none.
    pub last: u64,
}

impl LogReader {
    /// The records that the log has, by its leader.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn extent(&self) -> Result<Extent, OpenError> {
        let stream = self.realm.stream();
        let is_absent = |error: &GetStreamError| {
            matches!(error.kind(), GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
        };
        let find = || self.context.get_stream(&stream);
        let found = retried(find, is_absent, || sleep(AGAIN)).await;
        let found = found.map_err(|error| {
            let fault = match is_absent(&error) {
                true => SettingFault::Absent,
                false => SettingFault::Unmade(error.to_string()),
            };
            let stream = stream.clone();
            OpenError::Stream { stream, fault }
        })?;
        let state = &found.cached_info().state;
        Ok(Extent {
            // A stream that never had a record begins at 0.
            first: state.first_sequence.max(1),
            last: state.last_sequence,
        })
    }

    /// The identity of the realm; none if it has none yet.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn identity(&self) -> Result<Option<Vec<u8>>, OpenError> {
        let stream = self.realm.identity_stream();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match self.by_leader(&stream, 1).await {
                RecordCopy::There(bytes) => return Ok(Some(bytes)),
                RecordCopy::Absent => return Ok(None),
                // The stream's first leader may not be elected yet.
                RecordCopy::Unanswered => sleep(AGAIN).await,
            }
        }
        Err(self.unidentified())
    }

    /// The error of a realm whose identity cannot be read.
    pub(crate) fn unidentified(&self) -> OpenError {
        OpenError::Stream {
            stream: self.realm.identity_stream(),
            fault: SettingFault::Unmade("its leader does not answer".into()),
        }
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
        let mut messages = self.messages(from, 0).await?;
        let mut bytes = 0;
        while run.last().map_or(from <= last, |(at, _)| *at < last)
            && run.len() < RECORDS
            && bytes < BYTES
            && let Ok(Some(message)) = timeout(read::PATIENCE, messages.next()).await
        {
            let message = message?;
            let sequence = message.info()?.stream_sequence;
            bytes += message.payload.len();
            run.push((sequence, message.payload.to_vec()));
        }
        Ok(())
    }

    /// The records from this sequence on, as one replica has them. One request pulls so many at most; 0
    /// for as many as the library does.
    pub(crate) async fn messages(
        &self,
        from: u64,
        max_batch: i64,
    ) -> Result<Ordered, async_nats::Error> {
        let stream = self.context.get_stream_no_info(self.realm.stream()).await?;
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
        let mut copies = Vec::new();
        let mut add = |found| {
            if let RecordCopy::There(bytes) = found
                && !copies.contains(&bytes)
            {
                copies.push(bytes);
            }
        };
        add(self.by_leader(&self.realm.stream(), sequence).await);
        for _ in 0..REPLICAS_ASKED {
            add(self.by_replica(sequence).await);
        }
        copies
    }

    /// The records from one sequence to another, each by the leader of the log and by any replica, of
    /// which the servers choose one. In the order of their sequences.
    pub async fn twice(&self, from: u64, to: u64) -> Vec<ReadTwice> {
        let mut reads = JoinSet::new();
        for sequence in from..=to {
            let reader = self.clone();
            reads.spawn(async move { reader.read_twice(sequence).await });
        }
        let mut read = reads.join_all().await;
        read.sort_by_key(|read| read.sequence);
        read
    }

    async fn read_twice(&self, sequence: u64) -> ReadTwice {
        let mut read = ReadTwice {
            sequence,
            leader: RecordCopy::Unanswered,
            replica: RecordCopy::Unanswered,
        };
        for _ in 0..ATTEMPTS {
            if read.leader == RecordCopy::Unanswered {
                read.leader = self.by_leader(&self.realm.stream(), sequence).await;
            }
            if read.replica == RecordCopy::Unanswered {
                read.replica = self.by_replica(sequence).await;
            }
        }
        read
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
