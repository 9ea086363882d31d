//! The guard: checks that every request passes.
//!
//! In this order: the requested host, the page and the site that the request comes from, the bearer
//! token, the rate of its source, the size and pace of its body. A request that passes carries a
//! [`RequestOrigin`], by which tools, pages and MCP identify the caller, and the tokens that it has.
//!
//! The caller's address is that of the connection. Behind a proxy all callers share the proxy's
//! address: X-Forwarded-For is not read, because any client could forge it. There the proxy must
//! limit rates, and bans must be by name. TLS is the proxy's task, too.
//!
//! A page of any site can make its visitor's browser send requests to a server on the visitor's own
//! machine. Two checks prevent that. The Origin header names the page's site, which must be an
//! allowed host. And if the site's name resolves to the server's address (DNS rebinding), the Host
//! header still contains that name, which is not allowed. A page cannot know a token, and its browser
//! sends no cookie to a name that set none; so a request with a valid token may name any host, as a
//! monitor does that finds the server by its address.
//!
//! Every request, also a refused one, is counted and timed by its route, and logged on demand. Neither
//! names a path, a query or a header: they may hold secrets, and have no bound. The time is that until
//! the answer begins, so a waiting check counts with its wait.
//!
//! A browser sends no Origin for images, forms and links. Its Sec-Fetch-Site header (W3C Fetch
//! Metadata) names the relation of the initiator. Only the server's own page and its user may cause
//! a request; links of other sites may only lead to the page's files.

mod body;
mod http_error;
mod session;
mod tokens;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{
    AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{Method, Uri, request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use chat_core::{Address, Config, Reject};
use futures_util::StreamExt as _;
use futures_util::future::OptionFuture;
use server_chat::capacity::{MAX_WAIT, Source};
use server_chat::metrics::Row;
use server_chat::refusal::Refusal;
use server_chat::refused_requests::{LOG, Peer};
use server_chat::scope::CallerScope;
use server_chat::service::{RequestOrigin, Service};
use server_chat::task;
use server_settings::realm;
use server_storage::{blocking, clock};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::web;

pub(crate) use body::scan;
pub use body::{RequestCharge, SMALL_BODY, cost};
pub use http_error::{Fault, HttpError, json, not_found, other_method, written};
pub(crate) use http_error::{has_json, status};
pub use session::SESSIONS;
pub use tokens::{RealmOfTokens, TokenFile, TokensError, Wrong, new_token};

use body::{Bodies, Unsent};
use http_error::{oauth_fault, oauth_refused};
use session::PageSessions;
use tokens::Token;

/// The paths that need no token: they reveal nothing about users.
pub const HEALTH: &[&str] = &["/healthz", "/readyz"];

/// A part of the paths where servers describe themselves (RFC 8615).
const WELL_KNOWN: &str = "/.well-known/";

/// The prefix of paths for operators.
const OPERATORS: &str = "/admin/";

/// The largest body in bytes, with the default length of messages.
const MAX_BODY: usize = 128 * 1_024;

/// The largest body in bytes, with any length of messages.
const MOST_BODY: usize = 1_024 * 1_024;

/// The largest size of a character in JSON: two escapes of six bytes.
const CHARACTER: usize = 12;

/// The largest body in bytes, with the configured lengths of messages and drafts.
#[must_use]
pub fn max_body(config: &Config) -> usize {
    let longest = config.max_message.max(config.max_draft) as usize;
    let whole = longest
        .saturating_mul(CHARACTER)
        .saturating_add(MAX_BODY / 2);
    whole.clamp(MAX_BODY, MOST_BODY)
}

/// The time between two checks of the token files and of expired tokens.
const LOOK: Duration = Duration::from_secs(1);

/// The name of the operator that sent the request. Extraction refuses a request without an operator's
/// token.
#[derive(Debug)]
pub(crate) struct Operator(pub(crate) Arc<str>);

impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = HttpError;

    async fn from_request_parts(head: &mut request::Parts, _: &S) -> Result<Self, HttpError> {
        let known = head.extensions.get::<Known>();
        let operator = known.and_then(|known| known.operator.as_ref());
        let name = operator.map(|operator| Arc::clone(&operator.name));
        name.map(Self).ok_or_else(|| Fault::OperatorRequired.into())
    }
}

/// A request that names no realm, so that its answer may concern the whole process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRealmNamed;

/// The caller of a request that the guard has admitted.
pub(crate) fn caller(head: &request::Parts) -> RequestOrigin {
    let caller = head.extensions.get::<RequestOrigin>().cloned();
    caller.unwrap_or_default()
}

/// The options of the guard.
#[derive(Debug)]
pub struct GuardOptions {
    /// The hosts that the server answers for.
    pub hosts: AllowedHosts,
    /// The tokens of users; if there are none, no request needs a token.
    pub tokens: Option<Arc<TokenFile>>,
    /// The tokens of operators, which are valid as users' tokens, too.
    pub operators: Option<Arc<TokenFile>>,
    /// The file in which browser sessions outlive a restart; none if they do not.
    pub sessions: Option<PathBuf>,
    /// The end of the names of their cookies: nothing, or a dash and the realm's name.
    pub cookies: String,
    /// Whether requests are logged.
    pub access_log: bool,
    /// The largest body in bytes.
    pub max_body: usize,
    /// The time limit for a body.
    pub body_within: Duration,
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self {
            hosts: AllowedHosts::default(),
            tokens: None,
            operators: None,
            sessions: None,
            cookies: String::new(),
            access_log: false,
            max_body: MAX_BODY,
            body_within: Duration::from_secs(30),
        }
    }
}

