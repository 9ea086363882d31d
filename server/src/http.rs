//! Plain HTTP: every tool as a POST, the inbox as a stream of events, and views of participants and
//! rooms.
//!
//! All requests pass the guard first, see [`crate::guard`]. Answers are JSON; refusals are
//! `{"error": {code, message, retry_after_ms?}}` with a matching status. The handle is passed in
//! the header `Chat-Handle`, or as the argument `handle`, and never in an address, which may be
//! logged.

mod admin;
mod call;
mod chat;
mod events;
mod frames;
mod health;
mod older;
mod openapi;
mod views;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use server_chat::service::Service;
use server_settings::Usernames;
use tokio_util::sync::CancellationToken;

use crate::guard::{not_found, other_method};

pub use openapi::{TITLE, document};

use older::OlderClients;
use views::Views;

/// The header with a caller's handle.
pub const HANDLE_HEADER: &str = "chat-handle";

/// The options of plain HTTP.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Whether a name identifies a participant, as the older client expects.
    pub usernames: Usernames,
    /// How long an older client may hold the stick without a message.
    pub older_turn: Duration,
    /// Whether there are operators.
    pub admin: Admin,
    /// The time of silence after which a stream sends a comment.
    pub keep_alive: Duration,
    /// Cancelled at the start of a shutdown: from then on the server is not ready.
    pub closing: CancellationToken,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            usernames: Usernames::NotTrusted,
            older_turn: Duration::from_secs(30),
            admin: Admin::Absent,
            keep_alive: Duration::from_secs(15),
            closing: CancellationToken::new(),
        }
    }
}

/// Whether the operators' routes exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admin {
    /// They do not.
    #[default]
    Absent,
    /// They exist, for callers that the guard has identified as operators.
    Served,
}

/// State shared by the handlers.
#[derive(Debug)]
struct Shared {
    service: Service,
    keep_alive: Duration,
    closing: CancellationToken,
    views: Views,
    older: Option<OlderClients>,
    document: String,
    admin: Admin,
}

type Http = Arc<Shared>;

/// The routes of plain HTTP, and the fallback. The app that combines them with the other routes
/// must be wrapped by [`crate::guard::wrap`].
pub fn router(service: Service, options: &HttpOptions) -> Router {
    let shared = Shared {
        service,
        keep_alive: options.keep_alive,
        closing: options.closing.clone(),
        views: Views::default(),
        older: match options.usernames {
            Usernames::NotTrusted => None,
            Usernames::Trusted => Some(OlderClients::new(options.older_turn)),
        },
        document: document(options.admin).to_string(),
        admin: options.admin,
    };
    let routes = chat::routes()
        .route("/events", get(events::events))
        .route("/users", get(views::users))
        .route("/overview", get(views::overview))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/openapi.json", get(openapi::served));
    let routes = match options.admin {
        Admin::Absent => routes,
        Admin::Served => routes.nest("/admin", admin::routes()),
    };
    routes
        .method_not_allowed_fallback(other_method)
        .fallback(not_found)
        .with_state(Arc::new(shared))
}
