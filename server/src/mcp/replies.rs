//! Readable texts for the library's terse errors; what is left out of requests before the library
//! stores them; and batches.
//!
//! A batch is several messages in one request, which revision 2025-03-26 alone has. Each is served
//! as a request of its own, in order, and the answers form a list.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, future, stream};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use server_chat::capacity::MAX_WAIT;
use server_chat::refusal::Refusal;
use server_storage::lock;
use tokio_util::sync::CancellationToken;

use super::listing::EVENTS;
use super::sessions::{Opening, RETRY, Sessions};
use crate::guard::{RequestCharge, SMALL_BODY, cost, has_json, status};

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// The content type of answers.
const JSON: (HeaderName, &str) = (header::CONTENT_TYPE, "application/json");

/// The longest text of a refusal by the library, in bytes.
const MAX_TEXT: usize = 4_096;

/// The most messages of a batch: each has an answer, and all wait for the last one.
const MAX_BATCH: usize = 16;

/// The largest answer to one message in bytes; the server's own are smaller.
const MAX_ANSWER: usize = 4 << 20;

/// Rewrites answers: an invalid JSON-RPC message gets a JSON-RPC error, and a full server a
/// refusal. A session that was opened with another bearer token does not exist for the caller.
/// Unused parts of large requests are removed.
pub(super) async fn in_words(
    State(sessions): State<Arc<Sessions>>,
    request: Request,
    next: Next,
) -> Response {
    let is_json = has_json(request.headers());
    let (head, body) = request.into_parts();
    let (ends, listens) = (head.method == Method::DELETE, head.method == Method::GET);
    let session = head.headers.get(SESSION);
    let (has_session, id) = (session.is_some(), session.and_then(|id| id.to_str().ok()));
    if id.is_some_and(|id| sessions.is_anothers(id, &head)) {
        return unknown_session();
    }
    // The guard has read and limited it.
    let Ok(body) = to_bytes(body, usize::MAX).await.map(kept) else {
        return error(StatusCode::BAD_REQUEST, -32_700, "the body is incomplete");
    };
    let Some(counted) = counted(&body) else {
        return too_large();
    };
    if let Some(paid) = head.extensions.get::<RequestCharge>() {
        paid.keep(counted);
    }
    let opening = Opening::of(&head, &body);
    // The library takes the end of any session as done.
    if ends
        && let Some(id) = id
        && sessions.find(id).is_err()
        && !sessions.is_valid(id, &opening)
    {
        return unknown_session();
    }
    if let Some(messages) = batch(&body) {
        let checked = match id.is_some_and(|id| sessions.takes_batches(id, &opening.version)) {
            true => check_batch(&messages),
            false => {
                Err("a request is one message, not a list: only MCP 2025-03-26 has batches".into())
            }
        };
        if let Err(why) = checked {
            return error(StatusCode::BAD_REQUEST, -32_600, &why);
        }
        // The first message is the request, which had its turn.
        let more = messages.len().saturating_sub(1) as u64;
        let requests = &sessions.service.capacity().requests;
        let mut patience = MAX_WAIT;
        let turn = requests.spend(opening.caller.source, more, &mut patience);
        return match turn.await {
            Ok(()) => opening.serve(serve_batch(head, messages, next)).await,
            Err(refusal) => refused(&refusal),
        };
    }
    let request = Request::from_parts(head, body.into());
    let response = opening.serve(next.run(request)).await;
    if let Some(refusal) = lock(&opening.refused).take() {
        return refused(&refusal);
    }
    match response.status() {
        StatusCode::NOT_FOUND if has_session => unknown_session(),
        // The content type is right, so the body is invalid.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => {
            let told = "the body is not a JSON-RPC message of MCP";
            error(StatusCode::BAD_REQUEST, -32_700, told)
        }
        // Some clients accept only this as the end of their session.
        StatusCode::ACCEPTED if ends => StatusCode::NO_CONTENT.into_response(),
        status if status.is_client_error() => in_json(response).await,
        StatusCode::OK if listens => {
            let breaks_off = opening.version < ProtocolVersion::V_2025_11_25;
            begun(
                response,
                breaks_off.then(|| sessions.options.closing.clone()),
            )
        }
        _ => response,
    }
}

