//! The client of a relay's server. Each request is self-contained, so a restart of the server loses
//! only what it kept in memory. Its answers and events are of limited size: a faulty server cannot
//! exhaust memory.

use std::fmt;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, InvalidHeaderValue};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};
use server_chat::render_text;
use server_settings::os_error::without_number;
use sse_stream::{Sse, SseStream};

use super::FollowedInbox;
use crate::guard::scan;
use crate::http::{HANDLE_HEADER, TITLE};

/// The protocol version with self-contained requests.
const ERA: &str = "2026-07-28";

/// The largest size of an answer and of an event in bytes.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The largest number of values of an answer and of an event. Parsed, each takes up to a hundred times
/// its bytes.
const MAX_ANSWER_VALUES: usize = 64 * 1_024;

/// The most characters of an error that are passed on.
const MAX_ERROR: usize = 500;

/// How long a check waits that does not say it, and the longest that an answer is held.
const WAIT: Duration = Duration::from_secs(20);

/// The longest wait of a check: the server has a limit of its own, which is shorter by default.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How long an answer may take besides its wait.
const MARGIN: Duration = Duration::from_secs(30);

/// The time limit for a connection.
const CONNECT: Duration = Duration::from_secs(3);

/// The events of a server.
type Events = BoxStream<'static, Result<Sse, sse_stream::Error>>;

/// The destination of a call's progress.
#[derive(Debug)]
pub(super) struct ClientProgress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl ClientProgress {
    /// The progress of a call, if its client asked for it.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        let peer = context.peer.clone();
        Some(Self { peer, token })
    }

    /// Passes on a notification of the server, under the client's own token. Others are left out.
    pub(super) async fn pass(&self, message: &Value) {
        let params = &message["params"];
        if message["method"] == "notifications/progress"
            && let Some(done) = params["progress"].as_f64()
        {
            let mut said = ProgressNotificationParam::new(self.token.clone(), done);
            said.message = params["message"].as_str().map(ToOwned::to_owned);
            // A client that is gone ends the call.
            let _ = self.peer.notify_progress(said).await;
        }
    }
}

/// A relay's server.
#[derive(Clone, Debug)]
pub struct Upstream {
    client: Client<HttpConnector, Body>,
    /// Its address: the scheme, host and port, and the path of a realm.
    pub base: String,
    bearer: Option<HeaderValue>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum UpstreamError {
    /// The server does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// What it says besides is left out: a model would take it for the relay's words.
    #[error("the server at {base} answers {status}{}", of_code(.code.as_deref()))]
    HttpError {
        base: String,
        status: StatusCode,
        /// The code of a chat server's refusal.
        code: Option<String>,
    },
    /// Its address is none, or it answers too late, or in words that this client does not know.
    #[error("{0}")]
    Failed(String),
    /// A JSON-RPC error.
    #[error("{}", .0.message)]
    Rpc(ErrorData),
}

/// The code of a refusal, and what to do if it is about the token.
fn of_code(code: Option<&str>) -> String {
    match code {
        Some(code @ ("token_required" | "token_unknown")) => {
            format!(" ({code}); give its token in TALKING_STICK_TOKEN")
        }
        Some(code) => format!(" ({code})"),
        None => String::new(),
    }
}

/// The kind of server at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// A chat server.
    Server,
    /// A server that requires a token.
    Guarded,
    /// No server, or another kind.
    Nothing,
}

