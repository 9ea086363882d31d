//! Refusals over HTTP: the common form of errors, `{"error": {"code", "message",
//! "retry_after_ms"?}}`.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use server_chat::refusal::Refusal;
use server_chat::refused_requests::Kind;

/// The default retry delay of overload, in milliseconds.
const DEFAULT_RETRY_MS: u64 = 1_000;

/// Why a request is refused before a tool is called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The requested host is missing or ambiguous.
    #[error("a request needs exactly one Host header")]
    HostUnclear,
    /// The server does not answer for this host.
    #[error(
        "this server does not answer for that Host; its operator allows hosts by --allow-hosts"
    )]
    HostNotAllowed,
    /// The request comes from a page of another site, by its Origin.
    #[error(
        "pages of that Origin may not call this server; its operator allows hosts by --allow-hosts"
    )]
    OriginNotAllowed,
    /// The request comes from a page of another site, by its Sec-Fetch-Site.
    #[error(
        "pages of other sites may not call this server: the browser sent Sec-Fetch-Site; open the \
         server's own page"
    )]
    SiteNotAllowed,
    /// A bearer token is required.
    #[error("this server asks for a token: send Authorization: Bearer and the token")]
    TokenRequired,
    /// The token is unknown.
    #[error("that bearer token is none of this server's")]
    TokenUnknown,
    /// The token has expired.
    #[error("that bearer token has expired; ask the server's operator for another")]
    TokenExpired,
    /// Too many wrong tokens came from one source.
    #[error("too many wrong tokens came from your address; a right one is taken at once")]
    TooManyTokens {
        /// The delay after which tokens of this source are checked again.
        retry_after_ms: u64,
    },
    /// The path is for operators.
    #[error("this takes an operator's token: send Authorization: Bearer and the token")]
    OperatorRequired,
    /// The path is for operators, and the token is not an operator's.
    #[error("this takes an operator's token: send Authorization: Bearer and the token")]
    NoOperator,
    /// The body is larger than the server takes.
    #[error("a body has at most {limit} bytes here")]
    BodyTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the body did not arrive within {seconds} s")]
    BodyTooSlow {
        /// The time limit.
        seconds: u64,
    },
    /// The body is compressed, or has another coding.
    #[error("a body is taken as it is: send it without Content-Encoding")]
    BodyEncoded,
    /// An OAuth client wants to register.
    #[error(
        "this server registers no OAuth clients: it takes a token that its operator gives, in \
         Authorization: Bearer"
    )]
    NoOAuth,
    /// The body ended early.
    #[error("the body broke off")]
    BodyBroken,
    /// The body is not a JSON object, or its headers contradict it.
    #[error("{0}")]
    BodyUnread(String),
    /// The server is overloaded.
    #[error("the server has too much to do; try again in a moment")]
    Overloaded,
    /// The body has too many values.
    #[error("a body has at most {limit} values here, the names of members among them")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
    /// A share, a pool, or the memory of the process is used up.
    #[error("{}", .0.message)]
    Full(Refusal),
    /// The server is shutting down.
    #[error("the server is shutting down; try again in a moment")]
    ShuttingDown,
    /// The route does not exist.
    #[error("there is nothing here; GET /openapi.json lists what there is")]
    NotFound,
    /// The route does not support the method.
    #[error("this route takes other methods; the Allow header lists them")]
    MethodNotAllowed,
}

impl Fault {
    /// The status, the code, and the kind of refusal for those that are counted by source.
    pub(super) const fn row(&self) -> (u16, &'static str, Option<Kind>) {
        match self {
            Self::HostUnclear => (400, "invalid_request", Some(Kind::Host)),
            Self::HostNotAllowed => (403, "host_not_allowed", Some(Kind::Host)),
            Self::OriginNotAllowed => (403, "origin_not_allowed", Some(Kind::Origin)),
            Self::SiteNotAllowed => (403, "site_not_allowed", Some(Kind::Site)),
            Self::TokenRequired => (401, "token_required", Some(Kind::NoToken)),
            Self::TokenUnknown => (401, "token_unknown", Some(Kind::WrongToken)),
            Self::TokenExpired => (401, "token_expired", Some(Kind::ExpiredToken)),
            Self::TooManyTokens { .. } => (429, "rate_limited", None),
            Self::OperatorRequired => (401, "operator_required", Some(Kind::NoToken)),
            Self::NoOperator => (401, "operator_required", Some(Kind::NoOperator)),
            Self::BodyTooLarge { .. } | Self::TooManyValues { .. } => (413, "body_too_large", None),
            Self::BodyTooSlow { .. } => (408, "body_too_slow", None),
            Self::BodyEncoded => (415, "body_encoded", None),
            Self::NoOAuth => (400, "invalid_request", None),
            Self::BodyBroken | Self::BodyUnread(_) => (400, "invalid_arguments", None),
            Self::Overloaded | Self::Full(_) => (503, "overloaded", None),
            Self::ShuttingDown => (503, "shutting_down", None),
            Self::NotFound => (404, "not_found", None),
            Self::MethodNotAllowed => (405, "method_not_allowed", None),
        }
    }
}

/// A refusal with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    status: StatusCode,
    refusal: Refusal,
}

/// The status with this number, which the rows of codes have.
pub(crate) fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::BAD_REQUEST)
}

impl From<Refusal> for HttpError {
    fn from(refusal: Refusal) -> Self {
        Self::with(status(refusal.status()), refusal)
    }
}

impl From<Fault> for HttpError {
    fn from(fault: Fault) -> Self {
        if let Fault::Full(refusal) = fault {
            return refusal.into();
        }
        let (number, code, _) = fault.row();
        let unavailable = number == 503;
        let retry_after_ms = if let Fault::TooManyTokens { retry_after_ms } = fault {
            Some(retry_after_ms)
        } else {
            unavailable.then_some(DEFAULT_RETRY_MS)
        };
        let refusal = Refusal {
            retry_after_ms,
            ..Refusal::new(code, fault.to_string())
        };
        Self::with(status(number), refusal)
    }
}

impl HttpError {
    /// A refusal with a status of the route's own.
    #[must_use]
    pub fn with(status: StatusCode, refusal: Refusal) -> Self {
        Self { status, refusal }
    }

    /// The status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The refusal.
    #[must_use]
    pub const fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        self.in_body(&serde_json::json!({ "error": &self.refusal }))
    }
}

impl HttpError {
    /// The response with this body.
    #[must_use]
    pub fn in_body(&self, body: &impl Serialize) -> Response {
        let mut response = json(self.status, body);
        let headers = response.headers_mut();
        if matches!(
            self.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            let ms = self.refusal.retry_after_ms.unwrap_or(DEFAULT_RETRY_MS);
            headers.insert(RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000).max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
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
