//! One stream of pushes from several inboxes, each fed from the participant's own node stream.
//!
//! A participant that calls in this session is present while such a stream is open (see
//! [`Follows::called`]); a client that knows only a reader id only reads. The next event of an
//! inbox is requested after the last one was sent. So a client that does not read costs one page,
//! and delays no other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat_core::{Address, Page, Reader, Seq, UserId};
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::SubscriptionSink;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::{ErrorData, Peer, RoleServer};
use server_chat::driver::{Delivery, Ending, EventStream};
use server_chat::identity::{Handle, ReaderId};
use server_chat::refusal::Refusal;
use server_chat::render_text;
use server_chat::service::Service;
use server_chat::wire;
use server_storage::lock;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::McpOptions;
use super::listing::{self, MAX_FOLLOWED, PUSHED};

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
pub(super) struct Listener {
    pub(super) service: Service,
    /// The address that opened it.
    pub(super) address: Address,
    pub(super) follows: Arc<Follows>,
    pub(super) sink: Sink,
    /// Its cursors.
    pub(super) marks: Mutex<Marks>,
    pub(super) options: Arc<McpOptions>,
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
    /// Pushes events until its client is gone or reads nothing for too long, another stream replaces it,
    /// or the server shuts down and all events were delivered.
    ///
    /// # Errors
    /// The last inbox of a subscription is unreadable.
    pub(super) async fn run(self: Arc<Self>, gone: &CancellationToken) -> Result<(), ErrorData> {
        let closing = &self.options.closing;
        let mut changes = self.follows.changed.subscribe();
        let mut reading = Reading::default();
        loop {
            if !closing.is_cancelled() {
                self.take_up(&mut reading);
            }
            let idle = reading.tasks.is_empty();
            tokio::select! {
                () = gone.cancelled() => return Ok(()),
                () = self.sink.closed() => return Ok(()),
                () = closing.cancelled(), if idle => return Ok(()),
                // The sender belongs to this listener, so it exists.
                _ = changes.changed(), if !closing.is_cancelled() => {}
                () = closing.cancelled(), if !closing.is_cancelled() => {}
                Some(ended) = reading.tasks.join_next(), if !idle => match ended {
                    Ok((_, Ended::Stalled)) => {
                        tracing::debug!("a client takes no pushes, and its stream ends");
                        return Ok(());
                    }
                    // Of a cluster only its owner may have closed: the inbox is read at the next one.
                    Ok((reader, Ended::Closing)) => {
                        reading.readers.retain(|(known, ..)| *known != reader);
                    }
                    Ok((reader, Ended::Forgotten)) => self.follows.forget(&reader),
                    Ok((reader, Ended::Unreadable(refusal))) => {
                        tracing::debug!(code = refusal.code, "an inbox cannot be followed");
                        self.follows.forget(&reader);
                        let is_subscription = matches!(self.sink, Sink::Subscription(_));
                        if is_subscription && self.follows.all().is_empty() {
                            return Err(listing::refused(&reader.inbox_uri(), &refusal));
                        }
                    }
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => {
                        tracing::error!(%error, "a stream of pushes died");
                        return Ok(());
                    }
                },
            }
        }
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
            Err(_) if self.options.closing.is_cancelled() => Ended::Closing,
            Err(refusal) => Ended::Unreadable(refusal),
        };
        (follow.reader, ended)
    }

    /// Opens a stream of the inbox: after the last event pushed, otherwise after the last event in
    /// answers. So no unseen event is skipped.
    async fn open(&self, follow: &Follow) -> Result<EventStream, Refusal> {
        loop {
            let opened = self.try_open(follow).await;
            let retry_after = opened.as_ref().err().and_then(|why| why.retry_after_ms);
            let Some(ms) = retry_after else {
                return opened;
            };
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                () = self.options.closing.cancelled() => return opened,
            }
        }
    }

    async fn try_open(&self, follow: &Follow) -> Result<EventStream, Refusal> {
        let (user, carried) = self.service.bookmark(&follow.reader).await?;
        let pushed = lock(&self.marks).0.get(&user).copied();
        match self.stream(follow, pushed.unwrap_or(carried)).await {
            // An id that this server never issued.
            Err(refusal) if refusal.code == "invalid_cursor" && pushed.is_some() => {
                lock(&self.marks).0.remove(&user);
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
                    if self.push(user, &page, &follow).await.is_none() {
                        return Ended::Stalled;
                    }
                }
                Delivery::Notice { .. } => {}
                Delivery::End(Ending::Forgotten) => return Ended::Forgotten,
                Delivery::End(Ending::Closing) => return Ended::Closing,
            }
        }
    }

    /// Pushes what is in a page. Returns nothing if the client does not read.
    async fn push(&self, user: UserId, page: &Page, follow: &Follow) -> Option<()> {
        for event in wire::events(page, user) {
            let (seq, kind) = (event.seq(), event.kind());
            let is_own = follow.handle.is_some() && self.follows.takes_events();
            if is_own && PUSHED.contains(&kind) {
                let pushed = listing::pushed(kind.into(), Some(render_text::data(&event)));
                self.send(pushed, user, seq).await?;
            } else {
                lock(&self.marks).0.insert(user, seq);
            }
        }
        if let Some(uri) = &follow.subscribed {
            self.send(listing::grew(uri.clone()), user, page.cursor)
                .await?;
        }
        Some(())
    }

    /// Sends a push, and waits until it is sent, so that pushes keep their order.
    async fn send(&self, push: ServerNotification, user: UserId, seq: Seq) -> Option<()> {
        let sent = async {
            match &self.sink {
                Sink::Stream(sender) => {
                    let place = sender.reserve().await.ok()?;
                    let mut marks = lock(&self.marks);
                    marks.0.insert(user, seq);
                    let message = JsonRpcMessage::notification(push);
                    place.send(ServerSseMessage::new(marks.to_string(), message));
                    Some(())
                }
                Sink::Subscription(sink) => sink.send(push).await.ok(),
                Sink::Peer(peer) => peer.send_notification(push).await.ok(),
            }
        };
        tokio::time::timeout(self.options.stall, sent).await.ok()?
    }
}

