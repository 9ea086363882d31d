//! One stream of pushes from several inboxes, each fed from the participant's own node stream.
//!
//! A participant that calls in this session is present while such a stream is open (see
//! `follows.rs`); a client that knows only a reader id only reads. The next event of an inbox is requested after the last one
//! was sent. So a client that does not read costs one page, and delays no other.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat_core::{Address, Page, Reader, Seq, UserId};
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::SubscriptionSink;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::{Peer, RoleServer};
use server_chat::driver::{Delivery, Ending, EventStream};
use server_chat::identity::ReaderId;
use server_chat::refusal::Refusal;
use server_chat::render_text;
use server_chat::service::Service;
use server_chat::wire;
use server_storage::lock;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::follows::{By, Follow, Follows};
use super::inbox;
use super::listing::PUSHED;
use super::marks::Marks;

/// The destination of pushes.
#[derive(Debug)]
pub(super) enum Sink {
    /// The stream that a session's client opened.
    Stream(mpsc::Sender<ServerSseMessage>),
    /// A subscription to changes of resources.
    Subscription(SubscriptionSink),
    /// The only client at the other end of a pipe.
    Peer(Peer<RoleServer>),
}

/// A stream of pushes.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) service: Service,
    /// The address that opened it.
    pub(super) address: Address,
    pub(super) follows: Arc<Follows>,
    pub(super) sink: Sink,
    /// Its cursors.
    pub(super) marks: Mutex<Marks>,
    /// How long a push may wait for the client to read; then the stream ends.
    pub(super) stall: Duration,
    /// Cancelled at the start of a shutdown.
    pub(super) closing: CancellationToken,
}

/// Why a stream of pushes ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Its client is gone, or another stream replaced it.
    Gone,
    /// Its client read nothing for too long.
    Stalled,
    /// The server shuts down, and all events were delivered.
    Closed,
    /// The last inbox that it followed is unreadable.
    Unreadable {
        /// The inbox's URI.
        uri: String,
        /// The refusal.
        refusal: Refusal,
    },
}

/// Why an inbox is no longer followed.
enum Ended {
    Forgotten,
    Closing,
    Stalled,
    Unreadable(Refusal),
}

/// The tasks that read inboxes.
#[derive(Default)]
struct Reading {
    tasks: JoinSet<(ReaderId, Ended)>,
    /// Each reader id with the secret used.
    readers: Vec<(ReaderId, By, AbortHandle)>,
}

impl Listener {
    /// Pushes events until it ends.
    pub(super) async fn run(self: Arc<Self>, gone: &CancellationToken) -> Outcome {
        let closing = &self.closing;
        let mut changes = self.follows.changes();
        let mut reading = Reading::default();
        loop {
            if !closing.is_cancelled() {
                self.take_up(&mut reading);
            }
            let idle = reading.tasks.is_empty();
            tokio::select! {
                () = gone.cancelled() => return Outcome::Gone,
                () = self.sink.closed() => return Outcome::Gone,
                () = closing.cancelled(), if idle => return Outcome::Closed,
                // The sender belongs to this listener, so it exists.
                _ = changes.changed(), if !closing.is_cancelled() => {}
                () = closing.cancelled(), if !closing.is_cancelled() => {}
                Some(ended) = reading.tasks.join_next(), if !idle => match ended {
                    Ok((_, Ended::Stalled)) => return Outcome::Stalled,
                    // Of a cluster only its owner may have closed: the inbox is read at the next one.
                    Ok((reader, Ended::Closing)) => {
                        reading.readers.retain(|(known, ..)| *known != reader);
                    }
                    Ok((reader, Ended::Forgotten)) => self.follows.forget(&reader),
                    Ok((reader, Ended::Unreadable(refusal))) => {
                        tracing::debug!(code = refusal.code, "an inbox cannot be followed");
                        self.follows.forget(&reader);
                        if self.is_subscription() && self.follows.all().is_empty() {
                            return Outcome::Unreadable { uri: reader.inbox_uri(), refusal };
                        }
                    }
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => {
                        tracing::error!(%error, "a stream of pushes died");
                        return Outcome::Gone;
                    }
                },
            }
        }
    }

    const fn is_subscription(&self) -> bool {
        matches!(self.sink, Sink::Subscription(_))
    }

    /// Starts reading new inboxes, and stops reading those that are no longer followed, or are read
    /// by another secret now.
    fn take_up(self: &Arc<Self>, reading: &mut Reading) {
        let wanted = self.follows.all();
        reading.readers.retain(|(reader, by, task)| {
            let is_it = |follow: &Follow| follow.reader == *reader && follow.by() == Some(*by);
            let kept = wanted.iter().any(is_it);
            if !kept {
                task.abort();
            }
            kept
        });
        for follow in wanted {
            let (Some(by), reader) = (follow.by(), follow.reader.clone()) else {
                continue;
            };
            if reading.readers.iter().any(|(known, ..)| *known == reader) {
                continue;
            }
            let task = Arc::clone(self).read(follow);
            reading
                .readers
                .push((reader, by, reading.tasks.spawn(task)));
        }
    }

