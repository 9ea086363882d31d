//! A server on a port of its own, and clients of both protocol versions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::map_request;
use axum::serve::ListenerExt as _;
use chat_core::config::{Limit, RateLimit, StickRule};
use chat_core::{Address, Config};
use serde_json::{Value, json};
use server::mcp::{self, McpOptions};
use server_chat::capacity::{self, Capacity, Source};
use server_chat::driver::Running;
use server_chat::scope::CallerScope;
use server_chat::service::{RequestOrigin, Service};
use tokio_util::sync::CancellationToken;

use crate::mcp::http::{Body, Reply, request};
use crate::stage::{self, GUARD, hello};

/// The extension of clients that take events.
pub(crate) const EVENTS: &str = "org.talking-stick/events";

/// A running server.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) service: Service,
    pub(crate) closing: CancellationToken,
    pub(crate) running: Running,
}

impl World {
    /// A server with changed options, whose inboxes lose nothing, however slowly this machine
    /// reads.
    pub(crate) async fn with(change: impl FnOnce(&mut McpOptions)) -> Self {
        Self::of(100_000, change).await
    }

    /// A server whose inboxes hold so many events.
    pub(crate) async fn of(inbox_limit: u32, change: impl FnOnce(&mut McpOptions)) -> Self {
        Self::within(&capacity::Limits::default(), inbox_limit, change).await
    }

    /// Like `of`, with these limits on clients.
    pub(crate) async fn within(
        limits: &capacity::Limits,
        inbox_limit: u32,
        change: impl FnOnce(&mut McpOptions),
    ) -> Self {
        let caller = |_: &HeaderMap| caller(1, None);
        Self::called_by(caller, limits, inbox_limit, change).await
    }

    /// Like `within`, for clients that are identified by their headers. In a server the guard
    /// identifies them.
    pub(crate) async fn called_by(
        caller: impl Fn(&HeaderMap) -> RequestOrigin + Clone + Send + Sync + 'static,
        limits: &capacity::Limits,
        inbox_limit: u32,
        change: impl FnOnce(&mut McpOptions),
    ) -> Self {
        let config = Config {
            inbox_limit,
            max_per_address: 200,
            rate_limit: RateLimit::None,
            stick: StickRule::Optional,
            turn_limit: Limit::None,
            ..Config::default()
        };
        let (service, running) = stage::service(config);
        let service = service.within(Arc::new(Capacity::new(limits)));
        let closing = CancellationToken::new();
        let mut options = McpOptions {
            closing: closing.clone(),
            ..McpOptions::default()
        };
        change(&mut options);
        let identify = move |mut request: Request| {
            let origin = caller(request.headers());
            request.extensions_mut().insert(origin);
            std::future::ready(request)
        };
        let router = mcp::router(&service, &options).layer(map_request(identify));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            service,
            closing,
            running,
        }
    }

    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Posts a request unchanged.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut all = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        all.extend(headers);
        request(self.address, ("POST", "/mcp"), &all, body).await
    }

    /// Sends a request in the newer protocol version.
    pub(crate) async fn modern(&self, method: &str, params: Value) -> Reply {
        let (headers, body) = modern_request(method, params);
        let headers: Vec<_> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        self.post(&headers, &body).await
    }

    /// Calls a tool in the newer protocol version, and returns the result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.modern("tools/call", params).await.answer().await;
        answer["result"].clone()
    }

    /// Opens a subscription to changes of these inboxes, in the newer protocol version.
    pub(crate) async fn listen(&self, uris: &[&str]) -> Body {
        let params = json!({ "notifications": { "resourceSubscriptions": uris } });
        let reply = self.modern("subscriptions/listen", params).await;
        assert_eq!(reply.status, 200);
        let mut body = reply.body;
        let acknowledged = body.pushed().await;
        assert_eq!(
            acknowledged["method"],
            "notifications/subscriptions/acknowledged"
        );
        body
    }

    /// Waits until a table of the node, by its name among [`Node::sizes`], has so many items.
    async fn until(&self, name: &'static str, wanted: u64) {
        let began = Instant::now();
        loop {
            let sizes = self.service.node().look(|node| node.sizes()).await;
            let sizes = sizes.expect("the node runs");
            let size = sizes.iter().find(|size| size.name == name);
            if size.expect("the node counts it").size == wanted {
                return;
            }
            assert!(began.elapsed() < GUARD, "there are never {wanted} {name}");
            tokio::task::yield_now().await;
        }
    }

    /// Waits until so many event streams are open.
    pub(crate) async fn until_streams(&self, wanted: u64) {
        self.until("open_streams", wanted).await;
    }

    /// Waits until so many checks wait for events.
    pub(crate) async fn until_checks(&self, wanted: u64) {
        self.until("parked", wanted).await;
    }
}

