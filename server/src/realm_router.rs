//! Several chats in one server, each a realm of its own: names, rooms and handles of one mean nothing
//! in another.
//!
//! | a request names its realm by | as in |
//! |---|---|
//! | its path | `/r/arena/mcp` |
//! | its host | `arena.example.org`, if the realm has that host |
//! | its bearer token | a line of the token file with `realm=arena` |
//!
//! In this order. All other requests are for the first realm, which is there without a name.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use server_settings::Realm;
use tower::ServiceExt as _;

use crate::guard::{NoRealmNamed, TokenFile, bearer};

/// The beginning of the paths that name a realm.
const PATH: &str = "/r/";

/// A realm's routes, with what leads to them.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) realm: Realm,
    /// The files with tokens for this realm.
    pub(crate) tokens: Vec<Arc<TokenFile>>,
    pub(crate) app: Router,
}

/// The routes of all realms, of which the first is the one without a name. Each realm's routes check
/// the request as if there were no other: a path of an unknown realm is one that the first does not
/// have.
pub(crate) fn router(mut realms: Vec<Served>) -> Router {
    if realms.len() == 1 {
        return realms.remove(0).app;
    }
    let realms: Arc<[Served]> = realms.into();
    let serve = move |request: Request| {
        let realms = Arc::clone(&realms);
        async move { dispatch(&realms, request).await }
    };
    Router::new().fallback(serve)
}

async fn dispatch(realms: &[Served], mut request: Request) -> Response {
    let found = match by_path(realms, request.uri()) {
        Some((served, rest)) => {
            *request.uri_mut() = rest;
            served
        }
        None => {
            let named = by_host(realms, &request);
            let named = named.or_else(|| by_token(realms, request.headers()));
            named.unwrap_or_else(|| {
                request.extensions_mut().insert(NoRealmNamed);
                &realms[0]
            })
        }
    };
    let answer = found.app.clone().oneshot(request).await;
    answer.unwrap_or_else(|never| match never {})
}

/// The realm that a path names, and the path within it.
fn by_path<'a>(realms: &'a [Served], uri: &Uri) -> Option<(&'a Served, Uri)> {
    let path = uri.path().strip_prefix(PATH)?;
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let served = realms.iter().find(|served| *served.realm.name == *name)?;
    let query = uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("/{rest}{query}")).ok()?);
    Some((served, Uri::from_parts(parts).ok()?))
}

/// The realm whose host is requested.
fn by_host<'a>(realms: &'a [Served], request: &Request<Body>) -> Option<&'a Served> {
    let header = request.headers().get(HOST);
    let header = || header?.to_str().ok()?.parse().ok();
    let wanted: Authority = request.uri().authority().cloned().or_else(header)?;
    realms.iter().find(|served| {
        served.realm.host.as_ref().is_some_and(|host| {
            host.host().eq_ignore_ascii_case(wanted.host())
                && (host.port().is_none() || host.port_u16() == wanted.port_u16())
        })
    })
}

/// The realm that alone accepts the request's token.
fn by_token<'a>(realms: &'a [Served], headers: &HeaderMap) -> Option<&'a Served> {
    let token = bearer(headers)?;
    let binds = |served: &&Served| served.tokens.iter().any(|file| file.binds(token));
    realms.iter().find(binds)
}