impl Sink {
    /// Waits until the client is gone, if that can be noticed here.
    async fn closed(&self) {
        match self {
            Self::Stream(sender) => sender.closed().await,
            Self::Subscription(_) | Self::Peer(_) => std::future::pending().await,
        }
    }
}

/// The prefix of the ids of a stream's events. The library's own ids are numbers.
const PREFIX: char = 'c';

/// The largest number of inboxes in an id.
const MAX_INBOXES: usize = 128;

/// A resume token: the last pushed event of each inbox. Written `c7.12_9.3`: event 12 of user 7,
/// and event 3 of user 9. Each event's id contains all cursors, so the last id is enough to resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(BTreeMap<UserId, Seq>);

impl Marks {
    /// Reads an id of a listener's stream.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut marks = Self::default();
        let list = text.strip_prefix(PREFIX)?;
        for entry in list.split('_').filter(|entry| !entry.is_empty()) {
            let (user, seq) = entry.split_once('.')?;
            marks
                .0
                .insert(UserId(user.parse().ok()?), Seq(seq.parse().ok()?));
        }
        (marks.0.len() <= MAX_INBOXES).then_some(marks)
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}")?;
        for (index, (user, seq)) in self.0.iter().enumerate() {
            let between = if index == 0 { "" } else { "_" };
            write!(f, "{between}{}.{}", user.0, seq.0)?;
        }
        Ok(())
    }
}

/// A followed inbox.
#[derive(Clone, Debug)]
pub(super) struct Follow {
    /// Its reader id.
    reader: ReaderId,
    /// The handle of its participant, if the participant calls in this session.
    handle: Option<Handle>,
    /// Whether the participant is present while the session's stream is open.
    is_present: bool,
    /// The address of a subscription to it.
    subscribed: Option<String>,
}

impl Follow {
    /// The secret by which the session's stream reads the inbox; none if it need not read it.
    const fn by(&self) -> Option<By> {
        match (self.is_present, &self.subscribed) {
            (true, _) => Some(By::Handle),
            (false, Some(_)) => Some(By::ReaderId),
            (false, None) => None,
        }
    }
}

/// The secret by which an inbox is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The participant's handle, which makes it present.
    Handle,
    /// The reader id, which only reads.
    ReaderId,
}

/// The inboxes of one session.
#[derive(Debug, Default)]
pub(super) struct Follows {
    list: Mutex<Vec<Follow>>,
    /// Whether the client declared that it takes events as notifications of their own.
    takes_events: AtomicBool,
    /// Notifies of changes of the list.
    changed: watch::Sender<()>,
}

impl Follows {
    /// Records that the client declared that it takes events.
    pub(super) fn take_events(&self) {
        self.takes_events.store(true, Ordering::Relaxed);
    }

    /// Whether events are pushed as notifications of their own.
    fn takes_events(&self) -> bool {
        self.takes_events.load(Ordering::Relaxed)
    }

    /// Records a call of the participant of this inbox in this session.
    ///
    /// Some clients open a session for each call. If the stream of such a session made its
    /// participant present, each call would be an arrival and a departure. So the stream does so
    /// from the second call on, unless the client takes events or subscribed to the inbox.
    ///
    /// Beyond the limit, an inbox is not followed, but can be read.
    pub(super) fn called(&self, reader: &ReaderId, handle: &Handle) {
        let takes_events = self.takes_events();
        let is_followed = self.change(reader, |follow| {
            follow.is_present |=
                follow.handle.is_some() || follow.subscribed.is_some() || takes_events;
            follow.handle = Some(handle.clone());
        });
        if !is_followed {
            tracing::debug!("a session has more participants than are pushed to");
        }
    }

