//! Refusals over HTTP: the common form of errors, `{"error": {"code", "message",
//! "retry_after_ms"?}}`.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use server_chat::refusal::Refusal;
use server_chat::refused_requests::Kind;

use crate::headers::is_of_type;

/// The default retry delay of overload, in milliseconds.
const DEFAULT_RETRY_MS: u64 = 1_000;

/// Generates the faults: each with its code, its kind if it is counted by source, and its sentence.
macro_rules! faults {
    (@kind) => { None };
    (@kind $kind:ident) => { Some(Kind::$kind) };
    ($(
        $(#[$doc:meta])*
        $name:ident $(($value:ty))? $code:literal $($kind:ident)? [$($sentence:tt)+]
    )*) => {
        /// Why a request is refused before a tool is called.
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        pub enum Fault {
            $($(#[$doc])* #[error($($sentence)+)] $name $(($value))?,)*
        }

        impl Fault {
            /// The code, and the kind of refusal for those that are counted by source.
            pub(super) const fn row(&self) -> (&'static str, Option<Kind>) {
                match self {
                    $(Self::$name { .. } => ($code, faults!(@kind $($kind)?)),)*
                }
            }
        }
    };
}

faults! {
    /// The requested host is missing or ambiguous.
    HostUnclear "invalid_request" Host ["a request needs exactly one Host header"]
    /// The server does not answer for this host.
    HostNotAllowed "host_not_allowed" Host
        ["this server does not answer for that Host; its operator allows hosts by --allow-hosts"]
    /// The request comes from a page of another site, by its Origin.
    OriginNotAllowed "origin_not_allowed" Origin
        ["pages of that Origin may not call this server; its operator allows hosts by --allow-hosts"]
    /// The request comes from a page of another site, by its Sec-Fetch-Site.
    SiteNotAllowed "site_not_allowed" Site
        ["pages of other sites may not call this server: the browser sent Sec-Fetch-Site; open the \
          server's own page"]
    /// A bearer token is required.
    TokenRequired "token_required" NoToken
        ["this server asks for a token: send Authorization: Bearer and the token"]
    /// The token is unknown.
    TokenUnknown "token_unknown" WrongToken ["this server does not know that bearer token"]
    /// The token has expired.
    TokenExpired "token_expired" ExpiredToken
        ["that bearer token has expired; ask the server's operator for another"]
    /// Too many wrong tokens came from one source: its tokens are checked again after so many
    /// milliseconds.
    TooManyTokens(u64) "rate_limited"
        ["too many wrong tokens came from your address; a right one is taken at once"]
    /// The path is for operators.
    OperatorRequired "operator_required" NoToken
        ["this takes an operator's token: send Authorization: Bearer and the token"]
    /// The path is for operators, and the token is not an operator's.
    NoOperator "operator_required" NoOperator
        ["this takes an operator's token: send Authorization: Bearer and the token"]
    /// The body is larger than the server takes.
    BodyTooLarge(usize) "body_too_large" ["a body has at most {0} bytes here"]
    /// The body did not arrive in time, in seconds.
    BodyTooSlow(u64) "body_too_slow" ["the body did not arrive within {0} s"]
    /// The body is compressed, or has another coding.
    BodyEncoded "body_encoded" ["a body is taken as it is: send it without Content-Encoding"]
    /// An OAuth client wants to register.
    NoOAuth "invalid_request"
        ["this server registers no OAuth clients: it takes a token that its operator gives, in \
          Authorization: Bearer"]
    /// The body ended early.
    BodyBroken "invalid_arguments" ["the body broke off"]
    /// The body is not a JSON object, or its headers contradict it.
    BodyUnread(String) "invalid_arguments" ["{0}"]
    /// The server is overloaded.
    Overloaded "overloaded" ["the server has too much to do; try again in a moment"]
    /// The body has too many values.
    TooManyValues(usize) "body_too_large"
        ["a body has at most {0} values here, the names of members among them"]
    /// A share, a pool, or the memory of the process is used up: which, says the refusal, which is the
    /// answer.
    Full(Refusal) "overloaded" ["a share, a pool, or the memory is used up"]
    /// The server is shutting down.
    ShuttingDown "shutting_down" ["the server is shutting down; try again in a moment"]
    /// The route does not exist.
    NotFound "not_found" ["there is nothing here; GET /openapi.json lists what there is"]
    /// The route does not support the method.
    MethodNotAllowed "method_not_allowed"
        ["this route takes other methods; the Allow header lists them"]
}

/// A refusal over HTTP, with the status of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError(pub(crate) Refusal);

/// The status of a refusal.
pub(crate) fn status(refusal: &Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST)
}

impl From<Refusal> for HttpError {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<Fault> for HttpError {
    fn from(fault: Fault) -> Self {
        if let Fault::Full(refusal) = fault {
            return refusal.into();
        }
        let (code, _) = fault.row();
        let mut refusal = Refusal::new(code, fault.to_string());
        if let Fault::TooManyTokens(wait) = fault {
            refusal.retry_after_ms = Some(wait);
        } else if refusal.status() == 503 {
            refusal.retry_after_ms = Some(DEFAULT_RETRY_MS);
        }
        Self(refusal)
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        self.in_body(&serde_json::json!({ "error": &self.0 }))
    }
}

impl HttpError {
    /// The response with this body.
    pub(crate) fn in_body(&self, body: &impl Serialize) -> Response {
        let status = status(&self.0);
        let mut response = json(status, body);
        let headers = response.headers_mut();
        if matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            let ms = self.0.retry_after_ms.unwrap_or(DEFAULT_RETRY_MS);
            headers.insert(RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000).max(1)));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Whether a message has JSON, by its content type.
pub(crate) fn has_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| is_of_type(kind, "application/json"))
}

/// A JSON answer, with the headers that keep it out of caches.
///
/// # Panics
/// The value has a map with keys that are no strings, which no answer has.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).expect("keys are strings");
    written(status, text.into())
}

/// A serialised JSON answer.
pub fn written(status: StatusCode, text: Body) -> Response {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The answer for an unknown route.
pub async fn not_found() -> Response {
    HttpError::from(Fault::NotFound).into_response()
}

/// The answer for an unsupported method. The router adds the supported ones, which is all that
/// OPTIONS needs: pages of other sites are not served, so there are no permissions to grant.
pub async fn other_method(method: Method) -> Response {
    if method == Method::OPTIONS {
        return StatusCode::NO_CONTENT.into_response();
    }
    HttpError::from(Fault::MethodNotAllowed).into_response()
}

/// The member that the registration of a client has (RFC 7591, section 2), and no registration here.
#[derive(Deserialize)]
struct ClientMetadata {
    #[serde(rename = "redirect_uris")]
    _redirect_uris: IgnoredAny,
}

/// Why this body of a registration is refused, if an OAuth client sent it. Such clients read an error
/// of that protocol alone: one that found no description of an authorization server tries the usual
/// paths (RFC 8414, and the authorization of MCP), and its registration goes to `/register`, which is
/// the chat's own.
pub(super) fn oauth_fault(body: &[u8]) -> Option<Fault> {
    let metadata = serde_json::from_slice::<ClientMetadata>(body);
    metadata.is_ok().then_some(Fault::NoOAuth)
}

/// The refusal in the form of RFC 7591, section 3.2.2, whose `error` is a text.
pub(super) fn oauth_refused() -> Response {
    let (error, description) = ("access_denied", Fault::NoOAuth.to_string());
    let body = serde_json::json!({ "error": error, "error_description": description });
    json(StatusCode::BAD_REQUEST, &body)
}
