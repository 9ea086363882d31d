//! Pushes to a client on stdio: the event streams of its inboxes at the server, which are opened
//! again when they end, and continue where they were.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionSink};
use server_chat::identity::{Handle, ReaderId};
use server_chat::render_text;
use server_chat::task;
use server_storage::lock;
use tokio_util::sync::CancellationToken;

use super::upstream::{self, Upstream};
use crate::mcp::listing::{self, MAX_FOLLOWED, PUSHED, takes_events};

/// The pause before a stream is opened again. It doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The place before the first event of an inbox.
pub(super) const BEGINNING: Option<&str> = Some("0");

/// The inboxes that a client follows.
#[derive(Clone)]
pub(super) struct Pushes {
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
    /// Each secret whose inbox is followed, with the token that ends its stream.
    streams: BTreeMap<Box<str>, CancellationToken>,
}

/// What a stream is for, and by which secret it reads the inbox.
#[derive(Clone, Debug)]
pub(super) enum FollowedInbox {
    /// The client calls as this participant, which is present while the stream is open. Its events go to
    /// a client that takes them.
    Own(Handle),
    /// The client subscribed to the inbox: it hears that it grew.
    Subscribed(ReaderId),
}

impl FollowedInbox {
    fn secret(&self) -> &str {
        match self {
            Self::Own(handle) => handle.expose(),
            Self::Subscribed(reader) => reader.expose(),
        }
    }
}

impl Pushes {
    pub(super) fn new(upstream: Upstream, gone: CancellationToken) -> Self {
        Self {
            upstream,
            gone,
            followed: Arc::default(),
        }
    }

    /// Sets the client after `initialize`.
    pub(super) fn attach(&self, peer: Peer<RoleServer>) {
        let client = peer.peer_info();
        let mut followed = lock(&self.followed);
        followed.takes_events = client.is_some_and(|client| takes_events(&client.capabilities));
        followed.peer = Some(peer);
    }

    /// Whether the client takes events.
    pub(super) fn takes_events(&self) -> bool {
        lock(&self.followed).takes_events
    }

    /// Follows the inbox of the client's participant, which is present while the stream is open.
    /// For a new registration all events are pushed, from the [`BEGINNING`]; otherwise only those from
    /// now on.
    pub(super) fn participates(&self, handle: &Handle, from: Option<&'static str>) {
        self.begin(FollowedInbox::Own(handle.clone()), from);
    }

    fn begin(&self, what: FollowedInbox, from: Option<&'static str>) {
        let mut followed = lock(&self.followed);
        let streams = &mut followed.streams;
        if streams.contains_key(what.secret()) || streams.len() >= 2 * MAX_FOLLOWED {
            return;
        }
        let ends = self.gone.child_token();
        streams.insert(what.secret().into(), ends.clone());
        let pushes = self.clone();
        task::spawn(async move {
            tokio::select! {
                () = pushes.follow(&what, from, None) => {}
                () = ends.cancelled() => {}
            }
            // Another may have begun since this one was ended.
            if !ends.is_cancelled() {
                lock(&pushes.followed).streams.remove(what.secret());
            }
        });
    }

    pub(super) fn subscribe(&self, reader: &ReaderId) {
        self.begin(FollowedInbox::Subscribed(reader.clone()), None);
    }

    pub(super) fn unsubscribe(&self, reader: &ReaderId) {
        if let Some(ends) = lock(&self.followed).streams.remove(reader.expose()) {
            ends.cancel();
        }
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
            let what = FollowedInbox::Subscribed(reader.clone());
            let (pushes, sink) = (self.clone(), sink.clone());
            streams.spawn(async move { pushes.follow(&what, None, Some(&sink)).await });
        }
        let all = async { while streams.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = cancelled.cancelled() => {}
            () = self.gone.cancelled() => {}
        }
    }

    /// Follows an inbox for a subscription of the newer protocol version, or else for the client of the
    /// older one: until it does not exist any more, or they are gone.
    async fn follow(
        &self,
        what: &FollowedInbox,
        from: Option<&str>,
        told: Option<&SubscriptionSink>,
    ) {
        let mut last = from.map(ToOwned::to_owned);
        let mut pause = FIRST_PAUSE;
        loop {
            match self.upstream.events(what, last.as_deref()).await {
                Ok(mut events) => {
                    while let Some(Ok(event)) = events.next().await {
                        pause = FIRST_PAUSE;
                        if self.tell(what, told, &event).await.is_none() {
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

    /// Tells of an event. Returns nothing if who should hear it is gone.
    async fn tell(
        &self,
        what: &FollowedInbox,
        told: Option<&SubscriptionSink>,
        event: &sse_stream::Sse,
    ) -> Option<()> {
        // Only events with a place make the inbox grow.
        let (Some(kind), Some(_)) = (event.event.as_deref(), event.id.as_deref()) else {
            return Some(());
        };
        let pushed = match what {
            FollowedInbox::Subscribed(reader) => listing::grew(reader.inbox_uri()),
            FollowedInbox::Own(_) if self.takes_events() && PUSHED.contains(&kind) => {
                let told = event.data.as_deref().map(str::as_bytes);
                let told = told.and_then(|told| upstream::parse(told).ok());
                listing::pushed(kind.to_owned(), told.map(|told| render_text::data(&told)))
            }
            FollowedInbox::Own(_) => return Some(()),
        };
        if let Some(sink) = told {
            return sink.send(pushed).await.ok();
        }
        let peer = lock(&self.followed).peer.clone();
        match peer {
            Some(peer) => peer.send_notification(pushed).await.ok(),
            None => Some(()),
        }
    }
}
