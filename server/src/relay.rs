//! The relay: joins one client on stdin and stdout to a server, so that several clients of a
//! machine can meet.
//!
//! Each call is a self-contained request to the server. The relay adds the handle if the client
//! leaves it out, and registers again if the server has forgotten it. When the client is gone, its
//! participants are absent: they keep their places for the usual grace, and a client that passes the
//! handle is one of them again.

mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::http::StatusCode;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    GetSkillRequestParams, GetSkillResult, JsonObject, ListSkillsResult, ListToolsResult,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool as Listed, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, SubscriptionContext, SubscriptionSink};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use server_chat::identity::{Handle, ReaderId};
use server_chat::render_text;
use server_chat::scope::CallerScope;
use server_chat::task;
use server_chat::tools::{NOTHING, Tool};
use server_storage::lock;
use tokio_util::sync::CancellationToken;

use crate::mcp::listing::{
    self, Context, MAX_FOLLOWED, PUSHED, Paged, Reply, Templates, takes_events,
};

use crate::mcp::skill;

use upstream::ClientProgress;
pub use upstream::{ServerKind, Upstream, UpstreamError};

/// The number of attempts of a call to a server that does not answer, and the pause between two of
/// them.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// The relay of one client.
pub struct Relay {
    /// The offered tools.
    listed: Arc<[Listed]>,
    scope: CallerScope,
    /// Each registration, to repeat it.
    registered: Mutex<Vec<Registration>>,
    /// The participants that were called for here: some may have registered elsewhere, so that only
    /// their handles are known.
    called: Mutex<BTreeSet<Box<str>>>,
    /// Held during a registration, so that concurrent calls register only one participant.
    minting: tokio::sync::Mutex<()>,
    pushes: Pushes,
    /// To be cancelled when the client is gone: that cancels its calls, and ends its streams.
    pub gone: CancellationToken,
    observer: Option<Box<dyn CallObserver>>,
}

/// Hears of a client's calls, to wake it while it makes none.
pub(crate) trait CallObserver: Send + Sync {
    /// A call of a tool with this metadata begins.
    fn on_call(&self, meta: &JsonObject);

    /// A call ended, or was cancelled.
    fn on_call_end(&self);

    /// The client registered a participant with this inbox. `gone` is cancelled when the client is gone.
    fn on_registration(&self, inbox: &str, gone: &CancellationToken);
}

/// A call that an observer hears of, until this is dropped.
struct ObservedCall<'a>(&'a dyn CallObserver);

impl Drop for ObservedCall<'_> {
    fn drop(&mut self) {
        self.0.on_call_end();
    }
}

type Arguments = Map<String, Value>;

/// A registration of a participant: its handle, and the call that registers it again; none if a break
/// registered it, which must not be repeated.
type Registration = (Handle, Option<(Tool, Arguments)>);

/// The receiver of a call's progress; none if its client asked for none.
type Progress<'a> = Option<&'a ClientProgress>;

/// The result of a call at the server.
type Called = Result<Value, UpstreamError>;

impl Relay {
    /// A relay to this server that offers these tools.
    #[must_use]
    pub fn new(upstream: Upstream, tools: Vec<Tool>) -> Self {
        let gone = CancellationToken::new();
        Self {
            pushes: Pushes {
                upstream,
                gone: gone.clone(),
                peer: Arc::default(),
                streams: Arc::default(),
            },
            listed: listing::listed(tools, None),
            scope: CallerScope::default(),
            registered: Mutex::default(),
            called: Mutex::default(),
            minting: tokio::sync::Mutex::default(),
            gone,
            observer: None,
        }
    }

    /// The same relay, whose calls this observer hears of.
    #[must_use]
    pub(crate) fn observed_by(self, observer: Option<impl CallObserver + 'static>) -> Self {
        let observer = observer.map(|observer| Box::new(observer) as Box<dyn CallObserver>);
        Self { observer, ..self }
    }

    /// The handle of a call without one, by the server's rule.
    fn implicit(&self, tool: Tool, arguments: &Arguments) -> Option<Handle> {
        if !tool.mints() {
            return self.scope.only();
        }
        let wanted = arguments.get("username").or(arguments.get("display_name"));
        let wanted = wanted.and_then(Value::as_str);
        self.scope
            .implicit_for(wanted.filter(|name| !name.is_empty()))
    }

