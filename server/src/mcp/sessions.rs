//! The sessions of the older protocol version.
//!
//! The library's sessions carry requests and their answers. This module differs in three points. A
//! client's stream is that of a [`Listener`], because the library's queue would block the whole
//! session behind a slow client and lose events. A request is cancelled when its connection closes.
//! And a session ends after a long time without use, whatever happens in its rooms, but never while
//! its stream is open.
//!
//! A source has a share of the sessions. With its share in use, its own longest idle session ends;
//! with all sessions in use, that of the source that has most. The new session begins when the old
//! one has released everything, so that a fast sequence of openings never exceeds the limit. Half
//! of the processors at most open sessions at a time, so that other calls go on.
//!
//! A session that this process does not have is taken up again by one request, while others with its
//! id wait until its handshake is over. So ids are random, and signed with the server's secret: an id is
//! valid after a restart, at another member of a cluster, or after the session gave way. Nothing of a
//! session is stored. An id is `p` or `e`, a random part, and the signature. `e` says that the client
//! takes events. The signature is also of the token's owner, whose other tokens are valid for the
//! session, too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::http::request::Parts;
use axum::response::Response;
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, Implementation,
    InitializeRequestParams, JsonObject, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    self, EventId, SessionConfig, create_local_session,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionState, SessionStore,
    SessionStoreError,
};
use serde::Deserialize as _;
use serde_json::Value;
use server_chat::capacity::{Full, MAX_WAIT, OPENING, Reservation, Source, Turns};
use server_chat::identity::Secrets;
use server_chat::refusal::Refusal;
use server_chat::scope::CallerScope;
use server_chat::service::{RequestOrigin, Service};
use server_chat::task;
use server_storage::lock;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task_local;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;

use super::listener::{Listener, Marks, Sink};
use super::listing::EVENTS;
use super::session::{Connection, Messages, PooledTransport, Session, holding};
use super::{McpOptions, listing};
use crate::guard::caller;

/// The number of pushes between a listener and its connection.
const IN_FLIGHT: usize = 4;

/// The reconnection time of clients.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// All sessions of a realm.
pub(super) struct Sessions {
    known: Mutex<BTreeMap<SessionId, Arc<Session>>>,
    /// The sessions that their clients ended, the last ones at the end. They are not taken up again.
    ended: Mutex<VecDeque<SessionId>>,
    taking_up: Turns<SessionId>,
    pub(super) service: Service,
    pub(super) options: Arc<McpOptions>,
}

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// The pool is used up, or memory is short.
    #[error("no session can be opened; try again later")]
    Full,
    /// The machine has no randomness.
    #[error("no id can be drawn: {0}")]
    Random(#[from] getrandom::Error),
    /// No session has this id.
    #[error("there is no such session; initialize a new one")]
    Unknown,
    /// An error of the library.
    #[error("Session error: {0}")]
    Library(#[from] local::SessionError),
}

/// The sessions of all realms of a process: their places are shared, and so are the processors that
/// open them.
pub struct SessionTables {
    tables: Mutex<Vec<Weak<Sessions>>>,
    /// The permits to open a session.
    openings: Arc<Semaphore>,
}

impl Default for SessionTables {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            tables: Mutex::default(),
            // Half of the processors are left to others.
            openings: Arc::new(Semaphore::new((processors / 2).max(1))),
        }
    }
}

impl SessionTables {
    /// Removes the longest idle session of this source from its table. Sessions in use are passed over.
    fn take_idlest(&self, source: Source) -> Option<Arc<Session>> {
        // Another call does not find the same one meanwhile.
        let tables = lock(&self.tables);
        let tables = tables.iter().filter_map(Weak::upgrade);
        let idle = tables.filter_map(|table| {
            let (idle, id) = table.idlest(source)?;
            Some((idle, id, table))
        });
        let (_, id, table) = idle.max_by_key(|(idle, ..)| *idle)?;
        lock(&table.known).remove(&id)
    }
}

/// What comes of the use of a session.
type Known<T> = Result<T, SessionError>;

impl Sessions {
    /// The sessions of a realm, none yet. A task ends those that expire.
    pub(super) fn start(service: Service, options: &Arc<McpOptions>) -> Arc<Self> {
        let sessions = Arc::new(Self {
            known: Mutex::default(),
            ended: Mutex::default(),
            taking_up: Turns::default(),
            service,
            options: Arc::clone(options),
        });
        let weak = Arc::downgrade(&sessions);
        lock(&options.sessions.tables).push(Weak::clone(&weak));
        let (limit, closing) = (options.session_idle, options.closing.clone());
        task::keep("sessions", move || {
            expire_until(Weak::clone(&weak), limit, closing.clone())
        });
        sessions
    }

