//! Clients of OAuth that try to register here: they read an error of that protocol alone.
//!
//! A client that found no description of an authorization server tries the usual paths (RFC 8414, and the
//! authorization of MCP). Its registration goes to `/register`, which is the chat's own.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::http_error::{Fault, json};

/// The member that the registration of a client has (RFC 7591, section 2), and no registration here.
#[derive(Deserialize)]
struct ClientMetadata {
    #[serde(rename = "redirect_uris")]
    _redirect_uris: IgnoredAny,
}

/// Why this body of a registration is refused, if an OAuth client sent it.
pub(super) fn fault(body: &[u8]) -> Option<Fault> {
    let metadata = serde_json::from_slice::<ClientMetadata>(body);
    metadata.is_ok().then_some(Fault::NoOAuth)
}

/// The refusal in the form of RFC 7591, section 3.2.2, whose `error` is a text.
pub(super) fn refused() -> Response {
    let (error, description) = ("access_denied", Fault::NoOAuth.to_string());
    let body = json!({ "error": error, "error_description": description });
    json(StatusCode::BAD_REQUEST, &body)
}