    /// Calls a tool. If the server has lost the participant in a restart, calls again once.
    async fn call(&self, tool: Tool, mut arguments: Arguments, progress: Progress<'_>) -> Called {
        let passed = said(&arguments, "handle");
        let mut handle = match passed {
            Some(text) => Some(Handle::given(text)),
            None => self.implicit(tool, &arguments),
        };
        let mut minting = None;
        if handle.is_none() && tool.mints() {
            minting = Some(self.minting.lock().await);
            handle = self.implicit(tool, &arguments);
        }
        let asked = arguments.clone();
        if let Some(handle) = &handle {
            arguments.insert("handle".into(), handle.expose().into());
        }
        let result = self.try_call(tool, &arguments, progress).await?;
        match &handle {
            Some(lost) if code(&result) == Some("unknown_handle") => {
                drop(minting);
                return self.call_again((tool, asked), lost, result, progress).await;
            }
            Some(handle) if code(&result).is_none() => self.called_as(handle),
            Some(_) | None => {}
        }
        self.learn(tool, asked, handle.as_ref(), &result);
        drop(minting);
        Ok(result)
    }

    /// Makes a call with several attempts: the server may be restarting.
    async fn try_call(&self, tool: Tool, arguments: &Arguments, progress: Progress<'_>) -> Called {
        let mut tries = 0;
        loop {
            let params = json!({ "name": tool.name(), "arguments": arguments });
            let asked = ("tools/call", Some(tool.name()));
            let tried = self.pushes.upstream.ask(asked, params, progress).await;
            tries += 1;
            match tried {
                Err(UpstreamError::Unreachable(_))
                    if tries < TRIES && may_repeat(tool, arguments) =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(_) | Err(_) => return tried,
            }
        }
    }

    /// Calls a tool again whose participant the server has lost. The participant registers again as
    /// it registered first, unless another call did that. After a break the call itself registers,
    /// if its tool does; otherwise the refusal stands.
    async fn call_again(
        &self,
        (tool, mut asked): (Tool, Arguments),
        lost: &Handle,
        refused: Value,
        progress: Progress<'_>,
    ) -> Called {
        let mut minting = Some(self.minting.lock().await);
        let is_implicit = said(&asked, "handle").is_none();
        asked.remove("handle");
        let is_it = |(handle, _): &&Registration| handle == lost;
        let known = lock(&self.registered).iter().find(is_it).cloned();
        let is_known = known.is_some();
        let again = match known {
            Some((_, Some((tool, arguments)))) => {
                let result = self.try_call(tool, &arguments, None).await?;
                self.forget(lost);
                let again = self.learn(tool, arguments, None, &result);
                if again.is_some() {
                    tracing::info!("the server had forgotten this client, which registered again");
                }
                again
            }
            None if is_implicit => self.implicit(tool, &asked).filter(|one| one != lost),
            Some((_, None)) | None => None,
        };
        self.forget(lost);
        let mut arguments = asked.clone();
        if let Some(handle) = &again {
            arguments.insert("handle".into(), handle.expose().into());
            minting = None;
        } else if !tool.mints() || !is_known && !is_implicit {
            return Ok(refused);
        }
        let result = self.try_call(tool, &arguments, progress).await?;
        self.learn(tool, asked, again.as_ref(), &result);
        drop(minting);
        Ok(result)
    }

    /// Follows the inbox of a participant, which is present until the client is gone. As over HTTP, a
    /// second call shows that the process is not that of one call alone (see `mcp/listener.rs`).
    fn called_as(&self, handle: &Handle) {
        let mut called = lock(&self.called);
        let is_known = called.contains(handle.expose());
        if !is_known && called.len() < MAX_FOLLOWED {
            called.insert(handle.expose().into());
        }
        drop(called);
        if is_known || self.pushes.takes_events() {
            self.pushes.begin(FollowedInbox::Own(handle.clone()), None);
        }
    }

    fn forget(&self, handle: &Handle) {
        self.scope.forget(handle);
        lock(&self.called).remove(handle.expose());
        lock(&self.registered).retain(|(known, _)| known != handle);
    }

