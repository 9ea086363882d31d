//! The chat behind the interface of the protocol's library: calls of tools, which tell of their
//! progress while they wait and end when their client is gone; and inboxes as resources.

use std::sync::{Arc, Mutex};

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Extensions, ListResourcesResult, ListToolsResult,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool as Listed,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::{
    SessionConfig, create_local_session,
};
use serde_json::{Map, Value};
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::render_text;
use server_chat::service::{CallOutcome, RequestOrigin, Service};
use server_chat::task;
use server_chat::tools::Tool;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::McpOptions;
use super::listener::{Follows, Listener, Sink};
use super::listing::{self, Context, MAX_FOLLOWED, Paged, Reply, Templates};
use super::session::{Connection, Session};
use crate::guard::caller;
use crate::http::HANDLE_HEADER;

/// The chat of one client.
#[derive(Clone)]
pub struct Chat {
    service: Service,
    /// The offered tools.
    listed: Arc<[Listed]>,
    options: Arc<McpOptions>,
    /// The session and the origin of a process's only client, at the other end of a pipe: it ends when
    /// the last clone is dropped. Over HTTP each request identifies them.
    process: Option<(Arc<Session>, RequestOrigin, Arc<DropGuard>)>,
}

/// The origin of a request.
struct McpOrigin {
    origin: RequestOrigin,
    session: Option<Arc<Session>>,
    connection: Option<CancellationToken>,
}