/// A stream whose first bytes come at once, because some proxies hold the head back until then. They
/// are no event: in its revision a client may expect a message in each.
///
/// With a `stop` it breaks off there: clients of before 2025-11-25 open a stream again only after an
/// error, and would hear nothing any more from the server's next start on.
fn begun(response: Response, stop: Option<CancellationToken>) -> Response {
    let first = Bytes::from(format!("retry: {}\n\n", RETRY.as_millis()));
    let first = stream::once(future::ready(Ok(first)));
    let last = stream::iter(stop).filter_map(|stop| {
        let stopped = stop.is_cancelled();
        future::ready(stopped.then(|| Err(axum::Error::new("the server stops"))))
    });
    response.map(|body| Body::from_stream(first.chain(body.into_data_stream()).chain(last)))
}

/// The answer for a session that its client ended, that is another's, or whose id this server never
/// signed: a server without a journal signs with another secret after each start.
fn unknown_session() -> Response {
    let told = "Session not found: it has ended, or another server opened it. Initialize a new one, \
                and pass your handle in it, or log in under your name";
    error(StatusCode::NOT_FOUND, -32_001, told)
}

/// A refusal as JSON, as all others are. The library writes plain text, such as for a missing Accept.
async fn in_json(response: Response) -> Response {
    if has_json(response.headers()) {
        return response;
    }
    let (head, body) = response.into_parts();
    let text = to_bytes(body, MAX_TEXT).await.unwrap_or_default();
    let text = match text.is_empty() {
        true => head.status.canonical_reason().unwrap_or_default().into(),
        false => String::from_utf8_lossy(&text),
    };
    let mut answer = error(head.status, -32_600, &text);
    for (name, value) in &head.headers {
        if *name != header::CONTENT_TYPE && *name != header::CONTENT_LENGTH {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

fn too_large() -> Response {
    let told = format!(
        "such a request has at most {MAX_OPENING} bytes here, and counts more for each value"
    );
    error(StatusCode::PAYLOAD_TOO_LARGE, -32_600, &told)
}

/// The answer that explains why no session was opened, with the retry delay.
fn refused(refusal: &Refusal) -> Response {
    let seconds = refusal.retry_after_ms.unwrap_or_default().div_ceil(1_000);
    let data = json!({ "error": refusal });
    let mut response = said(status(refusal), -32_603, &refusal.message, data);
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    response
}

fn error(status: StatusCode, code: i32, message: &str) -> Response {
    said(status, code, message, Value::Null)
}

fn said(status: StatusCode, code: i32, message: &str, data: Value) -> Response {
    let mut error = json!({ "code": code, "message": message });
    if !data.is_null() {
        error["data"] = data;
    }
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    (status, [JSON], body.to_string()).into_response()
}

/// The messages of a batch; none if the body is something else.
fn batch(body: &[u8]) -> Option<Vec<Value>> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'[') {
        return None;
    }
    serde_json::from_slice(body).ok()
}

/// Checks a batch.
///
/// # Errors
/// What is wrong with it.
fn check_batch(messages: &[Value]) -> Result<(), String> {
    if !(1..=MAX_BATCH).contains(&messages.len()) {
        return Err(format!("a batch has 1 to {MAX_BATCH} messages here"));
    }
    if messages.iter().any(|one| one["method"] == "initialize") {
        return Err("initialize is no part of a batch".into());
    }
    Ok(())
}

/// Serves the messages with the head of their request.
async fn serve_batch(mut head: Parts, messages: Vec<Value>, next: Next) -> Response {
    head.headers.remove(header::CONTENT_LENGTH);
    let mut answers = Vec::new();
    for message in messages {
        let body = Body::from(message.to_string());
        let request = Request::from_parts(head.clone(), body);
        let response = next.clone().run(request).await;
        answers.extend(answer(response, &message["id"]).await);
    }
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    ([JSON], Value::from(answers).to_string()).into_response()
}

/// The answer to one message; none to a notification.
async fn answer(response: Response, id: &Value) -> Option<Value> {
    if response.status() == StatusCode::ACCEPTED {
        return None;
    }
    let body = to_bytes(response.into_body(), MAX_ANSWER).await;
    let body = body.unwrap_or_default();
    let said = parsed(&body).unwrap_or_else(|| {
        let error = json!({ "code": -32_600, "message": "this is not a message of MCP" });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    });
    Some(said)
}

/// An answer as JSON, or as the last event of a stream.
fn parsed(body: &Bytes) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?;
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = data.next_back().unwrap_or(text);
    serde_json::from_str(last).ok()
}

// The library keeps a parsed request while it is in progress, and a session keeps its first one until it
// ends, which may take days. So unused parts are removed first: unknown members of `_meta`, and
// experimental capabilities other than this server's.

/// A request up to this size is cheap, and stays unchanged.
const SMALL: usize = 2 * 1_024;