    /// Whether the revision of this session has batches: `version`, if it is taken up again.
    pub(super) fn takes_batches(&self, id: &str, version: &ProtocolVersion) -> bool {
        let known = lock(&self.known);
        let agreed = known
            .get(id)
            .map_or(Some(version), |one| one.revision.get());
        agreed == Some(&ProtocolVersion::V_2025_03_26)
    }

    /// A place for a session of this source: a free one, or that of the longest idle session after
    /// its end. That is a session of its own, or, if the pool is used up, of the source with the
    /// most.
    async fn place(&self, source: Source) -> Result<Reservation, Refusal> {
        let capacity = self.service.capacity();
        capacity.memory.check()?;
        let mut patience = MAX_WAIT;
        capacity.large.spend(source, OPENING, &mut patience).await?;
        let until = Instant::now() + patience;
        loop {
            let full = match capacity.sessions.take(source, 1) {
                Ok(place) => return Ok(place),
                Err(full) => full,
            };
            // The source whose session ends.
            let whose = match full {
                Full::Source { .. } => source,
                Full::All { .. } => capacity.sessions.more_than(source).unwrap_or(source),
            };
            let Some(session) = self.options.sessions.take_idlest(whose) else {
                return Err(full.into());
            };
            session.end().await;
            // Another opening may take the place, which then needs no other session to end.
            if timeout_at(until, session.over.cancelled()).await.is_err() {
                return Err(full.into());
            }
        }
    }

    /// The longest idle session of this source, with that time. Sessions in use are passed over.
    fn idlest(&self, source: Source) -> Option<(Duration, SessionId)> {
        let known = lock(&self.known);
        let of_source = known.iter();
        let of_source = of_source.filter(|(_, one)| one.opener.source == source);
        let idle = of_source.map(|(id, one)| (one.idle(), id));
        let idlest = idle.filter(|(idle, _)| !idle.is_zero());
        let (idle, id) = idlest.max_by_key(|(idle, _)| *idle)?;
        Some((idle, Arc::clone(id)))
    }

    /// Ends a session in the table.
    async fn end_known(&self, id: &SessionId) -> Option<Arc<Session>> {
        let session = lock(&self.known).remove(id)?;
        session.end().await;
        Some(session)
    }

    /// Opens a session under this id.
    async fn begin(&self, id: &SessionId) -> Known<(PooledTransport, Arc<Session>)> {
        let opening = Opening::current();
        let caller = opening.caller.clone();
        let place = opening.granted(self.place(caller.source).await)?;
        // Until it is answered. The semaphore is never closed.
        let openings = Arc::clone(&self.options.sessions.openings);
        let turn = openings.acquire_owned().await;
        *lock(&opening.turn) = turn.ok();
        let mut config = SessionConfig::default();
        config.keep_alive = None;
        config.sse_retry = None;
        // The library only logs its id.
        let (inner, worker) = create_local_session("", config);
        let scope = Arc::new(CallerScope::with_id(&format!("session {id}")));
        let session = Session::at(scope, inner, caller);
        let transport = PooledTransport {
            inner: WorkerTransport::spawn(worker),
            _place: (place, session.over.clone().drop_guard()),
        };
        lock(&self.known).insert(Arc::clone(id), Arc::clone(&session));
        Ok((transport, session))
    }

    pub(super) fn find(&self, id: &str) -> Known<Arc<Session>> {
        let session = lock(&self.known).get(id).cloned();
        session.ok_or(SessionError::Unknown)
    }

    /// Whether this session was opened with another bearer token than this request has.
    pub(super) fn is_anothers(&self, id: &str, request: &Parts) -> bool {
        // The library answers requests for unknown sessions.
        let Ok(session) = self.find(id) else {
            return false;
        };
        let owner = |origin: &RequestOrigin| origin.token.as_ref().map(|scope| scope.id());
        owner(&session.opener) != owner(&caller(request))
    }

    /// The sessions that were unused for this long, and those whose token was revoked.
    fn over(&self, limit: Duration) -> Vec<SessionId> {
        let is_over = |one: &Session| {
            let owner = one.opener.token.as_ref();
            let revoked = owner.is_some_and(|scope| !scope.is_open());
            revoked || one.idle() >= limit
        };
        let known = lock(&self.known);
        let over = known.iter().filter(|(_, one)| is_over(one));
        over.map(|(id, _)| Arc::clone(id)).collect()
    }

