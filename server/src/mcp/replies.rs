//! The library's few answers that say too little, put into words that a client can act on.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::sessions::Sessions;

/// When a client should come again that found no room for its session.
const RETRY_SECONDS: &str = "5";

/// Answers what is no JSON-RPC as JSON-RPC asks for, and says of a full server that it is full. A
/// session that was opened with another bearer token is not there.
pub(super) async fn in_words(
    State(sessions): State<Arc<Sessions>>,
    request: Request,
    next: Next,
) -> Response {
    let is_json = has_json(request.headers());
    let ends = request.method() == Method::DELETE;
    let (head, body) = request.into_parts();
    let session = head.headers.get("mcp-session-id");
    let opens = session.is_none();
    if let Some(Ok(id)) = session.map(HeaderValue::to_str)
        && sessions.is_anothers(id, &head)
    {
        return error(StatusCode::NOT_FOUND, -32_001, "there is no such session");
    }
    let request = Request::from_parts(head, body);
    let response = next.run(request).await;
    match response.status() {
        // The content type was right: so it is the body that cannot be read.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => error(
            StatusCode::BAD_REQUEST,
            -32_700,
            "the body is no JSON-RPC message of MCP",
        ),
        // Some clients take nothing but this for the end of their session.
        StatusCode::ACCEPTED if ends => StatusCode::NO_CONTENT.into_response(),
        StatusCode::INTERNAL_SERVER_ERROR if opens && sessions.are_full() => {
            let message = "there are as many sessions as there may be; try again later";
            let mut response = error(StatusCode::SERVICE_UNAVAILABLE, -32_603, message);
            let after = HeaderValue::from_static(RETRY_SECONDS);
            response.headers_mut().insert(header::RETRY_AFTER, after);
            response
        }
        _ => response,
    }
}

fn has_json(headers: &HeaderMap) -> bool {
    let essence = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map(|value| value.split(';').next().unwrap_or_default().trim());
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
}

fn error(status: StatusCode, code: i32, message: &str) -> Response {
    let body = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": code, "message": message }
    });
    let json = (header::CONTENT_TYPE, "application/json");
    (status, [json], body.to_string()).into_response()
}
