//! Calls between members: requests to the owner, and its answers.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Request, RequestErrorKind, Subscriber};
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout_at};

use crate::connection::LogReader;

/// Why a call between members has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No member is subscribed: the call has not been received.
    #[error("no member takes calls now")]
    NoOwner,
    /// There is no answer in time: the call may have been received.
    #[error("no answer came in time")]
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

impl LogReader {
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
        let subject = self.realm.subject(kind);
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
        let subject = self.realm.subject(kind);
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

    /// Serves calls of this kind until the result is dropped. `None` if the connection has ended.
    pub async fn serve(&self, kind: &str) -> Option<Serving> {
        let subject = self.realm.subject(kind);
        let subscriber = self.client.subscribe(subject).await.ok()?;
        Some(Serving {
            client: self.client.clone(),
            subscriber,
        })
    }
}

/// A subscription to calls.
#[derive(Debug)]
pub struct Serving {
    client: Client,
    subscriber: Subscriber,
}

impl Serving {
    /// The next call; none if the connection has ended.
    pub async fn next(&mut self) -> Option<Incoming> {
        loop {
            let message = self.subscriber.next().await?;
            if let Some(reply) = message.reply {
                return Some(Incoming {
                    client: self.client.clone(),
                    reply,
                    bytes: message.payload.to_vec(),
                });
            }
        }
    }
}
