//! Plain HTTP: every tool as a POST, the inbox as a stream of events, and views of participants and
//! rooms.
//!
//! All requests pass the guard first, see [`crate::guard`]. Answers are JSON; refusals are
//! `{"error": {code, message, retry_after_ms?}}` with a matching status. The handle is passed in
//! the header `Chat-Handle`, or as the argument `handle`, and never in an address, which may be
//! logged.

mod admin;
mod chat;
mod events;
mod older;
mod openapi;
mod views;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use server_chat::refusal::Refusal;
use server_chat::service::Service;
use tokio_util::sync::CancellationToken;

use crate::guard::{HttpError, not_found, other_method};

pub use openapi::{TITLE, document};

use older::OlderClients;
use views::Views;

/// The header with a caller's handle.
pub const HANDLE_HEADER: &str = "chat-handle";

/// The options of plain HTTP.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Whether a name identifies a participant, as the older client expects.
    pub trust_usernames: bool,
    /// How long an older client may hold the stick without a message.
    pub older_turn: Duration,
    /// Whether the operators' routes exist, for callers that the guard has identified as such.
    pub operators: bool,
    /// The time of silence after which a stream sends a comment.
    pub keep_alive: Duration,
    /// Cancelled at the start of a shutdown: from then on the server is not ready.
    pub closing: CancellationToken,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            trust_usernames: false,
            older_turn: Duration::from_secs(30),
            operators: false,
            keep_alive: Duration::from_secs(15),
            closing: CancellationToken::new(),
        }
    }
}

/// State shared by the handlers.
#[derive(Debug)]
struct Shared {
    service: Service,
    options: HttpOptions,
    views: Views,
    older: Option<OlderClients>,
    document: String,
}

type Http = Arc<Shared>;

/// What a handler gives.
type Served = Result<Response, HttpError>;

/// The routes of plain HTTP, and the fallback. The app that combines them with the other routes
/// must be wrapped by [`crate::guard::wrap`].
pub fn router(service: Service, options: &HttpOptions) -> Router {
    let shared = Shared {
        service,
        options: options.clone(),
        views: Views::default(),
        older: options.trust_usernames.then(OlderClients::default),
        document: document(options.operators).to_string(),
    };
    let routes = chat::routes()
        .route("/events", get(events::events))
        .route("/users", get(views::users))
        .route("/overview", get(views::overview))
        .route("/healthz", get(views::healthz))
        .route("/readyz", get(views::readyz))
        .route("/openapi.json", get(openapi::served));
    let routes = match options.operators {
        false => routes,
        true => routes.nest("/admin", admin::routes()),
    };
    routes
        .method_not_allowed_fallback(other_method)
        .fallback(not_found)
        .with_state(Arc::new(shared))
}

/// The refusal of a request that says what its route does not take.
fn invalid(why: &str) -> HttpError {
    Refusal::invalid(why.into()).into()
}
