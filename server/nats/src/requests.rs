//! Requests: appends with a comparison, and what the servers' answers say of their fate; and calls between
//! members, with the answers of the owner.

use std::future::ready;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::header::HeaderMap;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::response::Response;
use async_nats::{Client, Request, RequestErrorKind};
use chat_cluster::Outcome;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, timeout_at};

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

/// Why a call between members has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// No member is subscribed: the call has not been received.
    NoOwner,
    /// There is no answer in time: the call may have been received.
    Unanswered,
}

/// A call that waits for an answer.
#[derive(Debug)]
pub struct Incoming {
    client: Client,
    reply: async_nats::Subject,
    /// The call.
    pub bytes: Vec<u8>,
}

impl Incoming {
    /// Answers the call.
    pub async fn answer(self, bytes: Vec<u8>) {
        // A lost connection is the caller's to notice.
        let _ = self.client.publish(self.reply, bytes.into()).await;
    }
}

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
        let subject = self.subject(kind);
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

    /// Asks the members that serve this kind of call. The first answer counts.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn ask(
        &self,
        kind: &str,
        bytes: Vec<u8>,
        patience: Duration,
    ) -> Result<Vec<u8>, CallError> {
        // Without a connection it would be kept, and sent long after its caller has given it up.
        if self.client.connection_state() != State::Connected {
            return Err(CallError::NoOwner);
        }
        let request = Request::new().payload(bytes.into()).timeout(Some(patience));
        let subject = self.subject(kind);
        let answer = self.client.send_request(subject, request).await;
        let answer = answer.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => CallError::NoOwner,
            RequestErrorKind::TimedOut
            | RequestErrorKind::InvalidSubject
            | RequestErrorKind::MaxPayloadExceeded
            | RequestErrorKind::Other => CallError::Unanswered,
        })?;
        Ok(answer.payload.to_vec())
    }

    /// Asks all that serve this kind of call, and returns what they answer within this time.
    pub async fn ask_all(&self, kind: &str, bytes: Vec<u8>, patience: Duration) -> Vec<Vec<u8>> {
        let (client, inbox) = (&self.client, self.client.new_inbox());
        let mut answers = Vec::new();
        let Ok(mut subscriber) = client.subscribe(inbox.clone()).await else {
            return answers;
        };
        let subject = self.subject(kind);
        let asked = client.publish_with_reply(subject, inbox, bytes.into());
        if asked.await.is_err() {
            return answers;
        }
        let until = Instant::now() + patience;
        while let Ok(Some(answer)) = timeout_at(until, subscriber.next()).await {
            // A status says that nobody is there.
            if answer.status.is_none() {
                answers.push(answer.payload.to_vec());
            }
        }
        answers
    }

    /// Serves calls of this kind until the result is dropped, or the connection has ended. `None` if it
    /// has ended.
    pub async fn serve(&self, kind: &str) -> Option<Serving> {
        let (subject, client) = (self.subject(kind), self.client.clone());
        let messages = self.client.subscribe(subject).await.ok()?;
        let calls = messages.filter_map(move |message| {
            ready(message.reply.map(|reply| Incoming {
                client: client.clone(),
                reply,
                bytes: message.payload.to_vec(),
            }))
        });
        Some(calls.boxed())
    }
}

/// The calls that a member serves.
pub type Serving = BoxStream<'static, Incoming>;

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
