//! The chat behind the interface of the protocol's library: calls of tools, which tell of their
//! progress while they wait and end when their client is gone; and inboxes as resources.

use std::sync::{Arc, Mutex};

use axum::http::request::Parts;
use futures_util::future::OptionFuture;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Extensions, GetSkillRequestParams, GetSkillResult,
    ListResourcesResult, ListSkillsResult, ListToolsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool as Listed, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, SubscriptionContext};
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
use tokio_util::sync::DropGuard;

use super::McpOptions;
use super::listener::{Follows, Listener, Sink};
use super::listing::{self, Context, MAX_FOLLOWED, Paged, Reply, Templates};
use super::session::{Connection, Session};
use super::skill;
use crate::guard::caller;
use crate::http::HANDLE_HEADER;

/// The chat of one client.
#[derive(Clone)]
pub struct Chat {
    service: Service,
    /// The offered tools.
    listed: Arc<[Listed]>,
    options: Arc<McpOptions>,
    /// The session of a process's only client, at the other end of a pipe: it ends when the last clone
    /// is dropped. Over HTTP each request names its own.
    process: Option<(Arc<Session>, Arc<DropGuard>)>,
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
        let session = Session::at(Arc::default(), inner, caller);
        let ends = Arc::new(session.ended.clone().drop_guard());
        let process = Some((session, ends));
        let chat = Self::over_http(service, tools, Arc::new(options));
        Self { process, ..chat }
    }

    /// The session of a request, if it has one.
    fn session_of<'a>(&'a self, extensions: &'a Extensions) -> Option<&'a Arc<Session>> {
        let process = self.process.as_ref().map(|(session, _)| session);
        process.or_else(|| extensions.get())
    }

    /// The origin of a request.
    fn origin_of(&self, extensions: &Extensions) -> RequestOrigin {
        let session = self.session_of(extensions);
        let origin = match (&self.process, extensions.get::<Parts>()) {
            (Some((session, _)), _) => session.opener.clone(),
            (None, parts) => parts.map(caller).unwrap_or_default(),
        };
        RequestOrigin {
            scope: session.map(|session| Arc::clone(&session.scope)),
            ..origin
        }
    }

    /// The participants that a request may act for: those of its implicit identity, and the one in
    /// its header.
    async fn handles(&self, extensions: &Extensions) -> Vec<Handle> {
        let origin = self.origin_of(extensions);
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
            address: self.origin_of(extensions).address,
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
        context: &Context,
    ) -> Reply<CallOutcome> {
        let origin = self.origin_of(&context.extensions);
        let token = context.meta.get_progress_token();
        let progress = token.map(|token| self.tell_progress(&context.peer, token));
        let connection = context.extensions.get::<Connection>();
        tokio::select! {
            biased;
            outcome = self.service.perform(tool, arguments, &origin) => return Ok(outcome),
            () = context.ct.cancelled() => {}
            Some(()) = OptionFuture::from(connection.map(|one| one.0.cancelled())) => {}
            Some(()) = OptionFuture::from(progress) => {}
        }
        // It is not sent.
        let told = "the request was cancelled, or its connection closed";
        Err(ErrorData::internal_error(told, None))
    }

    /// Tells again and again how long a call has waited. Never ends.
    async fn tell_progress(&self, peer: &Peer<RoleServer>, token: ProgressToken) {
        let (began, every) = (Instant::now(), self.options.progress_every);
        let mut ticks = interval_at(began + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let waited = began.elapsed().as_secs_f64();
            let waited = ProgressNotificationParam::new(token.clone(), waited);
            // A client that cannot receive progress will not receive the answer either; the call ends
            // with the connection.
            let _ = peer.notify_progress(waited.with_message("waiting")).await;
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
        let arguments = request.arguments.unwrap_or_default();
        let outcome = self.perform(tool, arguments, &context).await?;
        // A call of a participant in its session counts there.
        if let Some(session) = self.session_of(&context.extensions)
            && let (Ok(_), Some(handle)) = (&outcome.result, &outcome.caller)
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
        let readers = handles
            .iter()
            .map(|handle| self.service.secrets().reader_of(handle));
        let inboxes = readers.map(|reader| listing::listed_inbox(&reader));
        let all = inboxes.chain([skill::listed()]);
        Ok(ListResourcesResult::with_all_items(all.collect()))
    }

    async fn list_skills(&self, _: Paged, _: Context) -> Reply<ListSkillsResult> {
        Ok(skill::list())
    }

    async fn get_skill(&self, request: GetSkillRequestParams, _: Context) -> Reply<GetSkillResult> {
        skill::get(&request.uri)
    }

    async fn list_resource_templates(&self, _: Paged, _: Context) -> Reply<Templates> {
        Ok(listing::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Reply<ReadResourceResponse> {
        if let Some(file) = skill::read(&request.uri) {
            return Ok(file.into());
        }
        let address = self.origin_of(&context.extensions).address;
        let read = listing::read_inbox(&self.service, &request.uri, address).await?;
        Ok(read.into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Reply<()> {
        let (reader, _) = listing::inbox_at(&request.uri)?;
        // Only a session can receive updates.
        let Some(session) = self.session_of(&context.extensions) else {
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
        if let Some(session) = self.session_of(&context.extensions) {
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
        let source = self.origin_of(&request.extensions).source;
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
            if follows.of(&reader).is_some() {
                follows.called(&reader, &handle);
            }
        }
        let sink = Sink::Subscription(context.sink().clone());
        let listener = self.listener(&request.extensions, follows, sink);
        listener.run(&request.ct).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Over HTTP the client opens a stream for pushes.
        let Some((session, _)) = &self.process else {
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