struct Guard {
    service: Service,
    options: GuardOptions,
    sessions: Arc<PageSessions>,
    bodies: Bodies,
}

/// Wraps the whole app with the guard: all its current routes, and its fallback. With tokens it
/// adds `/session`, where the page exchanges a token for a cookie. A method that a route does not
/// support gets the common error format. It must be called on a runtime, because it starts the task
/// that maintains the tokens.
pub fn wrap(app: Router, service: Service, options: GuardOptions) -> Router {
    let files = [options.tokens.as_deref(), options.operators.as_deref()];
    let kept = (options.sessions.clone(), options.cookies.clone());
    let sessions = Arc::new(PageSessions::read(kept, files));
    let bodies = Bodies {
        limit: options.max_body,
        within: options.body_within,
        capacity: Arc::clone(service.capacity()),
    };
    let guard = Arc::new(Guard {
        service,
        options,
        sessions: Arc::clone(&sessions),
        bodies,
    });
    let session = post(session::open).delete(session::close);
    let app = match guard.has_tokens() {
        true => app.route("/session", session.with_state(sessions)),
        false => app,
    };
    let looked_after = Arc::downgrade(&guard);
    task::keep("guard", move || look_after(Weak::clone(&looked_after)));
    // Bodies are already limited by the guard.
    app.method_not_allowed_fallback(other_method)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(guard, pass))
}

/// Reloads changed token files, and ends what expired or was revoked, as long as the guard exists.
async fn look_after(guard: Weak<Guard>) {
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(guard) = guard.upgrade() else {
            return;
        };
        let options = &guard.options;
        for (of, file) in [
            ("callers", &options.tokens),
            ("operators", &options.operators),
        ] {
            let Some(file) = file else {
                continue;
            };
            let looked = Arc::clone(file);
            let look = move || looked.look(clock::wall());
            // A disk that does not answer blocks only this task.
            if let Err(error) = blocking(look).await {
                tracing::error!(target: LOG, %error, "the tokens cannot be looked after");
            }
            let metrics = guard.service.node().metrics();
            metrics.set(Row::StaleTokenFiles, of, file.is_stale().into());
        }
        guard.sessions.sweep();
        if guard.sessions.stale.load(Ordering::Relaxed) {
            guard.sessions.save().await;
        }
        guard.service.refused_requests.sweep();
    }
}

