//! Batches: several messages in one request, which revision 2025-03-26 alone has.
//!
//! Each message is served as a request of its own, in order, and the answers form a list.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// The most messages of a batch: each has an answer, and all wait for the last one.
const MOST: usize = 16;

/// The largest answer to one message in bytes; the server's own are smaller.
const MAX_ANSWER: usize = 4 << 20;

/// The messages of a batch; none if the body is something else.
pub(super) fn of(body: &[u8]) -> Option<Vec<Value>> {
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
pub(super) fn check(messages: &[Value]) -> Result<(), String> {
    if !(1..=MOST).contains(&messages.len()) {
        return Err(format!("a batch has 1 to {MOST} messages here"));
    }
    if messages.iter().any(|one| one["method"] == "initialize") {
        return Err("initialize is no part of a batch".into());
    }
    Ok(())
}

/// Serves the messages with the head of their request.
pub(super) async fn serve(mut head: Parts, messages: Vec<Value>, next: Next) -> Response {
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
    let json = (header::CONTENT_TYPE, "application/json");
    ([json], Value::from(answers).to_string()).into_response()
}

/// The answer to one message; none to a notification.
async fn answer(response: Response, id: &Value) -> Option<Value> {
    if response.status() == StatusCode::ACCEPTED {
        return None;
    }
    let body = to_bytes(response.into_body(), MAX_ANSWER).await;
    let body = body.unwrap_or_default();
    let said = parsed(&body).unwrap_or_else(|| {
        let error = json!({ "code": -32_600, "message": "this is no message of MCP" });
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
