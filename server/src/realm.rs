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

use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use tower::ServiceExt as _;

use crate::guard::{TokenFile, bearer};

/// The name of the first realm, if the settings give it no other.
pub const FIRST: &str = "main";

/// The largest number of realms besides the first.
pub const MAX_REALMS: usize = 32;

/// The largest number of characters of a name.
const MAX_NAME: usize = 32;

/// The beginning of the paths that name a realm.
const PATH: &str = "/r/";

/// A realm besides the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Realm {
    /// Its name.
    pub name: Arc<str>,
    /// The host that names it, if there is one.
    pub host: Option<Authority>,
}

/// A text that is no realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a name of 1 to 32 letters of a to z, digits and dashes, or a name and its host, as in \
     arena=arena.example.org"
)]
pub struct RealmError;

impl FromStr for Realm {
    type Err = RealmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, host) = match text.split_once('=') {
            Some((name, host)) => (name, Some(host)),
            None => (text, None),
        };
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = (1..=MAX_NAME).contains(&name.len()) && name.chars().all(fits);
        let host = match host.map(Authority::from_str) {
            Some(Ok(host)) if host.as_str().contains(['@', '*']) => Err(RealmError),
            Some(Ok(host)) => Ok(Some(host)),
            Some(Err(_)) => Err(RealmError),
            None => Ok(None),
        };
        match is_name {
            true => Ok(Self {
                name: name.into(),
                host: host?,
            }),
            false => Err(RealmError),
        }
    }
}

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
        None => by_host(realms, &request)
            .or_else(|| by_token(realms, request.headers()))
            .unwrap_or(&realms[0]),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_has_a_plain_name_and_may_have_a_host() {
        let realm = |text: &str| text.parse::<Realm>();
        assert_eq!(&*realm("arena-2").unwrap().name, "arena-2");
        let hosted = realm("arena=arena.example.org:8894").unwrap();
        assert_eq!(hosted.host.unwrap().as_str(), "arena.example.org:8894");
        for text in [
            "",
            "Arena",
            "a/b",
            "a b",
            "ü",
            "a=",
            "a=b c",
            "a=u@h",
            "=h",
            &"a".repeat(33),
        ] {
            assert_eq!(realm(text), Err(RealmError), "{text}");
        }
    }
}