    /// Adds the session of a message for the handler.
    fn mark(&self, id: &SessionId, message: &mut ClientJsonRpcMessage) -> Known<Arc<Session>> {
        let session = self.find(id)?;
        if let JsonRpcMessage::Request(request) = &*message
            && let Some(parts) =
                rmcp::model::GetExtensions::extensions(&request.request).get::<Parts>()
        {
            let caller = caller(parts);
            *lock(&session.last) = (caller.address, caller.source);
        }
        message.insert_extension(Arc::clone(&session));
        Ok(session)
    }

    /// The stream of a session's client, which continues after these cursors.
    fn stream(&self, id: &SessionId, marks: Marks) -> Known<Messages> {
        let session = self.find(id)?;
        let (address, source) = *lock(&session.last);
        let held = Opening::current().granted(self.service.place_for_stream(source))?;
        let (sender, receiver) = mpsc::channel(IN_FLIGHT);
        // The first event has an id and empty data. Clients of older revisions parse the data of
        // each event as JSON, and fail at it.
        if session.has_ending_streams() {
            let first = ServerSseMessage::priming(marks.to_string(), RETRY);
            // The channel is empty, so there is space.
            let _ = sender.try_send(first);
        }
        let gone = session.new_stream();
        let listener = Arc::new(Listener {
            service: self.service.clone(),
            address,
            follows: Arc::clone(&session.follows),
            sink: Sink::Stream(sender),
            marks: Mutex::new(marks),
            options: Arc::clone(&self.options),
        });
        let busy = session.enter();
        task::spawn(async move {
            let _ = listener.run(&gone).await;
            tracing::debug!("a session's stream ended");
        });
        Ok(holding(ReceiverStream::new(receiver), (busy, held)))
    }

    /// Waits for the handshake of a session: the library passes other messages on at once, and the
    /// first of a session has to be `initialize`.
    async fn is_ready(&self, id: &SessionId, session: &Session) -> bool {
        tokio::select! {
            biased;
            () = session.ready.cancelled() => true,
            () = session.ended.cancelled() => false,
            // The client of the request that took it up is gone.
            () = tokio::time::sleep(MAX_WAIT) => {
                self.end_known(id).await;
                false
            }
        }
    }

    /// Finds the participants of a session that is taken up again, and follows their inboxes, as if
    /// the client had subscribed to them: whether it had is not known, and a hint too many does no
    /// harm.
    async fn follow_again(&self, session: &Session) {
        let mut origin = session.opener.clone();
        origin.scope = Some(Arc::clone(&session.scope));
        self.service.take_up(&session.scope, origin.address).await;
        let mut handles = session.scope.handles();
        if handles.is_empty() {
            handles.extend(self.service.only(&origin).await.ok().flatten());
        }
        for handle in handles {
            let reader = self.service.secrets().reader_of(&handle);
            session.follows.called(&reader, &handle);
            // No more participants are known than can be followed.
            session.follows.subscribe(&reader, &reader.inbox_uri());
        }
    }
}

/// How long the answer to `DELETE` waits for the session's end.
const ENDING: Duration = Duration::from_secs(1);

/// The time between two checks for expired sessions.
const LOOK: Duration = Duration::from_secs(1);

