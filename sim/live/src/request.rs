//! Requests in the form of each protocol.

use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Request};
use serde::Serialize;
use serde_json::json;

use super::ask::{Arguments, Ask, route};
use super::names::Names;
use super::target::{Protocol, Target};

/// The header for a caller's handle.
const HANDLE: &str = "chat-handle";

const JSON: &str = "application/json";
const EITHER: &str = "application/json, text/event-stream";
const STREAM: &str = "text/event-stream";

/// The client's name in requests.
const CLIENT: &str = "talking-stick sim";

pub(super) type Written = Request<Full<Bytes>>;

/// Writes requests for one target.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) target: Target,
    pub(super) protocol: Protocol,
    pub(super) names: Arc<Names>,
}

#[derive(Serialize)]
struct Rpc<'a, P: Serialize> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    name: &'a str,
    arguments: Arguments<'a>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

/// The client information in every request of the newer protocol version.
#[derive(Serialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'static str,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    client: ClientInfo,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Nothing,
}

#[derive(Serialize)]
struct ClientInfo {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Nothing {}

const INFO: ClientInfo = ClientInfo {
    name: CLIENT,
    version: env!("CARGO_PKG_VERSION"),
};

impl Writer {
    /// A call of a tool. In the older protocol version, `session` is its session, and `id` is
    /// unique in it.
    pub(super) fn call(&self, id: u64, ask: &Ask, session: Option<&str>) -> Written {
        let arguments = ask.arguments(&self.names);
        if self.protocol == Protocol::Http {
            let route = route(ask);
            let arguments = match &*route {
                "/check_event" => arguments.with_delay(),
                _ => arguments,
            };
            let path = self.target.http_path(&route);
            return post(
                self.as_handle(&path, ask.handle.as_deref()),
                body(&arguments),
            );
        }
        let name = ask.op.tool();
        let params = ToolCall {
            name,
            arguments: arguments.by(ask.handle.as_deref()),
            meta: self.meta(),
        };
        self.rpc((id, "tools/call"), Some(name), session, &params)
    }

    fn meta(&self) -> Option<Meta> {
        (self.protocol == Protocol::Mcp20260728).then_some(Meta {
            version: self.protocol.name(),
            client: INFO,
            capabilities: Nothing {},
        })
    }

    /// A request of MCP other than a call.
    pub(super) fn ask(
        &self,
        (id, method): (u64, &str),
        name: Option<&str>,
        session: Option<&str>,
        mut params: serde_json::Value,
    ) -> Written {
        if let Some(meta) = self.meta() {
            params["_meta"] = json!(meta);
        }
        self.rpc((id, method), name, session, &params)
    }

    fn rpc(
        &self,
        (id, method): (u64, &str),
        name: Option<&str>,
        session: Option<&str>,
        params: &impl Serialize,
    ) -> Written {
        let rpc = Rpc {
            jsonrpc: "2.0",
            id,
            method,
            params,
        };
        let mut request = self.start(self.target.mcp_path()).header(ACCEPT, EITHER);
        if self.protocol == Protocol::Mcp20260728 {
            request = request.header("mcp-method", method);
            if let Some(name) = name {
                request = request.header("mcp-name", name);
            }
        }
        post(self.of_era(request, method, session), body(&rpc))
    }

    fn of_era(&self, request: Builder, method: &str, session: Option<&str>) -> Builder {
        let request = match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        };
        match method {
            "initialize" => request,
            _ => request.header("mcp-protocol-version", self.protocol.name()),
        }
    }

    /// The first request of a session: `initialize`.
    pub(super) fn initialize(&self) -> Written {
        let params = json!({
            "protocolVersion": self.protocol.name(), "clientInfo": INFO,
            "capabilities": { "experimental": { "org.talking-stick/events": {} } },
        });
        self.rpc((0, "initialize"), None, None, &params)
    }

    /// The notification that follows it.
    pub(super) fn initialized(&self, session: &str) -> Written {
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let request = self.start(self.target.mcp_path()).header(ACCEPT, EITHER);
        post(self.of_era(request, "", Some(session)), body(&note))
    }

