//! The sessions of the era that has them.
//!
//! The library's own sessions carry requests and their answers. What is different here: the
//! stream that a client opens is a [`Listener`]'s, and not the library's, whose queue would wedge
//! the whole session behind a slow reader and lose what its short memory has not; a request whose
//! connection closed is told so; and a session ends when nobody has used it for long, however
//! much goes on in its rooms, and never while its stream is open.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::request::Parts;
use chat_core::Address;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::fixtures::Fixtures;
use super::listener::{Listener, Sink};
use super::marks::Marks;
use super::session::{Busy, Connection, Session};
use super::{Caller, CallerOf, Options};
use crate::seat::Seat;
use crate::service::Service;

/// How many pushes lie between a listener and its connection.
const IN_FLIGHT: usize = 4;

/// When a client should come back whose stream broke.
const RETRY: Duration = Duration::from_secs(1);

/// All sessions.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    known: Mutex<BTreeMap<SessionId, Known>>,
    service: Service,
    caller: CallerOf,
    closing: CancellationToken,
    stall: Duration,
    max: usize,
    fixtures: Fixtures,
}

/// A session, who opened it, and from where it was last used.
#[derive(Clone)]
struct Known {
    session: Arc<Session>,
    /// Where the owner of the bearer token mints, if there was a token.
    owner: Option<Arc<Seat>>,
    address: Option<Address>,
}

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// There are as many as there may be.
    #[error("there are as many sessions as there may be; try again later")]
    Full,
    /// There is none of this id.
    #[error("there is no such session; initialize a new one")]
    Unknown,
    /// The library says.
    #[error(transparent)]
    Library(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub(super) fn new(service: Service, options: &Options) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = None;
        inner.session_config.sse_retry = None;
        Self {
            inner,
            known: Mutex::default(),
            service,
            caller: Arc::clone(&options.caller),
            closing: options.closing.clone(),
            stall: options.stall,
            max: options.max_sessions,
            fixtures: options.fixtures.clone(),
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SessionId, Known>> {
        // Nothing that holds the lock can panic half way.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are as many as there may be.
    pub(super) fn are_full(&self) -> bool {
        self.known().len() >= self.max
    }

    fn find(&self, id: &SessionId) -> Result<Known, SessionError> {
        self.known().get(id).cloned().ok_or(SessionError::Unknown)
    }

    /// Whether this session was opened with another bearer token than this request has.
    pub(super) fn is_anothers(&self, id: &str, request: &Parts) -> bool {
        let owner = match self.known().get(id) {
            Some(Known {
                owner,
                address: Some(_),
                ..
            }) => owner.clone(),
            // The library says what becomes of those that are not there, or not yet.
            Some(Known { address: None, .. }) | None => return false,
        };
        match (owner, (self.caller)(request).seat) {
            (Some(owner), Some(caller)) => !Arc::ptr_eq(&owner, &caller),
            (owner, caller) => owner.is_some() != caller.is_some(),
        }
    }

    /// The sessions that nobody has used for so long, and those whose token was revoked.
    fn over(&self, limit: Duration) -> Vec<SessionId> {
        let is_over = |one: &Known| {
            let revoked = one.owner.as_ref().is_some_and(|seat| !seat.is_open());
            revoked || one.session.idle() >= limit
        };
        let known = self.known();
        let over = known.iter().filter(|(_, one)| is_over(one));
        over.map(|(id, _)| Arc::clone(id)).collect()
    }

    /// Tells the handler which session a message came in.
    fn mark(
        &self,
        id: &SessionId,
        message: &mut ClientJsonRpcMessage,
    ) -> Result<Known, SessionError> {
        let mut known = self.find(id)?;
        if let JsonRpcMessage::Request(request) = &*message
            && let Some(parts) =
                rmcp::model::GetExtensions::extensions(&request.request).get::<Parts>()
        {
            let Caller { address, seat } = (self.caller)(parts);
            known.address = Some(address);
            if let Some(kept) = self.known().get_mut(id) {
                if kept.address.is_none() {
                    kept.owner = seat;
                }
                kept.address = Some(address);
            }
        }
        message.insert_extension(Arc::clone(&known.session));
        Ok(known)
    }

    /// The stream that a session's client opened, going on behind these marks.
    fn stream(&self, id: &SessionId, marks: Marks) -> Result<Watched, SessionError> {
        let Known {
            session, address, ..
        } = self.find(id)?;
        let address = address.ok_or(SessionError::Unknown)?;
        let (sender, receiver) = mpsc::channel(IN_FLIGHT);
        let first = ServerSseMessage::priming(marks.to_string(), RETRY);
        // There is room: nothing else was sent yet.
        let _ = sender.try_send(first);
        let gone = session.new_stream();
        let listener = Arc::new(Listener {
            service: self.service.clone(),
            address,
            follows: Arc::clone(&session.follows),
            sink: Sink::Stream(sender),
            marks: Mutex::new(marks),
            stall: self.stall,
            closing: self.closing.clone(),
        });
        let busy = session.enter();
        tokio::spawn(async move {
            let outcome = listener.run(&gone).await;
            tracing::debug!(?outcome, "a session's stream ended");
        });
        Ok(Watched {
            inner: Box::pin(ReceiverStream::new(receiver)),
            connection: None,
            _busy: busy,
        })
    }
}

/// How often sessions are looked at for those that are over.
const LOOK: Duration = Duration::from_secs(1);

/// Ends sessions that nobody has used for long, or whose token was revoked, until the server stops.
pub(super) fn expire(sessions: &Arc<Sessions>, options: &Options) {
    let sessions = Arc::downgrade(sessions);
    let (limit, closing) = (options.session_idle, options.closing.clone());
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval((limit / 4).clamp(Duration::from_millis(1), LOOK));
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = closing.cancelled() => return,
            }
            let Some(sessions) = sessions.upgrade() else {
                return;
            };
            for id in sessions.over(limit) {
                if let Err(error) = sessions.close_session(&id).await {
                    tracing::warn!(%error, "a session did not end");
                }
            }
        }
    });
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        if self.are_full() {
            return Err(SessionError::Full);
        }
        let (id, transport) = self.inner.create_session().await?;
        let known = Known {
            session: Session::at(Arc::new(Seat::with_id(&format!("session {id}")))),
            owner: None,
            address: None,
        };
        self.known().insert(Arc::clone(&id), known);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        self.mark(id, &mut message)?;
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.known().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        let known = self.known().remove(id);
        if let Some(known) = known {
            known.session.ended.cancel();
        }
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let busy = self.mark(id, &mut message)?.session.enter();
        let connection = CancellationToken::new();
        message.insert_extension(Connection(connection.clone()));
        let inner = self.inner.create_stream(id, message).await?;
        Ok(Watched {
            inner: Box::pin(inner),
            connection: Some(connection.drop_guard()),
            _busy: busy,
        })
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        let _busy = self.mark(id, &mut message)?.session.enter();
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let mut stream = self.stream(id, Marks::default())?;
        if let Fixtures::Present(_) = self.fixtures {
            // Only fixtures say anything there. Its ids would pass for the listener's.
            let said = self.inner.create_standalone_stream(id).await?;
            let said = said.map(|mut said| {
                said.event_id = None;
                said
            });
            stream.inner = Box::pin(stream.inner.merge(said));
        }
        Ok(stream)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        if let Ok(marks) = last_event_id.parse() {
            return self.stream(id, marks);
        }
        let busy = self.find(id)?.session.enter();
        let inner = self.inner.resume(id, last_event_id).await?;
        Ok(Watched {
            inner: Box::pin(inner),
            connection: None,
            _busy: busy,
        })
    }
}

type Messages = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// A stream that says when its connection closed before it came to its end.
struct Watched {
    inner: Messages,
    connection: Option<DropGuard>,
    _busy: Busy,
}

impl Stream for Watched {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.inner.as_mut().poll_next(context);
        if let Poll::Ready(None) = polled
            && let Some(connection) = self.connection.take()
        {
            connection.disarm();
        }
        polled
    }
}
