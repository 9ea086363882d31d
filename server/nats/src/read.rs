//! Reads of one record.

use std::time::Duration;

use async_nats::StatusCode;
use async_nats::jetstream::stream::{DirectGetErrorKind, RawMessageErrorKind};
use chat_cluster::READ_TIMEOUT;
use tokio::time::timeout;

use crate::connection::LogReader;

/// The time limit of one read.
pub(crate) const PATIENCE: Duration = Duration::from_micros(READ_TIMEOUT.0);

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

impl LogReader {
    /// A record, by the leader of the stream.
    ///
    /// The fate of an append is read only in this way: a replica may lag behind.
    pub(crate) async fn by_leader(&self, stream: &str, sequence: u64) -> RecordCopy {
        let Ok(stream) = self.context.get_stream_no_info(stream).await else {
            return RecordCopy::Unanswered;
        };
        let answer = timeout(PATIENCE, stream.get_raw_message(sequence)).await;
        let Ok(answer) = answer else {
            return RecordCopy::Unanswered;
        };
        match answer.map_err(|error| error.kind()) {
            Ok(found) if found.sequence == sequence => RecordCopy::There(found.payload.into()),
            Ok(_)
            | Err(
                RawMessageErrorKind::NoMessageFound
                | RawMessageErrorKind::InvalidSubject
                | RawMessageErrorKind::JetStream(_),
            ) => RecordCopy::Absent,
            Err(RawMessageErrorKind::Other) => RecordCopy::Unanswered,
        }
    }

    /// A record of the log, by any replica.
    pub(crate) async fn by_replica(&self, sequence: u64) -> RecordCopy {
        let Ok(stream) = self.context.get_stream_no_info(self.realm.stream()).await else {
            return RecordCopy::Unanswered;
        };
        let answer = timeout(PATIENCE, stream.direct_get(sequence)).await;
        let Ok(answer) = answer else {
            return RecordCopy::Unanswered;
        };
        match answer.map_err(|error| error.kind()) {
            Ok(found) if found.sequence == sequence => RecordCopy::There(found.payload.into()),
            Err(
                DirectGetErrorKind::ErrorResponse(StatusCode::NO_RESPONDERS, _)
                | DirectGetErrorKind::TimedOut
                | DirectGetErrorKind::Request
                | DirectGetErrorKind::Other,
            ) => RecordCopy::Unanswered,
            Ok(_)
            | Err(
                DirectGetErrorKind::NotFound
                | DirectGetErrorKind::InvalidSubject
                | DirectGetErrorKind::ErrorResponse(..),
            ) => RecordCopy::Absent,
        }
    }
}
