//! A session of the older protocol version: its implicit identity, its inboxes, and its use; its
//! stream of messages, and its place in the pool.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chat_core::Address;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionWorker,
};
use rmcp::transport::{Transport, WorkerTransport};
use server_chat::capacity::{Reservation, Source};
use server_chat::scope::CallerScope;
use server_chat::service::RequestOrigin;
use server_storage::lock;
use tokio::time::Instant;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::listener::Follows;

/// A session; on stdio the process is one.
#[derive(Debug)]
pub(super) struct Session {
    /// The library's session, which is another each time that this one is taken up again: so the
    /// end of what was before does not end it. On stdio nobody uses it.
    pub(super) inner: LocalSessionHandle,
    /// The origin of the request that opened it.
    pub(super) opener: RequestOrigin,
    /// The address and the source that last used it.
    pub(super) last: Mutex<(Address, Source)>,
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
    /// Cancelled when all its resources are freed.
    pub(super) over: CancellationToken,
    /// The revision of the protocol that both sides speak, from its `initialize` on.
    pub(super) revision: OnceLock<ProtocolVersion>,
}

impl Session {
    /// A new session that this caller opens, with its participants in this scope.
    pub(super) fn at(
        scope: Arc<CallerScope>,
        inner: LocalSessionHandle,
        opener: RequestOrigin,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner,
            last: Mutex::new((opener.address, opener.source)),
            opener,
            scope,
            follows: Arc::default(),
            ended: CancellationToken::new(),
            ready: CancellationToken::new(),
            stream: Mutex::default(),
            busy: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            over: CancellationToken::new(),
            revision: OnceLock::new(),
        })
    }

    /// Marks the session as in use until the guard is dropped.
    pub(super) fn enter(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }

    /// Ends the session, which is in no table any more. Its resources are freed soon.
    pub(super) async fn end(&self) {
        self.ended.cancel();
        // One whose tasks have ended already needs no end.
        let _ = self.inner.close().await;
    }

    /// The time since its last use.
    pub(super) fn idle(&self) -> Duration {
        if self.busy.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        lock(&self.idle_since).elapsed()
    }

    /// Whether a stream of its revision may end at any time, for its client to open it again behind
    /// the last id.
    pub(super) fn has_ending_streams(&self) -> bool {
        let revision = self.revision.get();
        revision.is_some_and(|revision| *revision >= ProtocolVersion::V_2025_11_25)
    }

    /// Registers a new stream of pushes. The previous stream, whose client may be gone, ends. The
    /// token is cancelled when this one must end.
    pub(super) fn new_stream(&self) -> CancellationToken {
        let token = self.ended.child_token();
        std::mem::replace(&mut *lock(&self.stream), token.clone()).cancel();
        token
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

/// The messages of a stream.
pub(super) type Messages = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// The messages of a stream that holds these until it is dropped.
pub(super) fn holding(
    messages: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    held: impl Send + Sync + 'static,
) -> Messages {
    Box::pin(messages.map(move |message| {
        // Mentioned, so that the closure owns it.
        let _ = &held;
        message
    }))
}

/// The library's own transport.
type Inner = WorkerTransport<LocalSessionWorker>;

/// The library's transport of a session, with the session's place in the pool.
///
/// The library drops the transport when the tasks of the session have ended, and not when its end
/// is requested. So the pool counts exactly the existing sessions. The place is dropped behind the
/// transport, and the guard, which says that the session is over, behind the place.
pub(super) struct PooledTransport {
    pub(super) inner: Inner,
    pub(super) _place: (Reservation, DropGuard),
}

impl Transport<RoleServer> for PooledTransport {
    type Error = <Inner as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::streamable_http_server::session::local::{
        SessionConfig, create_local_session,
    };

    use super::*;

    fn session() -> Arc<Session> {
        let (inner, _) = create_local_session("", SessionConfig::default());
        Session::at(Arc::default(), inner, RequestOrigin::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_idle_from_when_its_last_user_left() {
        let session = session();
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
        let session = session();
        let (first, second) = (session.new_stream(), session.new_stream());
        assert!(first.is_cancelled() && !second.is_cancelled());
        session.ended.cancel();
        assert!(second.is_cancelled());
    }
}
