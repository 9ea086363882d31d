//! Calls between members: requests to the owner, and its answers.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Request, RequestErrorKind, Subscriber};
use futures_util::StreamExt as _;

use crate::options::RealmName;

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

/// The calls of one realm. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Calls {
    client: Client,
    realm: RealmName,
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

impl Calls {
    pub(crate) const fn new(client: Client, realm: RealmName) -> Self {
        Self { client, realm }
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
        match self
            .client
            .send_request(self.realm.subject(kind), request)
            .await
        {
            Ok(answer) => Ok(answer.payload.to_vec()),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => CallError::NoOwner,
                RequestErrorKind::TimedOut
                | RequestErrorKind::InvalidSubject
                | RequestErrorKind::MaxPayloadExceeded
                | RequestErrorKind::Other => CallError::Unanswered,
            }),
        }
    }

    /// Asks all that serve this kind of call, and returns what they answer within this time.
    pub async fn ask_all(&self, kind: &str, bytes: Vec<u8>, patience: Duration) -> Vec<Vec<u8>> {
        let inbox = self.client.new_inbox();
        let mut answers = Vec::new();
        let Ok(mut subscriber) = self.client.subscribe(inbox.clone()).await else {
            return answers;
        };
        let subject = self.realm.subject(kind);
        let asked = self
            .client
            .publish_with_reply(subject, inbox, bytes.into())
            .await;
        if asked.is_err() {
            return answers;
        }
        let until = tokio::time::Instant::now() + patience;
        while let Ok(Some(answer)) = tokio::time::timeout_at(until, subscriber.next()).await {
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
