//! Every request as operators see it: counted and timed by its route, and logged on demand.
//!
//! Neither names a path, a query or a header: they may hold secrets, and have no bound. The time is
//! that until the answer begins, so a waiting check counts with its wait.

use std::net::SocketAddr;
use std::time::Instant;

use axum::Router;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::{self, Next};
use axum::response::Response;
use server_chat::metrics::Row;
use server_chat::service::Service;

use crate::guard::NameOfToken;
use crate::web;

/// The log target of requests.
pub const LOG: &str = "talking_stick::access";

/// Wraps the whole app: all its current routes, and its fallback.
pub fn watch(app: Router, service: Service, is_logged: bool) -> Router {
    app.layer(middleware::from_fn_with_state((service, is_logged), pass))
}

async fn pass(
    State((service, is_logged)): State<(Service, bool)>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let route = route(&request);
    let method = method(request.method());
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map(|ConnectInfo(peer)| peer.ip().to_canonical());
    let response = next.run(request).await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    let metrics = service.node().metrics();
    metrics.took(Row::HttpRequestSeconds, &route, took);
    metrics.count(Row::HttpResponses, &format!("{route} {status}"));
    if is_logged {
        let source = peer.map(tracing::field::display);
        let token = response.extensions().get::<NameOfToken>();
        let token = token.map(|name| &*name.0);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::info!(target: LOG, method, route, status, micros, source, token, "request");
    }
    response
}

/// The route that a request reached, of which there are few.
fn route(request: &Request) -> String {
    match request.extensions().get::<MatchedPath>() {
        // The page has many files.
        Some(path) if web::is_file(path.as_str()) => "page".into(),
        Some(path) => path.as_str().into(),
        None => "none".into(),
    }
}

/// The method, of which clients may invent more.
fn method(method: &Method) -> &'static str {
    let known = ["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"];
    let known = known.into_iter().find(|known| method == known);
    known.unwrap_or("other")
}