    /// The request that ends a session.
    pub(super) fn end_session(&self, session: &str) -> Written {
        let request = self.start(self.target.mcp_path()).method(Method::DELETE);
        built(self.of_era(request, "", Some(session)), Vec::new())
    }

    /// The stream of a session.
    pub(super) fn session_stream(&self, session: &str) -> Written {
        let request = self.start(self.target.mcp_path()).header(ACCEPT, STREAM);
        built(self.of_era(request, "", Some(session)), Vec::new())
    }

    /// The newer protocol version's subscription to an inbox. It passes the handle: with the
    /// inbox's address alone, the server would not count the participant as present.
    pub(super) fn listen(&self, inbox: &str, handle: &str) -> Written {
        let params = json!({ "notifications": { "resourceSubscriptions": [inbox] } });
        let mut written = self.ask((0, "subscriptions/listen"), None, None, params);
        if let Ok(handle) = HeaderValue::from_str(handle) {
            written.headers_mut().insert(HANDLE, handle);
        }
        written
    }

    /// The older protocol version's subscription to an inbox.
    pub(super) fn subscribe(&self, inbox: &str, session: &str) -> Written {
        let params = json!({ "uri": inbox });
        self.ask(
            (0, "resources/subscribe"),
            Some(inbox),
            Some(session),
            params,
        )
    }

    /// A page of an inbox.
    pub(super) fn read_inbox(
        &self,
        id: u64,
        (inbox, after): (&str, u64),
        session: Option<&str>,
    ) -> Written {
        let uri = format!("{inbox}?after={after}");
        let params = json!({ "uri": uri });
        self.ask((id, "resources/read"), Some(&uri), session, params)
    }

    /// The event stream of plain HTTP.
    pub(super) fn events(&self, handle: &str, after: u64) -> Written {
        let path = self.target.http_path(&format!("/events?after={after}"));
        let request = self.as_handle(&path, Some(handle)).header(ACCEPT, STREAM);
        built(request, Vec::new())
    }

    /// Unregisters a participant, over plain HTTP.
    pub(super) fn unregister(&self, handle: &str) -> Written {
        let path = self.target.http_path("/unregister");
        post(self.as_handle(&path, Some(handle)), b"{}".to_vec())
    }

    /// A request that needs authentication and changes nothing.
    pub(super) fn probe_request(&self) -> Written {
        match self.protocol {
            Protocol::Http => self.get("/openapi.json"),
            Protocol::Mcp20260728 | Protocol::Mcp20251125 => self.least(0, None),
        }
    }

    /// The cheapest request of the protocol, whose answer does not matter.
    pub(super) fn least(&self, id: u64, session: Option<&str>) -> Written {
        match self.protocol {
            Protocol::Http => self.get("/healthz"),
            Protocol::Mcp20260728 | Protocol::Mcp20251125 => {
                self.ask((id, "ping"), None, session, json!({}))
            }
        }
    }

    /// The name of that request.
    pub(super) const fn least_name(&self) -> &'static str {
        match self.protocol {
            Protocol::Http => "GET /healthz",
            Protocol::Mcp20260728 | Protocol::Mcp20251125 => "ping",
        }
    }

    /// Reads a document.
    pub(super) fn get(&self, route: &str) -> Written {
        built(self.start(&self.target.http_path(route)), Vec::new())
    }

    fn as_handle(&self, path: &str, handle: Option<&str>) -> Builder {
        let request = self.start(path);
        match handle {
            Some(handle) => request.header(HANDLE, handle),
            None => request,
        }
    }

    fn start(&self, path: &str) -> Builder {
        // The header `Host` is that of the connection.
        let request = Request::builder().uri(path);
        match self.target.authorization() {
            Some(token) => request.header(AUTHORIZATION, token),
            None => request,
        }
    }
}

fn body(value: &impl Serialize) -> Vec<u8> {
    // All keys are strings, so serialising cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}

fn post(request: Builder, body: Vec<u8>) -> Written {
    built(
        request.method(Method::POST).header(CONTENT_TYPE, JSON),
        body,
    )
}

/// A handle or a session id from a server may be an invalid header. Then the request has none, and
/// is refused.
fn built(request: Builder, body: Vec<u8>) -> Written {
    let body = Full::new(Bytes::from(body));
    request.body(body).unwrap_or_default()
}