/// Admits a request, or refuses it. The header against content sniffing is on every answer.
async fn pass(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (route, method) = (route_of(&request), method_of(request.method()));
    let (peer, address) = guard.peer(&request);
    let mut token = None;
    let mut response = match guard.admit(request, (peer.source, address)).await {
        Ok((request, known, (source, address))) => {
            token = known.owner().map(|owner| Arc::clone(&owner.name));
            let right = (known.ended, &guard.service, address);
            let response = unless_ended(right, next.run(request)).await;
            let capacity = guard.service.capacity();
            response.map(|body| Unsent::charged(body, capacity, source))
        }
        Err(fault) => guard.refuse(fault, peer),
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let (status, took) = (response.status().as_u16(), began.elapsed());
    let metrics = guard.service.node().metrics();
    metrics.took(Row::HttpRequestSeconds, &route, took);
    metrics.count(Row::HttpResponses, &format!("{route} {status}"));
    if guard.options.access_log {
        let source = peer.ip.map(tracing::field::display);
        // Behind a proxy all callers have one address.
        let token = token.as_deref();
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::info!(target: ACCESS_LOG, method, route, status, micros, source, token, "request");
    }
    response
}

/// The log target of requests.
pub const ACCESS_LOG: &str = "talking_stick::access";

/// The route that a request reached, of which there are few.
fn route_of(request: &Request) -> String {
    match request.extensions().get::<MatchedPath>() {
        // The page has many files.
        Some(path) if web::is_file(path.as_str()) => "page".into(),
        Some(path) => path.as_str().into(),
        None => "none".into(),
    }
}

/// The method, of which clients may invent more.
fn method_of(method: &Method) -> &'static str {
    let known = ["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"];
    let known = known.into_iter().find(|known| method == known);
    known.unwrap_or("other")
}

impl Guard {
    /// The request as the app receives it, with its caller and where that calls from.
    async fn admit(
        &self,
        request: Request,
        (source, address): (Source, Address),
    ) -> Result<(Request, Known, (Source, Address)), Fault> {
        let (mut head, body) = request.into_parts();
        let known = self.let_in(&head);
        let scope = known.as_ref().ok().and_then(Known::scope).cloned();
        // All calls with one token count as one address.
        let token = scope.as_ref().and_then(|scope| scope.id());
        let (source, address) = token.map_or((source, address), |id| {
            let address = self.service.secrets().address_of_scope(&id);
            (self.service.source_of_scope(&id), address)
        });
        // A refused request also waits for its turn.
        let capacity = self.service.capacity();
        let mut patience = MAX_WAIT;
        let turn = capacity.requests.spend(source, 1, &mut patience).await;
        turn.map_err(Fault::Full)?;
        let may_be_oauth = head.method == Method::POST && head.uri.path() == "/register";
        let known = match known {
            Err(Fault::TokenRequired) if may_be_oauth => {
                let (body, _) = self.bodies.read(&head.headers, body, source).await?;
                return Err(oauth_fault(&body).unwrap_or(Fault::TokenRequired));
            }
            known => known?,
        };
        let full = capacity.answers.check(source);
        if let (Err(full), false) = (full, HEALTH.contains(&head.uri.path())) {
            return Err(Fault::Full(full.into()));
        }
        head.extensions.insert(RequestOrigin {
            address,
            source,
            token: scope,
            ..RequestOrigin::default()
        });
        if known.is_bound() {
            // Its cookie names no realm, and is of one.
            head.extensions.remove::<NoRealmNamed>();
        }
        head.extensions.insert(known.clone());
        let (body, paid) = self.bodies.read(&head.headers, body, source).await?;
        if let (true, Some(fault)) = (may_be_oauth, oauth_fault(&body)) {
            return Err(fault);
        }
        if let Some(paid) = paid {
            head.extensions.insert(paid);
        }
        let request = Request::from_parts(head, Body::from(body));
        Ok((request, known, (source, address)))
    }

    /// Identifies the caller, or refuses the request by its head.
    fn let_in(&self, head: &request::Parts) -> Result<Known, Fault> {
        // Behind another name, a wrong token is refused as one: its guesses are counted.
        let has_token = self.has_tokens() && bearer(&head.headers).is_some();
        if !has_token && !HEALTH.contains(&head.uri.path()) {
            self.options.hosts.check_host(&head.uri, &head.headers)?;
        }
        self.options.hosts.check_origin(&head.headers)?;
        // Links of other sites may lead to the page's own files, which reveal nothing about users.
        let is_read = matches!(head.method, Method::GET | Method::HEAD);
        if !(is_read && web::is_file(head.uri.path())) {
            AllowedHosts::check_site(&head.headers)?;
        }
        let known = self.known(head)?;
        let is_operators =
            self.options.operators.is_some() && head.uri.path().starts_with(OPERATORS);
        match (&known.operator, known.scope()) {
            (None, Some(_)) if is_operators => Err(Fault::NoOperator),
            (None, None) if is_operators => Err(Fault::OperatorRequired),
            _ => Ok(known),
        }
    }