/// The most bytes of the opening request that a session or a stream keeps, including its parsed
/// values. They count as a part of the session or the stream: if they were held in the pool of
/// request bytes for as long as these last, a few sources would use up the pool.
const MAX_OPENING: usize = 48 * 1_024;

/// The methods that open a session or a stream.
const OPENING: [&str; 2] = ["initialize", "subscriptions/listen"];

/// The members of `_meta` in the protocol's revisions.
const KNOWN: [&str; 9] = [
    "progressToken",
    "traceparent",
    "tracestate",
    "baggage",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    CAPABILITIES,
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/subscriptionId",
];

/// The member with the client's capabilities, in the protocol version without sessions.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Where clients name experimental capabilities: at `initialize`, and in that member.
const EXPERIMENTS: [&str; 2] = [
    "/params/capabilities/experimental",
    "/params/_meta/io.modelcontextprotocol~1clientCapabilities/experimental",
];

/// The request without unused parts. Data that is not a JSON object stays as it is: the library
/// reports the error.
fn kept(body: Bytes) -> Bytes {
    if body.len() <= SMALL {
        return body;
    }
    let Ok(mut message @ Value::Object(_)) = serde_json::from_slice(&body) else {
        return body;
    };
    if let Some(Value::Object(meta)) = message.pointer_mut("/params/_meta") {
        meta.retain(|name, _| KNOWN.contains(&&**name));
    }
    for place in EXPERIMENTS {
        if let Some(Value::Object(experiments)) = message.pointer_mut(place) {
            experiments.retain(|name, _| name == EVENTS);
            for events in experiments.values_mut() {
                *events = json!({});
            }
        }
    }
    serde_json::to_vec(&message).map_or(body, Bytes::from)
}

/// The part of this request that counts while it is served; none if it opens a session or a stream,
/// and is too large to be kept until that ends.
fn counted(body: &[u8]) -> Option<&[u8]> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        method: std::borrow::Cow<'a, str>,
    }
    let cost = cost(body);
    // Small requests count as a whole, whatever they open.
    if cost.as_ref().is_ok_and(|cost| *cost <= SMALL_BODY) {
        return Some(body);
    }
    let named = serde_json::from_slice::<Named<'_>>(body);
    if !named.is_ok_and(|it| OPENING.contains(&&*it.method)) {
        return Some(body);
    }
    cost.is_ok_and(|cost| cost <= MAX_OPENING).then_some(&[])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept_of(message: &Value) -> Value {
        let body = kept(Bytes::from(message.to_string()));
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn what_nobody_reads_is_left_out() {
        let junk = "x".repeat(SMALL);
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "check",
                "arguments": { "_meta": { "mine": 1 } },
                "capabilities": { "experimental": { "x": junk, (EVENTS): { "x": 1 } }, "roots": {} },
                "_meta": {
                    "progressToken": 7, "junk": junk,
                    (CAPABILITIES): { "experimental": { "x": 1 }, "sampling": {} },
                },
            }
        });
        let expected = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "check",
                "arguments": { "_meta": { "mine": 1 } },
                "capabilities": { "experimental": { (EVENTS): {} }, "roots": {} },
                "_meta": {
                    "progressToken": 7,
                    (CAPABILITIES): { "experimental": {}, "sampling": {} },
                },
            }
        });
        assert_eq!(kept_of(&request), expected);
    }

    #[test]
    fn what_is_small_or_no_request_stays_as_it_is() {
        for body in [
            r#"{"params":{"_meta":{"mine":1}}}"#.to_owned(),
            format!("[{}]", " ".repeat(SMALL)),
            "{".repeat(SMALL + 1),
        ] {
            assert_eq!(kept(Bytes::from(body.clone())), body.as_bytes());
        }
    }

    #[test]
    fn only_what_opens_a_session_or_a_stream_has_to_be_small() {
        let of = |method: &str, params: Value| {
            let request = json!({ "method": method, "params": params }).to_string();
            counted(request.as_bytes()).map(|counted| counted.len() == request.len())
        };
        let values = || json!(vec![0; 200]);
        let few = || json!(vec![0; 80]);
        for method in OPENING {
            assert_eq!(of(method, "x".repeat(MAX_OPENING).into()), None);
            assert_eq!(of(method, values()), None);
            assert_eq!(of(method, few()), Some(false));
            assert_eq!(of(method, json!({})), Some(true), "it is small");
        }
        assert_eq!(of("tools/call", values()), Some(true));
    }
}