/// A caller from this address, with the token of this scope.
pub(crate) fn caller(address: u64, token: Option<Arc<CallerScope>>) -> RequestOrigin {
    RequestOrigin {
        address: Address(address),
        source: Source(address),
        token,
        ..RequestOrigin::default()
    }
}

/// The headers and body of a request in the newer protocol version.
pub(crate) fn modern_request(
    method: &str,
    mut params: Value,
) -> (Vec<(&'static str, String)>, Vec<u8>) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let named = params.get("name").or(params.get("uri")).cloned();
    let token = params["_meta"]["progressToken"].take();
    params["_meta"] = stage::meta();
    if !token.is_null() {
        params["_meta"]["progressToken"] = token;
    }
    let mut headers = vec![
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", method.to_owned()),
    ];
    if let Some(Value::String(name)) = named {
        headers.push(("Mcp-Name", name));
    }
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    (headers, body.to_string().into_bytes())
}

/// A session of the older protocol version.
pub(crate) struct Session<'a> {
    pub(crate) world: &'a World,
    pub(crate) id: String,
    next: AtomicU64,
}

impl<'a> Session<'a> {
    /// A session of a client that takes events as notifications of their own.
    pub(crate) async fn open(world: &'a World) -> Self {
        Self::of(world, "2025-11-25").await
    }

    pub(crate) async fn of(world: &'a World, version: &str) -> Self {
        let capabilities = json!({ "experimental": { EVENTS: {} } });
        Self::declaring(world, version, capabilities).await
    }

    /// A session of a client with these capabilities.
    pub(crate) async fn declaring(world: &'a World, version: &str, capabilities: Value) -> Self {
        let hello = hello(version, &capabilities);
        let reply = world.post(&[], hello.to_string().as_bytes()).await;
        let id = reply
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        let answer = reply.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        let session = Self {
            world,
            id,
            next: AtomicU64::new(1),
        };
        session.notify("notifications/initialized", json!({})).await;
        session
    }

    fn headers(&self) -> [(&str, &str); 2] {
        [
            ("Mcp-Session-Id", &self.id),
            ("MCP-Protocol-Version", "2025-11-25"),
        ]
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        let reply = self
            .world
            .post(&self.headers(), body.to_string().as_bytes())
            .await;
        assert_eq!(reply.status, 202);
    }

    /// Sends a request, and returns its id and the unread response.
    pub(crate) async fn begin(&self, method: &str, params: Value) -> (u64, Reply) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let reply = self
            .world
            .post(&self.headers(), body.to_string().as_bytes())
            .await;
        (id, reply)
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        self.begin(method, params).await.1.answer().await
    }

    /// Calls a tool, and returns the result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.ask("tools/call", params).await;
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool, which must accept, and returns the structured content.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }

    /// Opens the session's stream, resuming after an event id if there is one.
    pub(crate) async fn stream(&self, last: Option<&str>) -> Body {
        let reply = request(
            self.world.address,
            ("GET", "/mcp"),
            &self.stream_headers(last),
            b"",
        )
        .await;
        assert_eq!(reply.status, 200);
        reply.body
    }

    pub(crate) fn stream_headers<'b>(&'b self, last: Option<&'b str>) -> Vec<(&'b str, &'b str)> {
        let mut headers = self.headers().to_vec();
        headers.push(("Accept", "text/event-stream"));
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        headers
    }

    /// Ends the session.
    pub(crate) async fn end(&self) {
        let line = ("DELETE", "/mcp");
        let reply = request(self.world.address, line, &self.headers(), b"").await;
        assert_eq!(reply.status, 204);
    }

    /// Registers in the lobby.
    pub(crate) async fn login(&self, name: &str) -> Value {
        self.ok("login", json!({ "username": name })).await
    }

    /// Sends a message in the lobby.
    pub(crate) async fn say(&self, room: &Value, message: &str) {
        self.ok(
            "send_message",
            json!({ "room_id": room, "message": message }),
        )
        .await;
    }
}

/// The code of a tool's refusal.
pub(crate) fn code(result: &Value) -> &Value {
    &result["structuredContent"]["error"]["code"]
}

/// The text of a tool's result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

/// A short time, for options whose time must pass within a test.
pub(crate) const SHORT: Duration = Duration::from_millis(100);