    /// The sender of a request, and its address as the realm's state knows it.
    fn peer(&self, request: &Request) -> (Peer, Address) {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let ip = peer.map(|ConnectInfo(peer)| peer.ip().to_canonical());
        let (source, address) = ip.map_or_else(Default::default, |ip| {
            (self.service.source(ip), self.service.address(ip))
        });
        (Peer { source, ip }, address)
    }

    fn refuse(&self, fault: Fault, peer: Peer) -> Response {
        let (_, kind) = fault.row();
        let wait = kind.and_then(|kind| self.service.refuse_request(peer, kind));
        let fault = wait.map_or(fault, |wait| {
            Fault::TooManyTokens(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1))
        });
        if fault == Fault::NoOAuth {
            return oauth_refused();
        }
        HttpError::from(fault).into_response()
    }

    /// Identifies the owner of the request's token, and checks whether the request needs one.
    fn known(&self, head: &request::Parts) -> Result<Known, Fault> {
        let path = head.uri.path();
        let is_open = HEALTH.contains(&path)
            || web::is_file(path)
            // There is nothing, and who looks for an authorization server must find none.
            || path.contains(WELL_KNOWN)
            // A client that lost its token may still delete its cookie.
            || (path == "/session" && head.method == Method::DELETE);
        let known = match bearer(&head.headers) {
            Some(token) if self.has_tokens() => self.find(token),
            Some(_) => Ok(Known::default()),
            // An invalid or expired cookie counts as none.
            None => Ok(self.sessions.find(&head.headers).unwrap_or_default()),
        };
        match known {
            Ok(known) if is_open || known.scope().is_some() || self.options.tokens.is_none() => {
                Ok(known)
            }
            Ok(_) => Err(Fault::TokenRequired),
            Err(_) if is_open => Ok(Known::default()),
            Err(fault) => Err(fault),
        }
    }

    const fn has_tokens(&self) -> bool {
        self.options.tokens.is_some() || self.options.operators.is_some()
    }

    fn find(&self, token: &str) -> Result<Known, Fault> {
        let found =
            [&self.options.tokens, &self.options.operators].map(|file| file.as_ref()?.find(token));
        if found.iter().all(Option::is_none) {
            return Err(Fault::TokenUnknown);
        }
        let [caller, operator] = found.map(|token| token.filter(Token::is_valid));
        match caller.is_some() || operator.is_some() {
            true => Ok(Known::by_token(caller, operator)),
            false => Err(Fault::TokenExpired),
        }
    }
}

/// The answer, unless its caller loses its permission before: its token is revoked, or its address is
/// banned. A streamed body ends then.
async fn unless_ended(
    (token, service, address): (Option<CancellationToken>, &Service, Address),
    answer: impl Future<Output = Response>,
) -> Response {
    // When the caller may no longer receive answers, and why.
    let end = || {
        let token = token.clone();
        let banned = service.node().banned_addresses().until_banned(address);
        async move {
            let revoked = OptionFuture::from(token.as_ref().map(CancellationToken::cancelled));
            tokio::select! {
                Some(()) = revoked => HttpError::from(Fault::TokenUnknown),
                reason = banned => Refusal::banned(Reject::Blocked, &reason).into(),
            }
        }
    };
    let response = tokio::select! {
        biased;
        response = answer => response,
        refused = end() => return refused.into_response(),
    };
    // A complete body is sent as it is.
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let ended = end();
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
}

/// The files' tokens that a request's token is.
#[derive(Clone, Debug, Default)]
struct Known {
    /// A user's token.
    caller: Option<Token>,
    /// An operator's token.
    operator: Option<Token>,
    /// Cancelled when the token becomes invalid.
    ended: Option<CancellationToken>,
}

impl Known {
    fn by_token(caller: Option<Token>, operator: Option<Token>) -> Self {
        let owner = caller.as_ref().or(operator.as_ref());
        Self {
            ended: owner.map(|owner| owner.ended.clone()),
            caller,
            operator,
        }
    }

    fn owner(&self) -> Option<&Token> {
        self.caller.as_ref().or(self.operator.as_ref())
    }