    /// Records a registration in the result; returns a new handle.
    fn learn(
        &self,
        tool: Tool,
        mut arguments: Arguments,
        called_as: Option<&Handle>,
        result: &Value,
    ) -> Option<Handle> {
        if !tool.mints() {
            return None;
        }
        let said = &result["structuredContent"];
        let handle = Handle::given(said["handle"].as_str()?);
        let name = said["display_name"].as_str().unwrap_or_default();
        self.scope.minted(&handle, name);
        if let (Some(observer), Some(inbox)) = (&self.observer, said["inbox_uri"].as_str()) {
            observer.on_registration(inbox, &self.gone);
        }
        let own = FollowedInbox::Own(handle.clone());
        if called_as.is_some() {
            self.pushes.begin(own, None);
            return None;
        }
        // Who waits to be woken makes no second call before.
        if self.observer.is_some() || self.pushes.takes_events() {
            self.pushes.begin(own, BEGINNING);
        }
        lock(&self.called).insert(handle.expose().into());
        // A key would return the first outcome, and a handle would not register.
        arguments.remove("request_key");
        arguments.remove("handle");
        let is_break = matches!(tool, Tool::Break(_));
        let again = (!is_break).then_some((tool, arguments));
        lock(&self.registered).push((handle.clone(), again));
        Some(handle)
    }
}

/// A text argument, unless it stands for nothing.
fn said<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    let text = arguments.get(name)?.as_str()?;
    (!NOTHING.contains(&text)).then_some(text)
}

/// Whether a call may be repeated although the first attempt may have arrived: it only reads, or
/// has a key.
fn may_repeat(tool: Tool, arguments: &Arguments) -> bool {
    tool.is_read_only() || said(arguments, "request_key").is_some()
}

fn code(result: &Value) -> Option<&str> {
    result["structuredContent"]["error"]["code"].as_str()
}

/// A failure of the connection as a tool's refusal, which a model can act on.
fn not_there(error: &UpstreamError) -> CallToolResult {
    let message = error.to_string();
    let message = format!(
        "{message}. If you sent this before, or now, it may have been delivered: repeat it with the \
         same request_key, do not send it as a new one"
    );
    let next = "the same call, with the same request_key, in 5 s";
    let more = json!({ "retry_after_ms": 5_000, "earlier_attempt": "unknown" });
    refusal(("overloaded", &message), next, more)
}

/// A refusal of the server that stays, whatever is repeated: it names its code, and who can act.
fn refused(status: StatusCode, code: Option<&str>, error: &UpstreamError) -> CallToolResult {
    // Without a code it was no chat server that answered.
    let code = code.unwrap_or("not_found");
    let message = format!("{error}. It did not take this call, and will not take it again");
    let next = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "the call again, with shorter texts",
        _ => "stop, and tell the one who runs you: the server's address or token is wrong here",
    };
    refusal((code, &message), next, json!({}))
}

fn refusal((code, message): (&str, &str), next: &str, mut error: Value) -> CallToolResult {
    let text = format!("Refused ({code}): {message}\nnext: {next}");
    for (name, value) in [("code", code), ("message", message), ("next_call", next)] {
        error[name] = value.into();
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({ "error": error }));
    result
}

/// A failure as an error of the protocol.
fn rpc_error(error: UpstreamError) -> ErrorData {
    if let UpstreamError::Rpc(error) = error {
        return error;
    }
    internal(&error)
}