/// Ends sessions that are idle for too long, or whose token was revoked, until the server stops.
async fn expire_until(sessions: Weak<Sessions>, limit: Duration, closing: CancellationToken) {
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
            sessions.end_known(&id).await;
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = PooledTransport;

    async fn create_session(&self) -> Known<(SessionId, Self::Transport)> {
        let id = self.draw_id(&Opening::current())?;
        let (transport, session) = self.begin(&id).await?;
        // No other request knows its id.
        session.ready.cancel();
        Ok((id, transport))
    }

    async fn restore_session(&self, id: SessionId) -> Known<RestoreOutcome<Self::Transport>> {
        let (transport, session) = self.begin(&id).await?;
        self.follow_again(&session).await;
        Ok(RestoreOutcome::Restored(transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Known<ServerJsonRpcMessage> {
        let session = self.mark(id, &mut message)?;
        if let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::InitializeRequest(hello) = &request.request
            && listing::takes_events(&hello.params.capabilities)
        {
            session.follows.take_events();
        }
        let answer = session.inner.initialize(message).await?;
        if let JsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            let _ = session.revision.set(agreed.protocol_version.clone());
        }
        Ok(answer)
    }

    /// If there is no such session, and the id is valid, this request has the turn to take it up.
    async fn has_session(&self, id: &SessionId) -> Known<bool> {
        let opening = Opening::current();
        loop {
            if let Ok(session) = self.find(id) {
                if self.is_ready(id, &session).await {
                    return Ok(true);
                }
                continue;
            }
            if !self.is_valid(id, &opening) {
                return Ok(false);
            }
            let turn = self.taking_up.take(Arc::clone(id)).await;
            if self.find(id).is_err() {
                *lock(&opening.taking_up) = Some(turn);
                return Ok(false);
            }
        }
    }

    /// The answer is sent when the session's place is free, so that the client may open another at
    /// once.
    async fn close_session(&self, id: &SessionId) -> Known<()> {
        // The library also calls this after the last task of a session, of which the client may
        // have taken it up again.
        let is_over = |one: Arc<Session>| Opening::is_in_request() || one.over.is_cancelled();
        if self.find(id).is_ok_and(is_over)
            && let Some(session) = self.end_known(id).await
        {
            // A session that takes longer to end does not delay the answer further.
            let _ = timeout(ENDING, session.over.cancelled()).await;
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.mark(id, &mut message)?;
        let busy = session.enter();
        let connection = CancellationToken::new();
        message.insert_extension(Connection(connection.clone()));
        let answers = session.inner.establish_request_wise_channel().await?;
        let request = answers.http_request_id;
        session.inner.push_message(message, request).await?;
        // Dropped before the end of the stream, the guard cancels.
        let end = tokio_stream::once(connection.drop_guard()).filter_map(|guard| {
            guard.disarm();
            None
        });
        // Some clients of older revisions open a stream again when it has ended with an id, even that
        // of an answer, and without an id the next time: as one more stream of pushes, which ends
        // the one before, which they open again.
        let has_ids = session.has_ending_streams();
        let answers = ReceiverStream::new(answers.inner).map(move |mut said| {
            said.event_id = said.event_id.filter(|_| has_ids);
            said
        });
        Ok(holding(answers.chain(end), busy))
    }

    async fn accept_message(&self, id: &SessionId, mut message: ClientJsonRpcMessage) -> Known<()> {
        let session = self.mark(id, &mut message)?;
        let _busy = session.enter();
        session.inner.push_message(message, None).await?;
        if !session.ready.is_cancelled() {
            session.ready.cancel();
            lock(&Opening::current().taking_up).take();
        }
        Ok(())
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let pushes = self.stream(id, Marks::default())?;
        if !self.options.with_requests {
            return Ok(pushes);
        }
        let session = self.find(id)?;
        let said = session.inner.establish_common_channel().await?;
        let said = ReceiverStream::new(said.inner).map(|mut said| {
            // Their ids would look like the listener's.
            said.event_id = None;
            said
        });
        Ok(Box::pin(pushes.merge(said)))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        // The library's ids of the answer to a request, whose stream broke off, have a slash. Any
        // other id is none of this server's, and the stream begins as one without an id.
        if !last_event_id.contains('/') {
            return self.stream(id, Marks::read(&last_event_id).unwrap_or_default());
        }
        let session = self.find(id)?;
        let busy = session.enter();
        let after = last_event_id.parse::<EventId>();
        let after = after.map_err(local::SessionError::from)?;
        let rest = session.inner.resume(after).await?;
        Ok(holding(ReceiverStream::new(rest.inner), busy))
    }
}

/// The most ended sessions whose ids are known as such.
const MAX_ENDED: usize = 4_096;

/// The first characters of ids.
const TAKES_EVENTS: char = 'e';
const TAKES_NONE: char = 'p';

/// The length of the first character and the random part.
const UNSIGNED: usize = 1 + 22;

// The ids of sessions.

impl Sessions {
    /// An id for the session that this request opens.
    fn draw_id(&self, opening: &Opening) -> Result<SessionId, getrandom::Error> {
        let kind = match opening.takes_events {
            true => TAKES_EVENTS,
            false => TAKES_NONE,
        };
        let unsigned = format!("{kind}{}", Secrets::random_text()?);
        Ok(self.signed(&unsigned, opening).into())
    }

    fn signed(&self, unsigned: &str, opening: &Opening) -> String {
        let owner = opening.caller.token.as_ref().and_then(|scope| scope.id());
        let owner = owner.as_deref().unwrap_or_default();
        let signature = self.service.secrets().session_signature(unsigned, owner);
        format!("{unsigned}{signature}")
    }

    /// Whether this is the id of a session of the caller, which its client did not end.
    pub(super) fn is_valid(&self, id: &str, opening: &Opening) -> bool {
        let owner = opening.caller.token.as_ref();
        if owner.is_some_and(|owner| !owner.is_open()) {
            return false;
        }
        let unsigned = id.get(..UNSIGNED);
        // Who guesses an id needs as many attempts as for a handle, so the time may tell.
        unsigned.is_some_and(|unsigned| self.signed(unsigned, opening) == id)
            && !lock(&self.ended).iter().any(|ended| **ended == *id)
    }
}

#[async_trait::async_trait]
impl SessionStore for Sessions {
    /// The state of a session that this process does not know.
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let opening = Opening::current();
        if !self.is_valid(id, &opening) {
            return Ok(None);
        }
        let mut capabilities = ClientCapabilities::default();
        if id.starts_with(TAKES_EVENTS) {
            capabilities.experimental = Some([(EVENTS.to_owned(), JsonObject::new())].into());
        }
        let client = Implementation::new("taken up again", "");
        let hello = InitializeRequestParams::new(capabilities, client);
        let hello = hello.with_protocol_version(opening.version.clone());
        Ok(Some(SessionState::new(hello)))
    }

    async fn store(&self, _: &str, _: &SessionState) -> Result<(), SessionStoreError> {
        Ok(())
    }

    /// Records that its client ended a session.
    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        if self.is_valid(id, &Opening::current()) {
            let mut ended = lock(&self.ended);
            if ended.len() >= MAX_ENDED {
                ended.pop_front();
            }
            ended.push_back(id.into());
        }
        Ok(())
    }
}

// The library opens sessions, and takes them up again, without their caller, and has one error for all
// failures. So both are passed beside it, in the task that serves the request.

task_local! {
    static CURRENT: Arc<Opening>;
}

/// A request that may open a session: its caller, what it holds meanwhile, and why it was refused.
#[derive(Debug, Default)]
pub(super) struct Opening {
    pub(super) caller: RequestOrigin,
    /// Whether the client declares that it takes events.
    pub(super) takes_events: bool,
    /// The protocol version in the header, for a session that is taken up again.
    pub(super) version: ProtocolVersion,
    /// The permit to open a session, until the request is answered.
    pub(super) turn: Mutex<Option<OwnedSemaphorePermit>>,
    /// Why no session was opened.
    pub(super) refused: Mutex<Option<Refusal>>,
    /// The turn to take a session up again, until that is done, or the request is over.
    pub(super) taking_up: Mutex<Option<OwnedMutexGuard<()>>>,
}

impl Opening {
    /// Creates the opening of a request.
    pub(super) fn of(head: &Parts, body: &[u8]) -> Arc<Self> {
        let version = head.headers.get("mcp-protocol-version");
        let version = version.and_then(|version| version.to_str().ok());
        // As the library reads requests without the header.
        let version = version.map_or(Ok(ProtocolVersion::V_2025_03_26), |version| {
            serde_json::from_value(version.into())
        });
        Arc::new(Self {
            caller: caller(head),
            takes_events: opens(head) && declares_events(body),
            version: version.unwrap_or_default(),
            ..Self::default()
        })
    }

    /// Whether a request is served in this task.
    fn is_in_request() -> bool {
        CURRENT.try_with(|_| ()).is_ok()
    }

    /// The opening of the current task; an empty one outside of a request.
    fn current() -> Arc<Self> {
        CURRENT.try_with(Arc::clone).unwrap_or_default()
    }

    /// Serves the request.
    pub(super) async fn serve(self: &Arc<Self>, work: impl Future<Output = Response>) -> Response {
        CURRENT.scope(Arc::clone(self), work).await
    }

    /// What a session or a stream is granted. The answer to the request says why it is not.
    fn granted<T>(&self, granted: Result<T, Refusal>) -> Result<T, SessionError> {
        granted.map_err(|refusal| {
            *lock(&self.refused) = Some(refusal);
            SessionError::Full
        })
    }
}

/// Whether a request may open a session: it has none, and is not of the era without sessions.
fn opens(head: &Parts) -> bool {
    let has = |name: &str| head.headers.contains_key(name);
    !has("mcp-session-id") && !has("mcp-method")
}

/// Whether the client declares in this opening request that it takes events.
fn declares_events(body: &[u8]) -> bool {
    let hello: Value = serde_json::from_slice(body).unwrap_or_default();
    let capabilities = ClientCapabilities::deserialize(&hello["params"]["capabilities"]);
    capabilities.is_ok_and(|capabilities| listing::takes_events(&capabilities))
}