    /// The scope in which the token's owner registers participants.
    fn scope(&self) -> Option<&Arc<CallerScope>> {
        self.owner().map(|owner| &owner.scope)
    }

    /// Whether the token is of one realm.
    fn is_bound(&self) -> bool {
        let mut owners = self.caller.iter().chain(&self.operator);
        owners.any(|token| token.realm.is_some())
    }

    /// These owners, without those whose tokens have become invalid.
    fn still(&self) -> Self {
        let counts = |token: &&Token| token.is_open();
        Self {
            caller: self.caller.as_ref().filter(counts).cloned(),
            operator: self.operator.as_ref().filter(counts).cloned(),
            ended: self.ended.clone(),
        }
    }
}

/// The token in the Authorization header (RFC 6750, section 2.1).
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The header that names the relation of the initiator.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The largest number of allowed hosts.
const MAX_HOSTS: usize = 256;

/// The hosts that the server answers for: this machine by its loopback names, and those allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    more: Vec<Authority>,
}

impl AllowedHosts {
    /// Allows the loopback names and these: each a host, or a host with a port.
    ///
    /// # Errors
    /// The first invalid host.
    pub fn new<T: AsRef<str>>(more: &[T]) -> Result<Self, String> {
        if more.len() > MAX_HOSTS {
            return Err(format!("at most {MAX_HOSTS} hosts can be allowed"));
        }
        let host = |text: &T| {
            let text = text.as_ref().trim();
            realm::host(text).ok_or_else(|| {
                let how = "write example.org, or example.org:8894 for that port alone";
                format!("`{text}` is not a host: {how}")
            })
        };
        let more = more.iter().map(host).collect::<Result<_, _>>()?;
        Ok(Self { more })
    }

    /// Whether a request for this host and port is answered.
    fn allows(&self, authority: &Authority) -> bool {
        if realm::host(authority.as_str()).is_none() {
            return false;
        }
        let mut more = self.more.iter();
        is_loopback(authority.host()) || more.any(|allowed| covers(allowed, authority))
    }

    /// Checks the requested host.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
        let host = only(headers, HOST, Fault::HostUnclear)?;
        let host = host.and_then(authority).ok_or(Fault::HostUnclear)?;
        // A request line with an absolute URI names a host, too.
        let mut named = uri.authority().into_iter().chain([&host]);
        match named.all(|host| self.allows(host)) {
            true => Ok(()),
            false => Err(Fault::HostNotAllowed),
        }
    }

    /// Checks the origin of the request.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let allows = |origin| origin_authority(origin).is_some_and(|host| self.allows(&host));
        match only(headers, ORIGIN, Fault::OriginNotAllowed)?.is_none_or(allows) {
            true => Ok(()),
            false => Err(Fault::OriginNotAllowed),
        }
    }

    /// Checks that no other site caused the request, as far as the browser reports it.
    fn check_site(headers: &HeaderMap) -> Result<(), Fault> {
        let mut all = headers.get_all(SEC_FETCH_SITE).iter();
        match all.all(|value| matches!(value.as_bytes(), b"same-origin" | b"none")) {
            true => Ok(()),
            false => Err(Fault::SiteNotAllowed),
        }
    }
}

/// Whether a host, or a host with a port, names this one.
pub(crate) fn covers(named: &Authority, wanted: &Authority) -> bool {
    named.host().eq_ignore_ascii_case(wanted.host())
        && (named.port().is_none() || named.port_u16() == wanted.port_u16())
}

/// Whether the page was loaded over TLS, as a proxy in front provides.
pub(super) fn is_over_tls(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).and_then(|value| value.to_str().ok());
    origin.is_some_and(|text| text.starts_with("https://"))
}

/// The header's value, if it has one; `fault`, if it has several.
fn only(
    headers: &HeaderMap,
    name: HeaderName,
    fault: Fault,
) -> Result<Option<&HeaderValue>, Fault> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    match values.next() {
        None => Ok(first),
        Some(_) => Err(fault),
    }
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    value.to_str().ok()?.parse().ok()
}

fn origin_authority(value: &HeaderValue) -> Option<Authority> {
    let (scheme, host) = value.to_str().ok()?.split_once("://")?;
    host.parse()
        .ok()
        .filter(|_| matches!(scheme, "http" | "https"))
}