impl McpOrigin {
    /// Waits until no reader of the answer is left.
    async fn gone(&self) {
        match &self.connection {
            Some(closed) => closed.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Chat {
    /// The handler for clients over HTTP.
    pub(super) fn over_http(service: Service, tools: Vec<Tool>, options: Arc<McpOptions>) -> Self {
        Self {
            service,
            listed: listing::listed(tools, Some(options.silence)),
            options,
            process: None,
        }
    }

    /// The chat of a process's only client. Its implicit identity is the process; the scope of
    /// `caller` has those that were registered by earlier processes on the same journal, too.
    #[must_use]
    pub fn over_stdio(
        service: Service,
        tools: Vec<Tool>,
        options: McpOptions,
        caller: RequestOrigin,
    ) -> Self {
        let (inner, _) = create_local_session("", SessionConfig::default());
        let session = Session::at(Arc::default(), inner, caller.clone());
        let ends = Arc::new(session.ended.clone().drop_guard());
        let process = Some((session, caller, ends));
        let chat = Self::over_http(service, tools, Arc::new(options));
        Self { process, ..chat }
    }

    /// The origin of a request.
    fn origin_of(&self, extensions: &Extensions) -> McpOrigin {
        let connection = extensions.get::<Connection>();
        let (mut origin, session) = match &self.process {
            Some((session, caller, _)) => (caller.clone(), Some(Arc::clone(session))),
            None => {
                let caller = extensions.get::<Parts>().map(caller);
                let session = extensions.get::<Arc<Session>>().cloned();
                (caller.unwrap_or_default(), session)
            }
        };
        origin.scope = session.as_ref().map(|session| Arc::clone(&session.scope));
        McpOrigin {
            origin,
            session,
            connection: connection.map(|Connection(closed)| closed.clone()),
        }
    }

    /// The participants that a request may act for: those of its implicit identity, and the one in
    /// its header.
    async fn handles(&self, extensions: &Extensions) -> Vec<Handle> {
        let origin = self.origin_of(extensions).origin;
        let mut handles = self.service.participants(&origin).await;
        let parts = extensions.get::<Parts>();
        let header = parts.and_then(|parts| parts.headers.get(HANDLE_HEADER)?.to_str().ok());
        handles.extend(header.map(Handle::given));
        handles
    }

    fn listener(
        &self,
        extensions: &Extensions,
        follows: Arc<Follows>,
        sink: Sink,
    ) -> Arc<Listener> {
        Arc::new(Listener {
            service: self.service.clone(),
            address: self.origin_of(extensions).origin.address,
            follows,
            sink,
            marks: Mutex::default(),
            options: Arc::clone(&self.options),
        })
    }

    /// Makes a call, and waits for the answer as long as the client does. An answer that is dropped
    /// does not count as delivered: the next bare `check` repeats its events.
    async fn perform(
        &self,
        tool: Tool,
        arguments: Map<String, Value>,
        from: &McpOrigin,
        context: &Context,
    ) -> Reply<CallOutcome> {
        let performing = self.service.perform(tool, arguments, &from.origin);
        let progress = async {
            let Some(token) = context.meta.get_progress_token() else {
                return std::future::pending().await;
            };
            let (began, every) = (Instant::now(), self.options.progress_every);
            let mut ticks = interval_at(began + every, every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let waited = began.elapsed().as_secs_f64();
                let waited = ProgressNotificationParam::new(token.clone(), waited);
                // A client that cannot receive progress will not receive the answer either; the
                // call ends with the connection.
                let _ = context
                    .peer
                    .notify_progress(waited.with_message("waiting"))
                    .await;
            }
        };
        tokio::select! {
            biased;
            outcome = performing => Ok(outcome),
            () = context.ct.cancelled() => Err(given_up()),
            () = from.gone() => Err(given_up()),
            never = progress => never,
        }
    }
}

/// The result in the protocol's format, with this text beside it.
fn result(outcome: &CallOutcome, json: &Value, text: String) -> CallToolResult {
    let text = vec![ContentBlock::text(text)];
    let mut result = match outcome.result {
        Ok(_) => CallToolResult::success(text),
        Err(_) => CallToolResult::error(text),
    };
    result.structured_content = Some(render_text::structured(outcome, json));
    result
}

/// The answer of a cancelled call, which is not sent.
fn given_up() -> ErrorData {
    ErrorData::internal_error("the request was cancelled, or its connection closed", None)
}

/// A refusal outside of tools.
fn full(refusal: Refusal) -> ErrorData {
    let data = serde_json::json!({ "error": refusal });
    ErrorData::internal_error(refusal.message, Some(data))
}

impl ServerHandler for Chat {
    fn get_info(&self) -> ServerConfig {
        listing::server()
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        self.listed.iter().find(|tool| tool.name == name).cloned()
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
        let from = self.origin_of(&context.extensions);
        let arguments = request.arguments.unwrap_or_default();
        let outcome = self.perform(tool, arguments, &from, &context).await?;
        // A call of a participant in its session counts there.
        if let (Some(session), Ok(_), Some(handle)) =
            (&from.session, &outcome.result, &outcome.caller)
        {
            let reader = self.service.secrets().reader_of(handle);
            session.follows.called(&reader, handle);
        }
        let json = outcome.json();
        let text = render_text::text(&outcome, &json);
        self.service.node().metrics().sent_to_model(text.len());
        Ok(result(&outcome, &json, text).into())
    }

    async fn list_resources(&self, _: Paged, context: Context) -> Reply<ListResourcesResult> {
        let handles = self.handles(&context.extensions).await;
        let secrets = self.service.secrets();
        Ok(ListResourcesResult {
            resources: handles
                .into_iter()
                .map(|handle| listing::listed_inbox(&secrets.reader_of(&handle)))
                .collect(),
            ..ListResourcesResult::default()
        })
    }

    async fn list_resource_templates(&self, _: Paged, _: Context) -> Reply<Templates> {
        Ok(listing::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Reply<ReadResourceResponse> {
        let address = self.origin_of(&context.extensions).origin.address;
        let read = listing::read_inbox(&self.service, &request.uri, address).await?;
        Ok(read.into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Reply<()> {
        let (reader, _) = listing::inbox_at(&request.uri)?;
        // Only a session can receive updates.
        let Some(session) = self.origin_of(&context.extensions).session else {
            return Err(ErrorData::invalid_request("there is no session", None));
        };
        let known = self.service.bookmark(&reader).await;
        known.map_err(|refusal| listing::refused(&request.uri, &refusal))?;
        match session.follows.subscribe(&reader, &request.uri) {
            true => Ok(()),
            false => {
                let told = format!("a session subscribes to at most {MAX_FOLLOWED} inboxes");
                Err(ErrorData::invalid_request(told, None))
            }
        }
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, context: Context) -> Reply<()> {
        let (reader, _) = listing::inbox_at(&request.uri)?;
        if let Some(session) = self.origin_of(&context.extensions).session {
            session.follows.unsubscribe(&reader);
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(listing::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Reply<()> {
        let request = context.request_context();
        let source = self.origin_of(&request.extensions).origin.source;
        let _held = self.service.place_for_stream(source).map_err(full)?;
        let follows = Arc::new(Follows::default());
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let (reader, _) = listing::inbox_at(uri)?;
            // No more subscriptions were accepted than can be followed.
            follows.subscribe(&reader, uri);
        }
        // A request with the participant's handle, in a header or by its implicit identity, counts
        // as the participant.
        for handle in self.handles(&request.extensions).await {
            let reader = self.service.secrets().reader_of(&handle);
            follows.is_of(&reader, &handle);
        }
        let sink = Sink::Subscription(context.sink().clone());
        let listener = self.listener(&request.extensions, follows, sink);
        listener.run(&request.ct).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Over HTTP the client opens a stream for pushes.
        let Some((session, ..)) = &self.process else {
            return;
        };
        let client = context.peer.peer_info();
        if client.is_some_and(|client| listing::takes_events(&client.capabilities)) {
            session.follows.take_events();
        }
        let gone = session.new_stream();
        let sink = Sink::Peer(context.peer.clone());
        let follows = Arc::clone(&session.follows);
        let listener = self.listener(&context.extensions, follows, sink);
        task::spawn(async move {
            let _ = listener.run(&gone).await;
        });
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Reply<CustomResult> {
        let version = context.protocol_version().unwrap_or_default();
        let is_older = version < ProtocolVersion::V_2026_07_28;
        // If the parameters that such a request needs cannot be parsed, they are invalid; any other is
        // unknown.
        let is_known = match request.method.as_str() {
            "tools/call" | "resources/read" => true,
            "initialize" | "resources/subscribe" | "resources/unsubscribe" => is_older,
            "subscriptions/listen" => !is_older,
            _ => false,
        };
        if is_known {
            let told = format!("the parameters of {} are missing or wrong", request.method);
            return Err(ErrorData::invalid_params(told, None));
        }
        let method: String = request.method.chars().take(64).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}