impl UpstreamError {
    /// Whether the server refused the request, and would refuse it again.
    pub(crate) fn is_final(&self) -> bool {
        const FOR_NOW: [StatusCode; 2] =
            [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        match self {
            Self::HttpError { status, .. } => {
                (status.is_redirection() || status.is_client_error()) && !FOR_NOW.contains(status)
            }
            Self::Rpc(error) => error.code != ErrorCode::INTERNAL_ERROR,
            Self::Unreachable(_) | Self::Failed(_) => false,
        }
    }
}

impl Upstream {
    /// The server at this address: `http://host:port`, and `/r/` with a realm's name behind it if
    /// it is one of several; with a bearer token if it requires one.
    ///
    /// # Errors
    /// The address is invalid, or the token cannot be a header.
    pub fn at(url: &str, token: Option<&str>) -> Result<Self, UpstreamError> {
        let wrong = |why| {
            let url = without_password(url);
            UpstreamError::Failed(format!("{url} is not the address of a server: {why}"))
        };
        if url.contains('@') {
            return Err(wrong(
                "a name and a password are no part of it: a token goes into TALKING_STICK_TOKEN",
            ));
        }
        if url.contains(['?', '#']) {
            return Err(wrong("it ends with its path, without ? and #"));
        }
        let uri: Uri = url.parse().map_err(|_| wrong("it cannot be read"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(wrong(
                    "this client speaks plain http; give https addresses to an MCP client itself, \
                     followed by /mcp",
                ));
            }
            Some(_) | None => return Err(wrong("write it as http://127.0.0.1:8894")),
        }
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
        let path = uri.path().trim_end_matches('/');
        // The address that MCP clients are given names the same realm.
        let path = path.strip_suffix("/mcp").unwrap_or(path);
        let bearer = token.map(|token| secret(&format!("Bearer {token}")));
        let bearer = bearer
            .transpose()
            .map_err(|_| wrong("its token has characters that no header takes"))?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            base: format!("http://{authority}{path}"),
            bearer,
        })
    }

    /// Finds the kind of server within `patience`.
    pub async fn find(&self, patience: Duration) -> ServerKind {
        let asked = async {
            let request = self.request(Method::GET, "/openapi.json");
            let response = self.send(request.body(Body::empty())).await?;
            let status = response.status();
            Ok::<_, UpstreamError>((status, self.whole(response).await?))
        };
        let Ok(Ok((status, said))) = tokio::time::timeout(patience, asked).await else {
            return ServerKind::Nothing;
        };
        match status {
            StatusCode::OK if said["info"]["title"] == TITLE => ServerKind::Server,
            StatusCode::UNAUTHORIZED if said["error"]["code"] == "token_required" => {
                ServerKind::Guarded
            }
            _ => ServerKind::Nothing,
        }
    }

    fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        request
    }

    async fn send(
        &self,
        request: Result<Request<Body>, axum::http::Error>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        let request = request.map_err(|error| self.strange(&error))?;
        self.client.request(request).await.map_err(|error| {
            let (base, error) = (&self.base, chain(&error));
            let why = without_number(&error);
            UpstreamError::Unreachable(format!("the server at {base} does not answer: {why}"))
        })
    }

    /// The JSON of an answer; null if it has none.
    async fn whole(&self, response: Response<Incoming>) -> Result<Value, UpstreamError> {
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES);
        let whole = body.collect().await.map_err(|error| self.strange(&error))?;
        Ok(parse(&whole.to_bytes()).unwrap_or_default())
    }

    fn strange(&self, why: &dyn fmt::Display) -> UpstreamError {
        let base = &self.base;
        UpstreamError::Failed(format!(
            "the server at {base} answers in words that this client does not know: {why}"
        ))
    }

    /// Makes a JSON-RPC request, and returns the result. `name` is the subject of a call or a read.
    /// ClientProgress is requested if it has a destination.
    ///
    /// # Errors
    /// The server is not reachable, refuses, answers with an error, or not in time.
    pub(super) async fn ask(
        &self,
        (method, name): (&str, Option<&str>),
        mut params: Value,
        progress: Option<&ClientProgress>,
    ) -> Result<Value, UpstreamError> {
        let within = wait(&params["arguments"]) + MARGIN;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": ERA,
            "io.modelcontextprotocol/clientInfo": {
                "name": "talking-stick stdio", "version": env!("CARGO_PKG_VERSION")
            },
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        if progress.is_some() {
            params["_meta"]["progressToken"] = json!(1);
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = self
            .request(Method::POST, "/mcp")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", ERA)
            .header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let asked = async {
            let response = self
                .send(request.body(Body::from(body.to_string())))
                .await?;
            self.message(response, progress).await
        };
        let slow = |_| {
            let (base, seconds) = (&self.base, within.as_secs());
            UpstreamError::Failed(format!(
                "the server at {base} did not answer within {seconds} seconds, the longest that \
                 this call may take"
            ))
        };
        let message = tokio::time::timeout(within, asked).await.map_err(slow)??;
        let mut message = render_text::visible(message);
        if let Some(error) = message.get("error") {
            let text = error["message"].as_str().unwrap_or_default();
            let message: String = text.chars().take(MAX_ERROR).collect();
            let code = error["code"].as_i64().unwrap_or_default();
            let code = i32::try_from(code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
            let data = error.get("data").cloned();
            return Err(UpstreamError::Rpc(ErrorData::new(code, message, data)));
        }
        Ok(message["result"].take())
    }

    /// The message that answers a request, as JSON or as a stream.
    async fn message(
        &self,
        response: Response<Incoming>,
        progress: Option<&ClientProgress>,
    ) -> Result<Value, UpstreamError> {
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if is_stream {
            let mut events = events_of(response);
            while let Some(event) = events.next().await {
                let event = event.map_err(|error| self.strange(&error))?;
                let message: Value = match event.data.as_deref() {
                    None | Some("") => continue,
                    Some(data) => parse(data.as_bytes()).map_err(|why| self.strange(&why))?,
                };
                if message.get("id").is_some() {
                    return Ok(message);
                }
                if let Some(progress) = progress {
                    progress.pass(&message).await;
                }
            }
            return Err(self.strange(&"the stream ended without an answer"));
        }
        let said = self.whole(response).await?;
        if said.get("jsonrpc").is_some() {
            return Ok(said);
        }
        Err(UpstreamError::HttpError {
            base: self.base.clone(),
            status,
            code: said["error"]["code"].as_str().and_then(known_code),
        })
    }

    /// The unread events of an inbox, read at this address of it.
    ///
    /// # Errors
    /// As of any request.
    pub(crate) async fn inbox(&self, uri: &str) -> Result<Value, UpstreamError> {
        let read = self
            .ask(("resources/read", Some(uri)), json!({ "uri": uri }), None)
            .await?;
        let text = read["contents"][0]["text"].as_str().unwrap_or_default();
        parse(text.as_bytes()).map_err(|why| self.strange(&why))
    }

    /// Opens the event stream of an inbox, after `after` or from its end: by the handle of its
    /// participant, which is present while the stream is open, otherwise by the reader id.
    ///
    /// # Errors
    /// The server is not reachable, or refuses.
    pub(crate) async fn events(
        &self,
        what: &FollowedInbox,
        after: Option<&str>,
    ) -> Result<Events, UpstreamError> {
        let request = match what {
            FollowedInbox::Own(handle) => {
                let handle = secret(handle.expose()).map_err(|error| self.strange(&error))?;
                let request = self.request(Method::GET, "/events");
                request.header(HANDLE_HEADER, handle)
            }
            FollowedInbox::Subscribed(reader) => {
                let path = format!("/events?reader={}", reader.expose());
                self.request(Method::GET, &path)
            }
        };
        let mut request = request.header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = self.send(request.body(Body::empty())).await?;
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(events_of(response));
        }
        Err(UpstreamError::HttpError {
            base: self.base.clone(),
            status,
            code: None,
        })
    }
}

