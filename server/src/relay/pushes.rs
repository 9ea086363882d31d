//! Pushes to a client on stdio: the event streams of its inboxes at the server, which are opened
//! again when they end, and continue where they were.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CustomNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerNotification,
};
use rmcp::service::{Peer, SubscriptionSink};
use server_chat::identity::{Handle, ReaderId};
use server_chat::render_text;
use server_chat::task;
use tokio_util::sync::CancellationToken;

use super::upstream::{self, Upstream};
use crate::mcp::listing::{PUSHED, takes_events};

/// The largest number of inboxes that one client follows.
pub(super) const MAX_FOLLOWED: usize = 64;

/// The pause before a stream is opened again. It doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The inboxes that a client follows.
#[derive(Clone, Debug)]
pub struct Pushes {
    upstream: Upstream,
    gone: CancellationToken,
    followed: Arc<Mutex<Followed>>,
}

#[derive(Default)]
struct Followed {
    /// The client, after `initialize` of the older protocol version.
    peer: Option<Peer<RoleServer>>,
    /// Whether the client declared that it takes events as notifications of their own.
    takes_events: bool,
    /// Each inbox with the token that ends its stream.
    streams: BTreeMap<String, CancellationToken>,
    subscribed: BTreeSet<String>,
}

impl std::fmt::Debug for Followed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Followed")
            .field("streams", &self.streams.len())
            .finish_non_exhaustive()
    }
}

/// The destination of events.
enum Destination<'a> {
    /// A client of the older protocol version.
    Peer,
    /// A subscription of the newer one.
    Subscription(&'a SubscriptionSink),
}

/// The start of a followed inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Its first event.
    Beginning,
    /// Its end.
    Now,
}

/// The client or the subscription is gone.
struct ClientGone;

impl Pushes {
    pub(super) fn new(upstream: Upstream, gone: CancellationToken) -> Self {
        Self {
            upstream,
            gone,
            followed: Arc::default(),
        }
    }

    fn followed(&self) -> MutexGuard<'_, Followed> {
        // No code panics while it holds this lock.
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the client after `initialize`.
    pub(super) fn attach(&self, peer: Peer<RoleServer>) {
        let client = peer.peer_info();
        let mut followed = self.followed();
        followed.takes_events = client.is_some_and(|client| takes_events(&client.capabilities));
        followed.peer = Some(peer);
    }

    /// Whether the client takes events.
    pub(super) fn takes_events(&self) -> bool {
        self.followed().takes_events
    }

    /// Follows the inbox of the client's participant, which is present while the stream is open.
    /// For a new registration all events are pushed; otherwise only those from now on.
    pub(super) fn participates(&self, reader: &ReaderId, handle: &Handle, from: Start) {
        self.begin(reader, Some(handle), from);
    }

    fn begin(&self, reader: &ReaderId, handle: Option<&Handle>, from: Start) {
        let uri = reader.inbox_uri();
        let mut followed = self.followed();
        if followed.streams.contains_key(&uri) || followed.streams.len() >= MAX_FOLLOWED {
            return;
        }
        let ends = self.gone.child_token();
        followed.streams.insert(uri, ends.clone());
        let (pushes, reader, handle) = (self.clone(), reader.clone(), handle.cloned());
        task::spawn(async move {
            tokio::select! {
                () = pushes.follow((&reader, handle.as_ref()), from, &Destination::Peer) => {}
                () = ends.cancelled() => {}
            }
            pushes.followed().streams.remove(&reader.inbox_uri());
        });
    }

    pub(super) fn subscribe(&self, reader: &ReaderId) {
        self.followed().subscribed.insert(reader.inbox_uri());
        self.begin(reader, None, Start::Now);
    }

    pub(super) fn unsubscribe(&self, reader: &ReaderId) {
        self.followed().subscribed.remove(&reader.inbox_uri());
    }

    /// Sends events to a subscription until it is cancelled.
    pub(super) async fn listen(
        &self,
        readers: &[ReaderId],
        sink: &SubscriptionSink,
        cancelled: &CancellationToken,
    ) {
        let mut streams = tokio::task::JoinSet::new();
        for reader in readers {
            let (pushes, reader, sink) = (self.clone(), reader.clone(), sink.clone());
            streams.spawn(async move {
                pushes
                    .follow(
                        (&reader, None),
                        Start::Now,
                        &Destination::Subscription(&sink),
                    )
                    .await
            });
        }
        let all = async { while streams.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = cancelled.cancelled() => {}
            () = self.gone.cancelled() => {}
        }
    }

    /// Follows an inbox until it does not exist any more, or until the destination is gone.
    async fn follow(
        &self,
        (reader, handle): (&ReaderId, Option<&Handle>),
        from: Start,
        told: &Destination<'_>,
    ) {
        let mut last = match from {
            Start::Beginning => Some("0".to_owned()),
            Start::Now => None,
        };
        let mut pause = FIRST_PAUSE;
        loop {
            match self
                .upstream
                .events((reader, handle), last.as_deref())
                .await
            {
                Ok(mut events) => {
                    while let Some(Ok(event)) = upstream::next(&mut events).await {
                        pause = FIRST_PAUSE;
                        if self.tell(reader, told, &event).await.is_err() {
                            return;
                        }
                        last = event.id.or(last);
                    }
                }
                // The participant is unknown, or the cursor is from another server.
                Err(error) if error.is_final() => return,
                Err(error) => tracing::debug!(%error, "an event stream did not open"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn tell(
        &self,
        reader: &ReaderId,
        told: &Destination<'_>,
        event: &sse_stream::Sse,
    ) -> Result<(), ClientGone> {
        // Only events with a place make the inbox grow.
        let (Some(kind), Some(_)) = (event.event.as_deref(), event.id.as_deref()) else {
            return Ok(());
        };
        let uri = reader.inbox_uri();
        match told {
            Destination::Subscription(sink) => sink.send(grew(uri)).await.map_err(|_| ClientGone),
            Destination::Peer => {
                let (peer, takes_events, subscribed) = {
                    let followed = self.followed();
                    let subscribed = followed.subscribed.contains(&uri);
                    (followed.peer.clone(), followed.takes_events, subscribed)
                };
                let Some(peer) = peer else {
                    return Ok(());
                };
                if takes_events && PUSHED.contains(&kind) {
                    let told = event.data.as_deref().map(str::as_bytes);
                    let told = told.and_then(|told| upstream::parse(told).ok());
                    let params = told.map(|told| render_text::data(&told));
                    let pushed = CustomNotification::new(kind.to_owned(), params);
                    let pushed = ServerNotification::CustomNotification(pushed);
                    peer.send_notification(pushed)
                        .await
                        .map_err(|_| ClientGone)?;
                }
                if subscribed {
                    peer.send_notification(grew(uri))
                        .await
                        .map_err(|_| ClientGone)?;
                }
                Ok(())
            }
        }
    }
}

fn grew(uri: String) -> ServerNotification {
    let grew = ResourceUpdatedNotificationParam::new(uri);
    ServerNotification::ResourceUpdatedNotification(ResourceUpdatedNotification::new(grew))
}
