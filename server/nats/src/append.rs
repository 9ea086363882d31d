//! Appends with a comparison, and what the servers' answers say of their fate.

use std::time::Duration;

use async_nats::header::HeaderMap;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::response::Response;
use async_nats::{Request, RequestErrorKind};
use chat_cluster::Outcome;

use crate::connection::LogReader;

/// The header that an append is compared by: the last sequence of the whole stream. The comparison
/// by subject has let two writers in.
const EXPECTED: &str = "Nats-Expected-Last-Sequence";

/// The log ends elsewhere: with this sequence, or with one that is being appended.
const WRONG_LAST: [u64; 2] = [10_071, 10_164];

/// The record is longer than the stream accepts.
const TOO_LONG: u64 = 10_054;

/// How long an answer is waited for. One that comes when its append already counts as unknown settles
/// it nevertheless: the servers may be far.
const LATEST: Duration = Duration::from_secs(4);

/// What the answer to an append says of its fate. Nothing, if the record may be in the log, or may
/// still reach it.
///
/// An error counts as a refusal only if it is known that the server checks it before it proposes
/// the record, or that all replicas decide it alike. A failure to store it, or a full disk, may concern
/// one replica of three.
fn outcome_of(answer: &[u8]) -> Option<Outcome> {
    let error = match serde_json::from_slice(answer).ok()? {
        Response::Ok(PublishAck { sequence, .. }) => {
            return (sequence > 0).then_some(Outcome::Acknowledged(sequence));
        }
        Response::Err { error } => error,
    };
    match error.error_code().0 {
        code if WRONG_LAST.contains(&code) => Some(Outcome::WrongLast),
        TOO_LONG => Some(Outcome::Rejected),
        _ => {
            let err_code = error.error_code().0;
            tracing::warn!(err_code, %error, "an append failed, and may have an effect");
            None
        }
    }
}

impl LogReader {
    /// Appends once to the stream of this kind, and returns what is known of the fate.
    pub(crate) async fn append(
        &self,
        kind: &str,
        expected: u64,
        bytes: Vec<u8>,
    ) -> Option<Outcome> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED, expected.to_string());
        let request = Request::new()
            .payload(bytes.into())
            .headers(headers)
            .timeout(Some(LATEST));
        let subject = self.realm.subject(kind);
        match self.client.send_request(subject, request).await {
            Ok(answer) => outcome_of(&answer.payload),
            Err(error) => match error.kind() {
                // The server has no leader of the stream to give the record to.
                RequestErrorKind::NoResponders => Some(Outcome::Busy),
                RequestErrorKind::MaxPayloadExceeded => Some(Outcome::Rejected),
                RequestErrorKind::TimedOut
                | RequestErrorKind::InvalidSubject
                | RequestErrorKind::Other => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_what_it_proves_and_no_more() {
        let error = |code: u64| {
            format!(r#"{{"error":{{"code":400,"err_code":{code},"description":"x"}},"seq":0}}"#)
        };
        for (answer, wanted) in [
            (
                r#"{"stream":"TS_main","seq":7}"#.to_owned(),
                Some(Outcome::Acknowledged(7)),
            ),
            (error(10_071), Some(Outcome::WrongLast)),
            (error(10_164), Some(Outcome::WrongLast)),
            (error(10_054), Some(Outcome::Rejected)),
            // The leader's disk is full: it says so also after it has proposed the record.
            (error(10_023), None),
            (error(10_002), None),
            // A failure to store, and what no list has, prove nothing.
            (error(10_077), None),
            (error(1), None),
            (r#"{"stream":"TS_main","seq":0}"#.to_owned(), None),
            ("no JSON".to_owned(), None),
        ] {
            assert_eq!(outcome_of(answer.as_bytes()), wanted, "{answer}");
        }
    }
}