fn internal(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// A result of the server in the protocol's form.
fn read<T: DeserializeOwned>(result: Value) -> Reply<T> {
    serde_json::from_value(result).map_err(|error| internal(&error))
}

impl ServerHandler for Relay {
    fn get_info(&self) -> ServerConfig {
        listing::server()
    }

    async fn list_tools(&self, _: Paged, _: Context) -> Reply<ListToolsResult> {
        Ok(ListToolsResult::with_all_items(self.listed.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Reply<CallToolResponse> {
        let tool = listing::offered(&self.listed, &request.name)?;
        let arguments = request.arguments.unwrap_or_default();
        let progress = ClientProgress::of(&context);
        let _call = self.observer.as_deref().map(|observer| {
            observer.on_call(&context.meta);
            ObservedCall(observer)
        });
        let called = tokio::select! {
            called = self.call(tool, arguments, progress.as_ref()) => called,
            () = context.ct.cancelled() => return Err(internal(&"the request was cancelled")),
            () = self.gone.cancelled() => return Err(internal(&"the client is gone")),
        };
        match called {
            Ok(result) => read::<CallToolResult>(result).map(Into::into),
            Err(UpstreamError::Rpc(error)) => Err(error),
            Err(
                ref error @ UpstreamError::HttpError {
                    status, ref code, ..
                },
            ) if error.is_final() => {
                tracing::warn!("{error}");
                Ok(refused(status, code.as_deref(), error).into())
            }
            Err(error) => Ok(not_there(&error).into()),
        }
    }

    async fn list_resource_templates(&self, _: Paged, _: Context) -> Reply<Templates> {
        Ok(listing::templates())
    }

    async fn list_skills(&self, _: Paged, _: Context) -> Reply<ListSkillsResult> {
        Ok(skill::list())
    }

    async fn get_skill(&self, request: GetSkillRequestParams, _: Context) -> Reply<GetSkillResult> {
        skill::get(&request.uri)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Reply<ReadResourceResponse> {
        if let Some(file) = skill::read(&request.uri) {
            return Ok(file.into());
        }
        let params = json!({ "uri": request.uri });
        let asked = ("resources/read", Some(&*request.uri));
        let result = self.pushes.upstream.ask(asked, params, None).await;
        let result = result.map_err(rpc_error)?;
        read::<ReadResourceResult>(result).map(Into::into)
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Reply<()> {
        let (reader, _) = listing::inbox_at(&request.uri)?;
        self.pushes.begin(FollowedInbox::Subscribed(reader), None);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Reply<()> {
        let (reader, _) = listing::inbox_at(&request.uri)?;
        if let Some(ends) = lock(&self.pushes.streams).remove(reader.expose()) {
            ends.cancel();
        }
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A client may send the notification again: its peer is the same.
        let _ = self.pushes.peer.set(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(listing::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Reply<()> {
        let mut inboxes = Vec::new();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            inboxes.push(FollowedInbox::Subscribed(listing::inbox_at(uri)?.0));
        }
        let sink = Some(context.sink());
        let follows = inboxes.iter();
        let follows = follows.map(|inbox| self.pushes.follow(inbox, None, sink));
        tokio::select! {
            _ = join_all(follows) => {}
            () = context.cancelled() => {}
            () = self.gone.cancelled() => {}
        }
        Ok(())
    }
}

/// The pause before a stream is opened again. It doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The place before the first event of an inbox.
const BEGINNING: Option<&str> = Some("0");

/// The inboxes that a client follows: their event streams at the server, which are opened again
/// when they end, and continue where they were.
#[derive(Clone)]
struct Pushes {
    upstream: Upstream,
    gone: CancellationToken,
    /// The client, after `initialize` of the older protocol version.
    peer: Arc<OnceLock<Peer<RoleServer>>>,
    /// Each secret whose inbox is followed, with the token that ends its stream.
    streams: Arc<Mutex<BTreeMap<Box<str>, CancellationToken>>>,
}

/// What a stream is for, and by which secret it reads the inbox.
#[derive(Clone, Debug)]
pub(crate) enum FollowedInbox {
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
    /// Whether the client declared that it takes events as notifications of their own.
    fn takes_events(&self) -> bool {
        let client = self.peer.get().and_then(Peer::peer_info);
        client.is_some_and(|client| takes_events(&client.capabilities))
    }

    /// Follows an inbox for the client. Of a new registration all events are pushed, from the
    /// [`BEGINNING`]; of others only those from now on.
    fn begin(&self, what: FollowedInbox, from: Option<&'static str>) {
        let mut streams = lock(&self.streams);
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
                lock(&pushes.streams).remove(what.secret());
            }
        });
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
        match (told, self.peer.get()) {
            (Some(sink), _) => sink.send(pushed).await.ok(),
            (None, Some(peer)) => peer.send_notification(pushed).await.ok(),
            (None, None) => Some(()),
        }
    }
}
