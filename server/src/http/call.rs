//! A request as a call: its caller, and the arguments in its body.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::http::request::Parts;
use serde_json::{Map, Value};
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::service::RequestOrigin;

use super::HANDLE_HEADER;
use crate::guard::{Fault, HttpError, has_json};

/// The largest number of characters of a handle that is looked up.
const MAX_HANDLE: usize = 128;

/// A POST: its caller and its arguments.
#[derive(Debug)]
pub(super) struct PostedCall {
    pub(super) origin: RequestOrigin,
    pub(super) arguments: Map<String, Value>,
}

impl<S: Sync> FromRequest<S> for PostedCall {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &S) -> Result<Self, HttpError> {
        let (head, body) = request.into_parts();
        let origin = origin(&head)?;
        let body = whole(body).await?;
        let arguments = arguments(&head.headers, &body)?;
        Ok(Self { origin, arguments })
    }
}

/// The origin of a call: the guard's caller, and the handle in the header.
pub(super) fn origin(head: &Parts) -> Result<RequestOrigin, HttpError> {
    let origin = head.extensions.get::<RequestOrigin>().cloned();
    Ok(RequestOrigin {
        handle: handle(&head.headers)?,
        ..origin.unwrap_or_default()
    })
}

fn handle(headers: &HeaderMap) -> Result<Option<Handle>, HttpError> {
    let wrong = || Refusal::invalid("Chat-Handle must be one handle, as the server gave it".into());
    let mut values = headers.get_all(HANDLE_HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| wrong())?;
    if values.next().is_some() || text.len() > MAX_HANDLE {
        return Err(wrong().into());
    }
    // As an argument, an empty one is none.
    Ok((!text.is_empty()).then(|| Handle::given(text)))
}

/// Returns the body, which the guard has already read and limited.
async fn whole(body: Body) -> Result<Bytes, HttpError> {
    to_bytes(body, usize::MAX)
        .await
        .map_err(|_| Fault::BodyBroken.into())
}

/// The object in the body; an empty object if there is no body.
fn arguments(headers: &HeaderMap, body: &Bytes) -> Result<Map<String, Value>, HttpError> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    check_type(headers)?;
    let unread = |why: String| HttpError::from(Fault::BodyUnread(why));
    let text = std::str::from_utf8(body).map_err(|error| {
        unread(format!(
            "the body is not UTF-8 from byte {} on",
            error.valid_up_to()
        ))
    })?;
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(unread("the body must be a JSON object".into())),
        Err(error) => Err(unread(not_json(&error))),
    }
}

/// Where a body ceases to be JSON. The library's own words are for programmers.
fn not_json(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let how = match error.is_eof() {
        true => "ends too early",
        false => "is not JSON",
    };
    format!("the body {how}: see line {line}, column {column}")
}

fn check_type(headers: &HeaderMap) -> Result<(), HttpError> {
    let why = match headers.contains_key(CONTENT_TYPE) {
        true if has_json(headers) => return Ok(()),
        true => "the body must be JSON: send the header Content-Type: application/json",
        false => "send the header Content-Type: application/json with the body",
    };
    Err(Fault::BodyUnread(why.into()).into())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(kind: Option<&'static str>, body: &'static [u8]) -> Result<Map<String, Value>, String> {
        let mut headers = HeaderMap::new();
        if let Some(kind) = kind {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        arguments(&headers, &Bytes::from_static(body)).map_err(|refused| refused.0.message.clone())
    }

    const JSON: Option<&str> = Some("application/json");

    #[test]
    fn a_body_is_an_object_or_nothing() {
        assert_eq!(read(None, b""), Ok(Map::new()));
        assert_eq!(read(JSON, b" {} "), Ok(Map::new()));
        let with_charset = Some("Application/JSON; charset=utf-8");
        assert_eq!(read(with_charset, b"{}"), Ok(Map::new()));
    }

    #[test]
    fn what_is_none_is_told_how() {
        let wrong = |kind, body| read(kind, body).unwrap_err();
        assert!(wrong(None, b"{}").contains("send the header Content-Type"));
        assert!(wrong(Some("text/plain"), b"{}").contains("must be JSON"));
        assert_eq!(wrong(JSON, b"[1]"), "the body must be a JSON object");
        assert_eq!(
            wrong(JSON, b"{\"a\":\"\xff\"}"),
            "the body is not UTF-8 from byte 6 on"
        );
        assert_eq!(
            wrong(JSON, b"{\"a\":"),
            "the body ends too early: see line 1, column 5"
        );
        assert_eq!(
            wrong(JSON, b"{\"a\":1e999}"),
            "the body is not JSON: see line 1, column 10"
        );
    }
}