/// A header that no log shows.
fn secret(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut secret = HeaderValue::from_str(text)?;
    secret.set_sensitive(true);
    Ok(secret)
}

/// How long the server may wait before it answers a call with these arguments.
fn wait(arguments: &Value) -> Duration {
    let asked = &arguments["wait_seconds"];
    let asked = asked.as_u64().or_else(|| asked.as_str()?.parse().ok());
    let asked = asked.map_or(WAIT, Duration::from_secs);
    asked.clamp(WAIT, LONGEST_WAIT)
}

/// The events of an answer. One that is too large ends them with an error.
fn events_of(response: Response<Incoming>) -> Events {
    let mut sizes = Sizes::default();
    let bytes = response.into_body().into_data_stream().map(move |bytes| {
        let bytes: Bytes = bytes.map_err(io::Error::other)?;
        match sizes.has_short_events(&bytes, MAX_ANSWER_BYTES) {
            true => Ok(bytes),
            false => {
                let why = format!("an event has more than {MAX_ANSWER_BYTES} bytes");
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// The sizes of the events in bytes that come in pieces.
#[derive(Debug, Default)]
struct Sizes {
    /// The size of the incomplete event, and of its incomplete line.
    event: usize,
    line: usize,
}

impl Sizes {
    /// Whether no event has more than `most` bytes after these. A blank line ends an event (HTML
    /// Living Standard, 9.2).
    fn has_short_events(&mut self, bytes: &[u8], most: usize) -> bool {
        bytes.iter().all(|byte| {
            self.event += 1;
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            self.event <= most
        })
    }
}

/// Parses JSON of the server, if its parsed form is small enough.
pub(super) fn parse(json: &[u8]) -> Result<Value, String> {
    scan(json, MAX_ANSWER_VALUES)
        .map_err(|_| format!("it has more than {MAX_ANSWER_VALUES} values"))?;
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

/// A refusal's code, if it looks like one: nobody reads a sentence in it.
fn known_code(code: &str) -> Option<String> {
    let is_code = code.len() <= 32 && code.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    is_code.then(|| code.to_owned())
}

/// An address without what stands before its host.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{place}"),
        (None, Some((_, place))) => place.into(),
        (_, None) => url.into(),
    }
}

/// An error with its causes: the last one says what went wrong with a connection.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_cannot_be_served_say_why() {
        for (url, why) in [
            ("https://chat.example.org", "https addresses"),
            ("127.0.0.1:8894", "http://127.0.0.1:8894"),
            ("http://", "cannot be read"),
            ("ftp://x", "http://127.0.0.1:8894"),
            ("http://ann:secret@localhost", "http://localhost is no"),
            ("ann:secret@localhost", "TALKING_STICK_TOKEN"),
            ("http://localhost/?token=1", "without ? and #"),
            ("http://localhost/#mcp", "without ? and #"),
        ] {
            let error = Upstream::at(url, None).unwrap_err().to_string();
            assert!(error.contains(why), "{url}: {error}");
            assert!(!error.contains("secret"), "{url}: {error}");
        }
        let upstream = Upstream::at("http://localhost:1/mcp", Some("secret")).unwrap();
        assert_eq!(upstream.base, "http://localhost:1");
        assert!(!format!("{upstream:?}").contains("secret"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_takes_a_call_and_is_silent_is_told_in_time() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let upstream = Upstream::at(&url, None).unwrap();
        for (arguments, seconds) in [
            (json!({}), 50),
            (json!({ "wait_seconds": 0 }), 50),
            (json!({ "wait_seconds": 45 }), 75),
            (json!({ "wait_seconds": "45" }), 75),
            (json!({ "wait_seconds": u64::MAX }), 630),
        ] {
            let params = json!({ "name": "check", "arguments": arguments });
            let asked = upstream
                .ask(("tools/call", Some("check")), params, None)
                .await;
            let told = asked.unwrap_err().to_string();
            assert!(
                told.contains(&format!("within {seconds} seconds")),
                "{told}"
            );
        }
    }

    #[test]
    fn the_path_of_an_address_names_the_realm() {
        for (url, base) in [
            ("http://localhost/", "http://localhost"),
            ("http://localhost/r/arena", "http://localhost/r/arena"),
            ("http://localhost/r/arena/", "http://localhost/r/arena"),
            ("http://localhost/r/arena/mcp", "http://localhost/r/arena"),
            ("http://localhost/chat/mcp/", "http://localhost/chat"),
        ] {
            assert_eq!(Upstream::at(url, None).unwrap().base, base);
        }
    }

    #[test]
    fn an_event_is_counted_up_to_its_blank_line() {
        let mut body = Sizes::default();
        let mut is_short = |bytes: &[u8]| body.has_short_events(bytes, 10);
        for _ in 0..3 {
            assert!(is_short(b"data: 1\r\n\r\n"));
            assert!(is_short(b"a\nb\n") && is_short(b"\n"));
        }
        assert!(is_short(b"12345\n1234") && !is_short(b"5"));
        assert!(!Sizes::default().has_short_events(&[b'x'; 11], 10));
    }
}