    /// Adds a subscription to this inbox, unless too many are followed.
    pub(super) fn subscribe(&self, reader: &ReaderId, uri: &str) -> bool {
        self.change(reader, |follow| {
            follow.subscribed = Some(uri.into());
            follow.is_present |= follow.handle.is_some();
        })
    }

    /// Removes the subscription.
    pub(super) fn unsubscribe(&self, reader: &ReaderId) {
        lock(&self.list).retain_mut(|follow| {
            if follow.reader == *reader {
                follow.subscribed = None;
            }
            follow.subscribed.is_some() || follow.handle.is_some()
        });
        self.changed.send_replace(());
    }

    /// Removes an inbox that does not exist any more.
    fn forget(&self, reader: &ReaderId) {
        lock(&self.list).retain(|follow| follow.reader != *reader);
        self.changed.send_replace(());
    }

    /// The followed inbox, if it is followed.
    pub(super) fn of(&self, reader: &ReaderId) -> Option<Follow> {
        let list = lock(&self.list);
        list.iter().find(|follow| follow.reader == *reader).cloned()
    }

    /// All followed inboxes.
    fn all(&self) -> Vec<Follow> {
        lock(&self.list).clone()
    }

    /// Changes what is followed of an inbox. Returns whether it is followed.
    fn change(&self, reader: &ReaderId, change: impl FnOnce(&mut Follow)) -> bool {
        {
            let mut list = lock(&self.list);
            if let Some(follow) = list.iter_mut().find(|follow| follow.reader == *reader) {
                let before = follow.by();
                change(follow);
                if before != follow.by() {
                    self.changed.send_replace(());
                }
                return true;
            }
            if list.len() >= MAX_FOLLOWED {
                return false;
            }
            let mut follow = Follow {
                reader: reader.clone(),
                handle: None,
                is_present: false,
                subscribed: None,
            };
            change(&mut follow);
            list.push(follow);
        }
        self.changed.send_replace(());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back() {
        let none = Marks::default();
        assert_eq!(Marks::read(&none.to_string()), Some(none));
        let marks = Marks([(UserId(9), Seq(3)), (UserId(7), Seq(12))].into());
        assert_eq!(marks.to_string(), "c7.12_9.3");
        assert_eq!(Marks::read("c7.12_9.3"), Some(marks));
    }

    #[test]
    fn what_is_no_id_is_told() {
        for text in ["", "0", "3/1", "c7", "c7.x", "cx.1", "c7.1_9"] {
            assert_eq!(Marks::read(text), None, "{text}");
        }
        let many: Vec<_> = (0..200).map(|n| format!("{n}.1")).collect();
        assert_eq!(Marks::read(&format!("c{}", many.join("_"))), None);
    }

    fn reader(n: usize) -> ReaderId {
        ReaderId::given(&n.to_string())
    }

    #[test]
    fn a_participant_stays_followed_when_its_subscription_ends() {
        let follows = Follows::default();
        follows.subscribe(&reader(1), "uri");
        follows.called(&reader(1), &Handle::given("1"));
        follows.unsubscribe(&reader(1));
        let follow = follows.of(&reader(1)).unwrap();
        assert_eq!((follow.by(), follow.subscribed), (Some(By::Handle), None));
        follows.subscribe(&reader(2), "uri");
        follows.unsubscribe(&reader(2));
        let all = follows.all();
        assert_eq!((all.len(), &all[0].reader), (1, &reader(1)));
    }

    #[test]
    fn one_call_makes_nobody_present_and_the_second_does() {
        let follows = Follows::default();
        let by = || follows.of(&reader(1)).and_then(|follow| follow.by());
        follows.called(&reader(1), &Handle::given("1"));
        assert_eq!(by(), None);
        follows.called(&reader(1), &Handle::given("1"));
        assert_eq!(by(), Some(By::Handle));
    }

    #[test]
    fn a_client_that_asks_for_pushes_is_present_from_its_first_call() {
        let follows = Follows::default();
        follows.take_events();
        follows.called(&reader(1), &Handle::given("1"));
        let subscribes = Follows::default();
        subscribes.called(&reader(1), &Handle::given("1"));
        subscribes.subscribe(&reader(1), "uri");
        for follows in [follows, subscribes] {
            let by = follows.of(&reader(1)).and_then(|follow| follow.by());
            assert_eq!(by, Some(By::Handle));
        }
    }

    #[test]
    fn there_is_a_limit() {
        let follows = Follows::default();
        for n in 0..MAX_FOLLOWED {
            assert!(follows.subscribe(&reader(n), "uri"));
        }
        assert!(!follows.subscribe(&reader(999), "uri"));
        follows.called(&reader(999), &Handle::given("999"));
        assert_eq!(follows.all().len(), MAX_FOLLOWED);
    }
}
