//! MCP over Streamable HTTP: both generations of the protocol on one endpoint, and the parts shared
//! with stdio.
//!
//! The library implements the protocol, except where it is known to fail. Pushes bypass its queues:
//! a client's stream is fed from the participant's own node stream, event by event, as fast as the
//! client reads (see `listener.rs`). So pushes keep their order, a slow client delays no other, and
//! a resumed stream continues from the inbox's own cursor.
//!
//! ```text
//! POST ──► handler ──► Service                       (tools, with progress and cancellation)
//! GET  ──► sessions ─► listener ─► EventStream       (pushes of ≤ 2025-11-25)
//! listen ► handler ──► listener ─► EventStream       (2026-07-28, and stdio)
//! ```

mod handler;
mod listener;
pub(crate) mod listing;
mod replies;
mod session;
mod sessions;
pub(crate) mod skill;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use chat_core::{Config, Span};
use rmcp::handler::server::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use server_chat::service::Service;
use server_settings::Toolset;
use tokio_util::sync::CancellationToken;

pub use handler::Chat;
pub use sessions::SessionTables;

use sessions::Sessions;

/// The options of MCP.
#[derive(Clone)]
pub struct McpOptions {
    /// The toolsets of `/mcp`; each also has its own path.
    pub toolsets: Vec<Toolset>,
    /// How long a participant may be silent, and how long in the line, as the tools say.
    pub silence: [Span; 2],
    /// Cancelled at a shutdown: listeners receive their remaining events, and then end.
    pub closing: CancellationToken,
    /// The time between two progress notifications of a waiting call, if it requested them.
    pub progress_every: Duration,
    /// The time between two keep-alive comments on an idle stream.
    pub keep_alive: Duration,
    /// How long a stream's reader may read nothing before it is disconnected.
    pub stall: Duration,
    /// The longest time of a session without a call or a stream.
    pub session_idle: Duration,
    /// Whether the stream of a session of the older protocol version also carries the requests and
    /// notifications that a handler sends. The chat's handler sends none.
    pub with_requests: bool,
    /// The sessions of all realms, which share their places.
    pub sessions: Arc<SessionTables>,
}

/// How long a participant may be silent under these limits, and how long in the line.
#[must_use]
pub fn silence(config: &Config) -> [Span; 2] {
    [
        config.idle_timeout,
        config.queue_timeout.min(config.idle_timeout),
    ]
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            toolsets: Toolset::ALL.to_vec(),
            silence: silence(&Config::default()),
            closing: CancellationToken::new(),
            progress_every: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            stall: Duration::from_secs(30),
            session_idle: Duration::from_secs(3_600),
            with_requests: false,
            sessions: Arc::default(),
        }
    }
}

/// The routes of MCP: `/mcp`, and a path below it for each toolset.
///
/// Host, Origin and the size of bodies are not checked here, because the guard checks them. It must
/// be called on a runtime, because it starts the task that ends expired sessions.
pub fn router(service: &Service, options: &McpOptions) -> Router {
    router_of(service, options, |chat| chat)
}

/// The routes of MCP, served by a handler that `around` wraps around that of the chat. See [`router`].
pub fn router_of<H: ServerHandler>(
    service: &Service,
    options: &McpOptions,
    around: impl Fn(Chat) -> H + Clone + Send + Sync + 'static,
) -> Router {
    let options = &Arc::new(options.clone());
    let sessions = Sessions::start(service.clone(), options);
    let path = |path: &str, router: Router, sets: &[Toolset]| {
        let chat = Chat::over_http(service.clone(), service.tools(sets), Arc::clone(options));
        let around = around.clone();
        let make = move || Ok(around(chat.clone()));
        let config = config(options, Arc::clone(&sessions));
        let mcp = StreamableHttpService::new(make, Arc::clone(&sessions), config);
        // With a slash at its end, too, as some clients write it.
        let slashed = format!("{path}/");
        router
            .route_service(path, mcp.clone())
            .route_service(&slashed, mcp)
    };
    let mut router = path("/mcp", Router::new(), &options.toolsets);
    for set in &options.toolsets {
        router = path(&format!("/mcp/{}", set.name()), router, &[*set]);
    }
    router.layer(axum::middleware::from_fn_with_state(
        sessions,
        replies::in_words,
    ))
}

/// The library's configuration: it checks no hosts, and its own streams have no ids for resumption,
/// because their content cannot be repeated.
fn config(options: &McpOptions, sessions: Arc<Sessions>) -> StreamableHttpServerConfig {
    let mut config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
        .with_sse_keep_alive(Some(options.keep_alive))
        .with_sse_retry(None);
    config.session_store = Some(sessions);
    config
}
