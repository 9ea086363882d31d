//! Requests in the form of each protocol.

use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Request};
use serde_json::{Value, json};

use super::ask::{Ask, route};
use super::names::Names;
use super::target::{Protocol, Target};

/// The headers for a caller's handle, and for the version of MCP.
const HANDLE: &str = "chat-handle";
const VERSION: &str = "mcp-protocol-version";

const JSON: &str = "application/json";
const EITHER: &str = "application/json, text/event-stream";
const STREAM: &str = "text/event-stream";

pub(super) type Written = Request<Full<Bytes>>;

/// Writes requests for one target.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) target: Target,
    pub(super) protocol: Protocol,
    pub(super) names: Arc<Names>,
}

/// The client's name in requests.
fn client() -> Value {
    json!({ "name": "talking-stick sim", "version": env!("CARGO_PKG_VERSION") })
}

impl Writer {
    /// A call of a tool. In the older protocol version, `session` is its session, and `id` is
    /// unique in it.
    pub(super) fn call(&self, id: u64, ask: &Ask, session: Option<&str>) -> Written {
        let arguments = ask.arguments(&self.names, self.protocol);
        if self.protocol == Protocol::Http {
            let path = self.target.http_path(&route(ask));
            return post(self.as_handle(&path, ask.handle.as_deref()), &arguments);
        }
        let name = ask.op.tool();
        let params = json!({ "name": name, "arguments": arguments });
        self.ask((id, "tools/call"), Some(name), session, params)
    }

    /// A request of MCP about the tool or resource of this name. Every request of the newer protocol
    /// version has the client's information.
    pub(super) fn ask(
        &self,
        (id, method): (u64, &str),
        name: Option<&str>,
        session: Option<&str>,
        mut params: Value,
    ) -> Written {
        let mut request = self.to_mcp(session).header(ACCEPT, EITHER);
        if method != "initialize" {
            request = request.header(VERSION, self.protocol.name());
        }
        if self.protocol == Protocol::Mcp20260728 {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.protocol.name(),
                "io.modelcontextprotocol/clientInfo": client(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            request = request.header("mcp-method", method);
            if let Some(name) = name {
                request = request.header("mcp-name", name);
            }
        }
        let rpc = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        post(request, &rpc)
    }

    fn to_mcp(&self, session: Option<&str>) -> Builder {
        let request = self.start(self.target.mcp_path());
        match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    fn in_session(&self, session: &str) -> Builder {
        let request = self.to_mcp(Some(session));
        request.header(VERSION, self.protocol.name())
    }

    /// The first request of a session: `initialize`.
    pub(super) fn initialize(&self) -> Written {
        let params = json!({
            "protocolVersion": self.protocol.name(), "clientInfo": client(),
            "capabilities": { "experimental": { "org.talking-stick/events": {} } },
        });
        self.ask((0, "initialize"), None, None, params)
    }

    /// The notification that follows it.
    pub(super) fn initialized(&self, session: &str) -> Written {
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        post(self.in_session(session).header(ACCEPT, EITHER), &note)
    }

    /// The request that ends a session.
    pub(super) fn end_session(&self, session: &str) -> Written {
        built(self.in_session(session).method(Method::DELETE), "")
    }

    /// The stream of a session.
    pub(super) fn session_stream(&self, session: &str) -> Written {
        built(self.in_session(session).header(ACCEPT, STREAM), "")
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
        let method = (0, "resources/subscribe");
        self.ask(method, Some(inbox), Some(session), params)
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
        built(request, "")
    }

    /// Unregisters a participant, over plain HTTP.
    pub(super) fn unregister(&self, handle: &str) -> Written {
        let path = self.target.http_path("/unregister");
        post(self.as_handle(&path, Some(handle)), &json!({}))
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
        built(self.start(&self.target.http_path(route)), "")
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

fn post(request: Builder, body: &Value) -> Written {
    let request = request.method(Method::POST).header(CONTENT_TYPE, JSON);
    built(request, body.to_string())
}

/// A handle or a session id from a server may be an invalid header. Then the request has none, and
/// is refused.
fn built(request: Builder, body: impl Into<Bytes>) -> Written {
    request.body(Full::new(body.into())).unwrap_or_default()
}
