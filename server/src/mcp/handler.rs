//! The chat behind the interface of the protocol's library.
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Extensions, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool as Listed,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::service::{RequestOrigin, Service};
use server_chat::task;
use server_chat::tools::Tool;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::follows::Follows;
use super::inbox::{self, MAX_FOLLOWED};
use super::listener::{Listener, Outcome, Sink};
use super::session::{Connection, Session};
use super::{CallerOf, McpOptions, listing};
use crate::http::HANDLE_HEADER;

/// Requests that need parameters. If one of these cannot be parsed, its parameters are invalid; any
/// other is unknown.
const KNOWN: [&str; 2] = ["tools/call", "resources/read"];

/// Further methods of the older protocol version.
const KNOWN_BEFORE: [&str; 3] = ["initialize", "resources/subscribe", "resources/unsubscribe"];

/// Further methods of the newer protocol version.
const KNOWN_SINCE: [&str; 1] = ["subscriptions/listen"];

/// The chat of one client.
#[derive(Clone)]
pub struct Chat {
    pub(super) service: Service,
    /// The offered tools.
    pub(super) tools: Arc<[Tool]>,
    pub(super) progress_every: Duration,
    listed: Arc<[Listed]>,
    place: Place,
    stall: Duration,
    closing: CancellationToken,
}

/// The place of its client.
#[derive(Clone)]
enum Place {
    /// Identified by each request.
    Http(CallerOf),
    /// The other end of a pipe.
    Process {
        session: Arc<Session>,
        caller: RequestOrigin,
        /// The session ends when the last clone is dropped.
        _ends: Arc<DropGuard>,
    },
}

/// The origin of a request.
pub(super) struct McpOrigin {
    pub(super) origin: RequestOrigin,
    pub(super) session: Option<Arc<Session>>,
    connection: Option<CancellationToken>,
}

impl McpOrigin {
    /// Waits until no reader of the answer is left.
    pub(super) async fn gone(&self) {
        match &self.connection {
            Some(closed) => closed.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Chat {
    /// The handler for clients over HTTP.
    pub(super) fn over_http(service: Service, tools: Vec<Tool>, options: &McpOptions) -> Self {
        let place = Place::Http(Arc::clone(&options.caller));
        Self::at(place, service, tools, options)
    }

    /// The chat of a process's only client. Its implicit identity is the process; the scope of
    /// `caller` has those that were registered by earlier processes on the same journal, too.
    #[must_use]
    pub fn over_stdio(
        service: Service,
        tools: Vec<Tool>,
        options: &McpOptions,
        caller: RequestOrigin,
    ) -> Self {
        let session = Session::at(Arc::default());
        let ends = Arc::new(session.ended.clone().drop_guard());
        let place = Place::Process {
            session,
            caller,
            _ends: ends,
        };
        Self::at(place, service, tools, options)
    }

    fn at(place: Place, service: Service, tools: Vec<Tool>, options: &McpOptions) -> Self {
        let listed = tools
            .iter()
            .map(|tool| listing::tool(*tool, options.output_schemas, Some(options.silence)))
            .collect();
        Self {
            service,
            tools: tools.into(),
            progress_every: options.progress_every,
            listed,
            place,
            stall: options.stall,
            closing: options.closing.clone(),
        }
    }

    /// The origin of a request.
    pub(super) fn origin_of(&self, extensions: &Extensions) -> McpOrigin {
        let connection = extensions.get::<Connection>();
        let (mut origin, session) = match &self.place {
            Place::Process {
                session, caller, ..
            } => (caller.clone(), Some(Arc::clone(session))),
            Place::Http(caller_of) => {
                let caller = extensions.get::<Parts>().map(|parts| caller_of(parts));
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
            marks: std::sync::Mutex::default(),
            stall: self.stall,
            closing: self.closing.clone(),
        })
    }
}

/// A refusal outside of tools.
fn full(refusal: Refusal) -> ErrorData {
    let data = serde_json::json!({ "error": refusal });
    ErrorData::internal_error(refusal.message, Some(data))
}

type Context = RequestContext<RoleServer>;

impl ServerHandler for Chat {
    fn get_info(&self) -> ServerConfig {
        listing::server(listing::capabilities())
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        self.listed.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult {
            tools: self.listed.to_vec(),
            ..ListToolsResult::default()
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, &context).await.map(Into::into)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let handles = self.handles(&context.extensions).await;
        let secrets = self.service.secrets();
        Ok(ListResourcesResult {
            resources: handles
                .into_iter()
                .map(|handle| inbox::listed(&secrets.reader_of(&handle)))
                .collect(),
            ..ListResourcesResult::default()
        })
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(listing::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let address = self.origin_of(&context.extensions).origin.address;
        let read = inbox::read(&self.service, &request.uri, address).await?;
        Ok(read.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let (reader, _) = inbox::at(&request.uri)?;
        // Only a session can receive updates.
        let Some(session) = self.origin_of(&context.extensions).session else {
            return Err(ErrorData::invalid_request("there is no session", None));
        };
        let known = self.service.bookmark(&reader).await;
        known.map_err(|refusal| inbox::refused(&request.uri, &refusal))?;
        let follows = &session.follows;
        follows.subscribe(&reader, &request.uri).map_err(|_| {
            let told = format!("a session subscribes to at most {MAX_FOLLOWED} inboxes");
            ErrorData::invalid_request(told, None)
        })
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let (reader, _) = inbox::at(&request.uri)?;
        if let Some(session) = self.origin_of(&context.extensions).session {
            session.follows.unsubscribe(&reader);
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(inbox::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let source = self.origin_of(&request.extensions).origin.source;
        let _held = self.service.place_for_stream(source).map_err(full)?;
        let follows = Arc::new(Follows::default());
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let (reader, _) = inbox::at(uri)?;
            // No more subscriptions were accepted than can be followed.
            let _ = follows.subscribe(&reader, uri);
        }
        // A request with the participant's handle, in a header or by its implicit identity, counts
        // as the participant.
        for handle in self.handles(&request.extensions).await {
            let reader = self.service.secrets().reader_of(&handle);
            follows.is_of(&reader, &handle);
        }
        let sink = Sink::Subscription(context.sink().clone());
        let listener = self.listener(&request.extensions, follows, sink);
        match listener.run(&request.ct).await {
            Outcome::Gone | Outcome::Stalled | Outcome::Closed => Ok(()),
            Outcome::Unreadable { uri, refusal } => Err(inbox::refused(&uri, &refusal)),
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Over HTTP the client opens a stream for pushes.
        let Place::Process { session, .. } = &self.place else {
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
            listener.run(&gone).await;
        });
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let name = request.method.as_str();
        let version = context.protocol_version().unwrap_or_default();
        let of_era = if version < ProtocolVersion::V_2026_07_28 {
            KNOWN_BEFORE.contains(&name)
        } else {
            KNOWN_SINCE.contains(&name)
        };
        if of_era || KNOWN.contains(&name) {
            let told = format!("the parameters of {} are missing or wrong", request.method);
            return Err(ErrorData::invalid_params(told, None));
        }
        let method: String = request.method.chars().take(64).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}
