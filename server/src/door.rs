//! The door: what every request passes, whatever it asks for.
//!
//! In this order: the host that is meant, the page that asks, the bearer token, the body's size
//! and pace. What comes through carries a [`Caller`], and an [`Operator`] if it is one; tools,
//! pages and MCP alike read who calls from there.
//!
//! The caller's address is that of the connection. Behind a proxy all callers share the proxy's:
//! no X-Forwarded-For is read, since whoever connects could write one. There the proxy limits
//! rates, and bans are by name. TLS is the proxy's, too.

mod body;
mod hosts;
mod refused;
mod session;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::http::{Method, request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use chat_core::Address;

use crate::seat::Seat;
use crate::service::Service;

pub use hosts::{Allowed, AllowedHosts, HostError};
pub use refused::{Fault, Refused, json, not_found, other_method, written};
pub use tokens::{Token, Tokens, TokensError, Wrong};

use body::Bodies;

/// Where requests need no token: they say nothing of anybody.
pub const HEALTH: &[&str] = &["/healthz", "/readyz"];

/// Who calls, as far as the door knows. Every request that comes through carries one.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// From which place, for rate limits and bans.
    pub address: Address,
    /// Where the owner of the bearer token mints participants, if there is a token.
    pub seat: Option<Arc<Seat>>,
}

/// The name of the operator who calls. Requests of others carry none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator(pub Arc<str>);

/// How the door is kept.
#[derive(Debug)]
pub struct Options {
    /// The hosts that are answered for.
    pub hosts: AllowedHosts,
    /// The tokens of which every request needs one; none: nobody needs any.
    pub tokens: Option<Tokens>,
    /// The tokens by which operators are known; they open the door, too.
    pub operators: Option<Tokens>,
    /// Paths that need no token.
    pub open: Vec<&'static str>,
    /// The most bytes of a body.
    pub max_body: usize,
    /// How long a body may take.
    pub body_within: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hosts: AllowedHosts::default(),
            tokens: None,
            operators: None,
            open: HEALTH.to_vec(),
            max_body: 1_024 * 1_024,
            body_within: Duration::from_secs(30),
        }
    }
}

struct Door {
    service: Service,
    hosts: AllowedHosts,
    tokens: Option<Tokens>,
    operators: Option<Tokens>,
    open: Vec<&'static str>,
    bodies: Bodies,
}

/// Puts the door before the whole app: every route that it has by now, and its fallback. With
/// tokens there is `/session` besides, where the page exchanges one for a cookie. A method that a
/// route does not take is told in the shape of all errors.
pub fn guard(app: Router, service: Service, options: Options) -> Router {
    let app = if options.tokens.is_some() || options.operators.is_some() {
        let session = post(session::open).delete(session::close);
        app.route("/session", session)
    } else {
        app
    };
    let door = Door {
        service,
        hosts: options.hosts,
        tokens: options.tokens,
        operators: options.operators,
        open: options.open,
        bodies: Bodies::new(options.max_body, options.body_within),
    };
    // Bodies are limited here already.
    app.method_not_allowed_fallback(other_method)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::new(door), pass))
}

async fn pass(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    match door.admit(request).await {
        Ok(request) => next.run(request).await,
        Err(fault) => Refused::from(fault).into_response(),
    }
}

impl Door {
    async fn admit(&self, request: Request) -> Result<Request, Fault> {
        let (mut head, body) = request.into_parts();
        self.hosts.check(&head.uri, &head.headers)?;
        let operator = self.known(&head)?;
        let caller = Caller {
            address: self.address(&head),
            seat: operator.seat,
        };
        head.extensions.insert(caller);
        if let Some(name) = operator.operator {
            head.extensions.insert(Operator(name));
        }
        let body = self.bodies.read(&head.headers, body).await?;
        Ok(Request::from_parts(head, Body::from(body)))
    }

    fn address(&self, head: &request::Parts) -> Address {
        head.extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map_or_else(Address::default, |ConnectInfo(peer)| {
                self.service.address(peer.ip())
            })
    }

    /// Who is behind the request's token; and whether it may come in without one.
    fn known(&self, head: &request::Parts) -> Result<Known, Fault> {
        let sent = bearer(&head.headers).or_else(|| {
            session::kept(&head.headers).filter(|_| hosts::is_same_origin(&head.headers))
        });
        let known = sent.map(|token| self.find(token)).unwrap_or_default();
        let is_open = self.open.contains(&head.uri.path())
            // Whoever lost its token may still throw its cookie away.
            || (head.uri.path() == "/session" && head.method == Method::DELETE);
        if self.tokens.is_none() || known.seat.is_some() || is_open {
            return Ok(known);
        }
        Err(match sent {
            Some(_) => Fault::TokenUnknown,
            None => Fault::TokenRequired,
        })
    }

    fn find(&self, token: &str) -> Known {
        let find = |tokens: &Option<Tokens>| {
            let found = tokens.as_ref()?.find(token)?;
            Some((found.name(), found.seat()))
        };
        let (caller, operator) = (find(&self.tokens), find(&self.operators));
        let seat = caller.as_ref().or(operator.as_ref());
        Known {
            seat: seat.map(|(_, seat)| Arc::clone(seat)),
            operator: operator.map(|(name, _)| name),
        }
    }
}

/// Who is behind a token.
#[derive(Default)]
struct Known {
    seat: Option<Arc<Seat>>,
    operator: Option<Arc<str>>,
}

/// The token of the Authorization header (RFC 6750, section 2.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
