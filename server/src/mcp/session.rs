//! A session of the older protocol version: its implicit identity, its inboxes, and its use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use server_chat::capacity::Reservation;
use server_chat::scope::CallerScope;
use server_storage::lock;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::follows::Follows;

/// A session; on stdio the process is one.
#[derive(Debug)]
pub(super) struct Session {
    /// The scope of participants that may omit their handles.
    pub(super) scope: Arc<CallerScope>,
    /// The inboxes that its stream carries.
    pub(super) follows: Arc<Follows>,
    /// Cancelled when the session ends.
    pub(super) ended: CancellationToken,
    /// Cancelled when its handshake is over, also one that the library repeats.
    pub(super) ready: CancellationToken,
    /// Its stream of pushes: cancelled when another stream replaces it.
    stream: Mutex<CancellationToken>,
    busy: AtomicUsize,
    idle_since: Mutex<Instant>,
    /// The opening that takes its place in the pool after its end.
    heir: Mutex<Option<oneshot::Sender<Reservation>>>,
    /// Cancelled when all its resources are freed.
    over: CancellationToken,
    /// The revision of the protocol that both sides speak.
    revision: OnceLock<ProtocolVersion>,
}

impl Session {
    /// A new session, with its participants in this scope.
    pub(super) fn at(scope: Arc<CallerScope>) -> Arc<Self> {
        Arc::new(Self {
            scope,
            follows: Arc::default(),
            ended: CancellationToken::new(),
            ready: CancellationToken::new(),
            stream: Mutex::default(),
            busy: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            heir: Mutex::default(),
            over: CancellationToken::new(),
            revision: OnceLock::new(),
        })
    }

    /// Stores the revision of its `initialize`.
    pub(super) fn agree_on(&self, revision: ProtocolVersion) {
        let _ = self.revision.set(revision);
    }

    /// Whether its stream begins with an event that has an id and empty data. Clients of older
    /// revisions parse the data of each event as JSON, and fail.
    pub(super) fn is_primed(&self) -> bool {
        let revision = self.revision.get();
        revision.is_some_and(|revision| *revision >= ProtocolVersion::V_2025_11_25)
    }

    /// Whether one of its requests may be several messages.
    pub(super) fn takes_batches(&self) -> bool {
        self.revision.get() == Some(&ProtocolVersion::V_2025_03_26)
    }

    /// Waits until all its resources are freed.
    pub(super) async fn over(&self) {
        self.over.cancelled().await;
    }

    /// Whether all its resources are freed.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Names the caller as the heir: the receiver yields the session's place after the session's
    /// last resource is freed.
    pub(super) fn inherit(&self) -> oneshot::Receiver<Reservation> {
        let (heir, place) = oneshot::channel();
        *lock(&self.heir) = Some(heir);
        place
    }

    /// Marks the session as in use until the guard is dropped.
    pub(super) fn enter(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }

    /// The time since its last use.
    pub(super) fn idle(&self) -> Duration {
        if self.busy.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        lock(&self.idle_since).elapsed()
    }

    /// Registers a new stream of pushes. The previous stream, whose client may be gone, ends. The
    /// token is cancelled when this one must end.
    pub(super) fn new_stream(&self) -> CancellationToken {
        let token = self.ended.child_token();
        std::mem::replace(&mut *lock(&self.stream), token.clone()).cancel();
        token
    }
}

/// A session's place in the pool. On drop it goes to the session's heir, or back to the pool.
#[derive(Debug)]
pub(super) struct Place {
    held: Option<Reservation>,
    session: Arc<Session>,
}

impl Place {
    /// The place of this session.
    pub(super) fn of(session: &Arc<Session>, held: Reservation) -> Self {
        Self {
            held: Some(held),
            session: Arc::clone(session),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let heir = lock(&self.session.heir).take();
        if let (Some(heir), Some(held)) = (heir, self.held.take()) {
            // If the heir no longer waits, the place returns to the pool.
            let _ = heir.send(held);
        }
        drop(self.held.take());
        self.session.over.cancel();
    }
}

/// A session in use.
#[derive(Debug)]
pub(super) struct Busy(Arc<Session>);

impl Drop for Busy {
    fn drop(&mut self) {
        *lock(&self.0.idle_since) = Instant::now();
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The connection of a request. Cancelled if it closed before the answer.
#[derive(Clone, Debug)]
pub(super) struct Connection(pub(super) CancellationToken);

#[cfg(test)]
mod tests {
    use super::*;
    use server_chat::capacity::{Pool, Share, Source};

    #[tokio::test(start_paused = true)]
    async fn a_session_is_idle_from_when_its_last_user_left() {
        let session = Session::at(Arc::default());
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(session.idle(), Duration::from_secs(5));
        let (a, b) = (session.enter(), session.enter());
        drop(a);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(session.idle(), Duration::ZERO);
        drop(b);
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(session.idle(), Duration::from_secs(7));
    }

    #[test]
    fn a_new_stream_takes_the_place_of_the_old_one() {
        let session = Session::at(Arc::default());
        let (first, second) = (session.new_stream(), session.new_stream());
        assert!(first.is_cancelled() && !second.is_cancelled());
        session.ended.cancel();
        assert!(second.is_cancelled());
    }

    #[tokio::test]
    async fn a_place_goes_to_the_heir_and_else_back() {
        let pool = Pool::new(("sessions", "sessions of MCP"), Share { all: 2, each: 2 });
        let take = || {
            let session = Session::at(Arc::default());
            let place = Place::of(&session, pool.take(Source(1), 1).unwrap());
            (session, place)
        };
        let (_, place) = take();
        drop(place);
        assert_eq!(pool.held(), 0);
        let (session, place) = take();
        let mut heir = session.inherit();
        assert!(heir.try_recv().is_err(), "it is not over yet");
        drop(place);
        let inherited = heir.await.unwrap();
        assert_eq!((inherited.amount, pool.held()), (1, 1));
        let (session, place) = take();
        drop(session.inherit());
        drop((place, inherited));
        assert_eq!(pool.held(), 0);
    }
}