fn is_loopback(host: &str) -> bool {
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse::<IpAddr>()
        .is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(allowed: &[&str], host: &[&str], origin: &[&str]) -> Result<(), Fault> {
        let mut headers = HeaderMap::new();
        for value in host {
            headers.append(HOST, value.parse().unwrap());
        }
        for value in origin {
            headers.append(ORIGIN, value.parse().unwrap());
        }
        let allowed = AllowedHosts::new(allowed).unwrap();
        allowed.check_host(&Uri::from_static("/users"), &headers)?;
        allowed.check_origin(&headers)
    }

    #[test]
    fn hosts_are_this_machine_s_names_and_those_allowed() {
        let allowed = ["chat.example", "port.example:8443"];
        let own = "localhost LOCALHOST:8894 127.0.0.1:8894 127.9.9.9 [::1]:8894 \
                   [::ffff:127.0.0.1] chat.example Chat.Example:1 port.example:8443";
        for host in own.split(' ') {
            assert_eq!(checked(&allowed, &[host], &[]), Ok(()), "{host}");
        }
        let others = "evil.example localhost.evil.example 127.0.0.1.evil.example \
                      evil.example:8894 10.0.0.1 [2001:db8::1] port.example port.example:80 \
                      localhost@evil.example evil@localhost chat.example. \
                      localhost:8894.evil.example 127.0.0.1:x [::1]:8894.evil.example \
                      localhost:+80 localhost:65536 127.0.0.1[] 127.0.0.1[]:8894";
        for host in others.split(' ') {
            let refused = checked(&allowed, &[host], &[]);
            assert_eq!(refused, Err(Fault::HostNotAllowed), "{host}");
        }
        for unclear in [&[][..], &["localhost", "localhost"], &[""], &["a b"]] {
            let refused = checked(&allowed, unclear, &[]);
            assert_eq!(refused, Err(Fault::HostUnclear), "{unclear:?}");
        }
    }

    #[test]
    fn pages_of_allowed_hosts_may_call_and_others_may_not() {
        let with = |origin: &[&str]| checked(&["chat.example"], &["localhost:8894"], origin);
        for origin in [
            "http://localhost:3000",
            "https://chat.example",
            "http://127.0.0.1:8894",
            "http://[::1]",
        ] {
            assert_eq!(with(&[origin]), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "https://chat.example.evil.example",
            "http://localhost@evil.example",
            "file://localhost",
            "chrome-extension://localhost",
            "localhost",
            "http://localhost:8894.evil.example",
            "http://127.0.0.1:8894.evil.example",
            "http://[::1]:8894.evil.example",
            "http://localhost:",
        ] {
            assert_eq!(with(&[origin]), Err(Fault::OriginNotAllowed), "{origin}");
        }
        let twice = ["http://localhost", "http://localhost"];
        assert_eq!(with(&twice), Err(Fault::OriginNotAllowed));
    }

    #[test]
    fn only_the_server_s_own_page_and_the_user_may_cause_a_request() {
        let check = |all: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in all {
                headers.append(SEC_FETCH_SITE, HeaderValue::from_static(value));
            }
            AllowedHosts::check_site(&headers)
        };
        for own in [&[][..], &["same-origin"], &["none"]] {
            assert_eq!(check(own), Ok(()), "{own:?}");
        }
        for foreign in [
            &["cross-site"][..],
            &["same-site"],
            &["none", "cross-site"],
            &[""],
            &["new-word"],
        ] {
            assert_eq!(check(foreign), Err(Fault::SiteNotAllowed), "{foreign:?}");
        }
    }

    #[test]
    fn a_request_line_that_names_another_host_is_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        let uri = Uri::from_static("http://evil.example/users");
        let refused = AllowedHosts::default().check_host(&uri, &headers);
        assert_eq!(refused, Err(Fault::HostNotAllowed));
    }

    #[test]
    fn a_malformed_host_cannot_be_allowed() {
        for text in [
            "",
            "*",
            "*.example",
            "a b",
            "http://a",
            "x@y",
            "a:b",
            "a:1.b",
        ] {
            let error = AllowedHosts::new(&[text]).unwrap_err();
            let named = format!("`{text}` is not a host: ");
            assert!(error.starts_with(&named), "{error}");
        }
    }
}