    async fn read(self: Arc<Self>, follow: Follow) -> (ReaderId, Ended) {
        let ended = match self.open(&follow).await {
            Ok(stream) => self.pump(stream, &follow.reader).await,
            Err(_) if self.closing.is_cancelled() => Ended::Closing,
            Err(refusal) => Ended::Unreadable(refusal),
        };
        (follow.reader, ended)
    }

    /// Opens a stream of the inbox: after the last event pushed, otherwise after the last event in
    /// answers. So no unseen event is skipped.
    async fn open(&self, follow: &Follow) -> Result<EventStream, Refusal> {
        loop {
            let opened = self.try_open(follow).await;
            match opened {
                Ok(stream) => return Ok(stream),
                Err(refusal) => {
                    let Some(ms) = refusal.retry_after_ms else {
                        return Err(refusal);
                    };
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                        () = self.closing.cancelled() => return Err(refusal),
                    }
                }
            }
        }
    }

    async fn try_open(&self, follow: &Follow) -> Result<EventStream, Refusal> {
        let (user, carried) = self.service.bookmark(&follow.reader).await?;
        let pushed = lock(&self.marks).of(user);
        match self.stream(follow, pushed.unwrap_or(carried)).await {
            // An id that this server never issued.
            Err(refusal) if refusal.code == "invalid_cursor" && pushed.is_some() => {
                lock(&self.marks).forget(user);
                self.stream(follow, carried).await
            }
            opened => opened,
        }
    }

    async fn stream(&self, follow: &Follow, after: Seq) -> Result<EventStream, Refusal> {
        let secrets = self.service.secrets();
        let reader = match (&follow.handle, follow.by()) {
            (Some(handle), Some(By::Handle)) => Reader::Handle(secrets.handle_hash(handle)),
            (_, Some(By::Handle | By::ReaderId) | None) => {
                Reader::ReaderId(secrets.reader_hash(&follow.reader))
            }
        };
        let opened = self.service.stream(reader, self.address, Some(after)).await;
        opened.map(|(stream, _)| stream)
    }

    async fn pump(&self, mut stream: EventStream, reader: &ReaderId) -> Ended {
        loop {
            match stream.next().await {
                Delivery::Page { user, page } => {
                    // No longer followed: this task is about to be aborted.
                    let Some(follow) = self.follows.of(reader) else {
                        return Ended::Forgotten;
                    };
                    if self.push(user, &page, &follow).await.is_err() {
                        return Ended::Stalled;
                    }
                }
                Delivery::Notice { .. } => {}
                Delivery::End(Ending::Forgotten) => return Ended::Forgotten,
                Delivery::End(Ending::Closing) => return Ended::Closing,
            }
        }
    }

    async fn push(&self, user: UserId, page: &Page, follow: &Follow) -> Result<(), Stuck> {
        for event in wire::events(page, user) {
            let (seq, kind) = (event.seq(), event.kind());
            let is_own = follow.handle.is_some() && self.follows.takes_events();
            if is_own && PUSHED.contains(&kind) {
                let pushed = inbox::pushed(kind.into(), Some(render_text::data(&event)));
                self.send(pushed, user, seq).await?;
            } else {
                lock(&self.marks).set(user, seq);
            }
        }
        if let Some(uri) = &follow.subscribed {
            self.send(inbox::grew(uri.clone()), user, page.cursor)
                .await?;
        }
        Ok(())
    }

    /// Sends a push, and waits until it is sent, so that pushes keep their order.
    async fn send(
        &self,
        notification: ServerNotification,
        user: UserId,
        seq: Seq,
    ) -> Result<(), Stuck> {
        let sent = async {
            match &self.sink {
                Sink::Stream(sender) => {
                    let place = sender.reserve().await.map_err(|_| Stuck)?;
                    let mut marks = lock(&self.marks);
                    marks.set(user, seq);
                    let message = JsonRpcMessage::notification(notification);
                    place.send(ServerSseMessage::new(marks.to_string(), message));
                    Ok(())
                }
                Sink::Subscription(sink) => sink.send(notification).await.map_err(|_| Stuck),
                Sink::Peer(peer) => peer
                    .send_notification(notification)
                    .await
                    .map_err(|_| Stuck),
            }
        };
        tokio::time::timeout(self.stall, sent)
            .await
            .unwrap_or(Err(Stuck))
    }
}

/// The client does not read.
struct Stuck;

impl Sink {
    /// Waits until the client is gone, if that can be noticed here.
    async fn closed(&self) {
        match self {
            Self::Stream(sender) => sender.closed().await,
            Self::Subscription(_) | Self::Peer(_) => std::future::pending().await,
        }
    }
}
