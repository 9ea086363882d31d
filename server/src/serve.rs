//! A whole server: the drivers of its realms, the routes and the listener, assembled, and shut down in
//! order.
//!
//! Several chats in one server are each a realm of its own: names, rooms and handles of one mean nothing
//! in another.
//!
//! | a request names its realm by | as in |
//! |---|---|
//! | its path | `/r/arena/mcp` |
//! | its host | `arena.example.org`, if the realm has that host |
//! | its bearer token | a line of the token file with `realm=arena` |
//!
//! In this order. All other requests are for the first realm, which is there without a name.

use std::io::ErrorKind;
use std::iter;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::Uri;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, VARY};
use axum::http::uri::{Authority, PathAndQuery};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use chat_core::Node;
use futures_util::future::{select_all, try_join_all};
use server_chat::capacity::{self, Capacity, Memory};
use server_chat::driver::{self, Died, Running};
use server_chat::identity::Secrets;
use server_chat::metrics::{Exposition, Metrics, Seen};
use server_chat::service::Service;
use server_chat::task;
use server_settings::os_error::{advice, reason};
use server_settings::{Realm, Settings};
use server_storage::clock::Clock;
use server_storage::history::{History, HistoryOptions};
use server_storage::journal::{self, Journal, MemoryJournal};
use server_storage::random;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::guard::{
    self, AllowedHosts, GuardOptions, NoRealmNamed, TokenFile, TokensError, bearer, covers,
};
use crate::http;
use crate::listener;
use crate::mcp;
use crate::web;

/// The time limit for connections to end when nothing is left to send.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// Why a server cannot start, or has stopped.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum ServeError {
    #[error("cannot listen on {}: {}", _0, unbound(_1))]
    Listen(SocketAddr, std::io::Error),
    #[error("the machine has no randomness to make secrets of: {0}")]
    Randomness(getrandom::Error),
    #[error("--allow-hosts: {0}")]
    Hosts(String),
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] crate::cluster::ClusterError),
    #[error(transparent)]
    Journal(#[from] journal::OpenError),
    #[error("realm {0}: {1}")]
    Realm(String, Box<Self>),
    #[error("the history has no thread: {}", reason(_0))]
    Thread(std::io::Error),
    #[error(transparent)]
    Died(#[from] Died),
}

/// A node with its driver, without transports.
#[derive(Debug)]
pub struct Core {
    /// The service for transports.
    pub service: Service,
    /// The running driver.
    pub running: Running,
}

/// Why the server cannot listen, and what to do.
fn unbound(error: &std::io::Error) -> String {
    let used = "another server may be there, and --listen chooses another place";
    let refused =
        "ports below 1024 need a right that this user lacks; choose a higher one with --listen";
    let absent = "this machine has no such address; --listen takes one of its own, 127.0.0.1 for \
                  itself, or 0.0.0.0 for all";
    let known = [
        (ErrorKind::AddrInUse, used),
        (ErrorKind::PermissionDenied, refused),
        (ErrorKind::AddrNotAvailable, absent),
    ];
    let advice = advice(error, &known, "--listen chooses another place");
    format!("{}; {advice}", reason(error))
}

impl ServeError {
    /// Whether a setting is the cause.
    #[must_use]
    pub const fn is_of_settings(&self) -> bool {
        if let Self::Realm(_, why) = self {
            return why.is_of_settings();
        }
        matches!(self, Self::Hosts(_) | Self::Tokens(_))
    }
}

impl Core {
    /// Starts a node: a new one, or the one that its journal restores.
    ///
    /// # Errors
    /// The journal cannot be used, or the machine has no randomness.
    pub fn start(settings: &Settings) -> Result<Self, ServeError> {
        let (history, secrets);
        let (node, journal): (_, Box<dyn Journal>) = match &settings.journal {
            Some(options) => {
                let opened = journal::open(options, &settings.limits)?;
                let started = History::start(HistoryOptions {
                    folder: options.folder.clone(),
                    origin: opened.identity.origin(),
                    end: opened.node.hub().position(),
                    retention: settings.history,
                    is_shared: false,
                    server: settings.history_server.clone(),
                });
                let past = started.map_err(ServeError::Thread)?;
                secrets = Secrets::new(&opened.identity.secret);
                history = Some(past);
                (opened.node, Box::new(opened.journal))
            }
            None => {
                let seed = random().map_err(ServeError::Randomness)?;
                secrets = Secrets::new(&random().map_err(ServeError::Randomness)?);
                history = None;
                let node = Node::start(settings.limits.clone(), u64::from_le_bytes(seed));
                (node, Box::new(MemoryJournal::default()))
            }
        };
        let clock = Clock::start_after(node.hub().now());
        let metrics = Arc::new(Metrics::new(settings.realm_label()));
        let (client, running) = driver::start(node, journal, history.clone(), clock, metrics);
        let service = Service::new(client, secrets).remembering(history);
        Ok(Self::limited(settings, service, running))
    }

    /// Starts a realm of a server: a member of a cluster, or a node that is alone.
    async fn start_realm(settings: &Settings) -> Result<Self, ServeError> {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &settings.cluster {
            let (service, running) = crate::cluster::start(cluster, settings).await?;
            return Ok(Self::limited(settings, service, running));
        }
        Self::start(settings)
    }

    /// The service with the limits on clients' resources.
    fn limited(settings: &Settings, service: Service, running: Running) -> Self {
        let files = listener::raise_file_limit();
        let limits = capacity::Limits {
            memory: settings.memory_limit,
            ..capacity::Limits::default()
        };
        let limits = limits.for_core(&settings.limits).within_memory();
        let limits = limits.within_files(files, settings.realms.len());
        let capacity = Arc::new(Capacity::new(&limits));
        Memory::watch(&capacity);
        Self {
            service: service.within(capacity),
            running,
        }
    }
}

/// A listening server.
#[derive(Debug)]
pub struct Server {
    /// Its address.
    pub address: SocketAddr,
    /// The service of the first realm, for transports.
    pub service: Service,
    realms: Vec<Core>,
    connections: JoinHandle<()>,
    /// Cancelled at the start of a shutdown: no new connections are accepted, and open ones end
    /// after their answer.
    closing: CancellationToken,
    grace: Duration,
    /// The token files of users and operators, of each realm.
    tokens: Vec<Arc<TokenFile>>,
}

impl Server {
    /// Starts listening.
    ///
    /// # Errors
    /// Listening failed.
    pub async fn start(settings: &Settings) -> Result<Self, ServeError> {
        let first = Realm {
            name: settings.realm.as_str().into(),
            host: None,
        };
        let named: Vec<Realm> = iter::once(first).chain(settings.realms.clone()).collect();
        let names: Arc<[Arc<str>]> = named.iter().map(|realm| Arc::clone(&realm.name)).collect();
        let mut starting = Vec::new();
        for (index, realm) in named.into_iter().enumerate() {
            let of = match index {
                0 => settings.clone(),
                _ => settings.of_realm(&realm),
            };
            let guard = guard_options(&of, (&realm, &names))?;
            starting.push((realm, of, guard));
        }
        let address = settings.listen;
        let refused = |error| ServeError::Listen(address, error);
        let socket = TcpListener::bind(address).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        let cores = starting.iter().map(async |(realm, of, _)| {
            let core = Core::start_realm(of).await;
            core.map_err(|why| match settings.realms.is_empty() {
                true => why,
                false => ServeError::Realm(realm.name.to_string(), Box::new(why)),
            })
        });
        let mut cores = try_join_all(cores).await?;
        let service = cores[0].service.clone();
        for core in &mut cores[1..] {
            core.service = core.service.clone().beside(&service);
        }
        let closing = CancellationToken::new();
        let mcp = mcp::McpOptions {
            closing: closing.clone(),
            ..mcp::McpOptions::default()
        };
        let shared = (cores.iter().map(|core| core.service.clone()).collect(), mcp);
        let (mut tokens, mut served) = (Vec::new(), Vec::new());
        for ((realm, settings, guard), core) in starting.into_iter().zip(&cores) {
            let files = guard.tokens.iter().chain(&guard.operators);
            let files: Vec<_> = files.cloned().collect();
            tokens.extend(files.clone());
            served.push(Served {
                app: app((&settings, guard), &core.service, &shared),
                realm,
                tokens: files,
            });
        }
        let limits = (service.clone(), listener::ConnectionLimits::default());
        let app = router_of_realms(served);
        let connections = listener::serve(socket, app, limits, closing.clone());
        Ok(Self {
            address,
            service,
            realms: cores,
            connections: task::spawn(connections),
            closing,
            grace: Duration::from_micros(settings.grace.0),
            tokens,
        })
    }

    /// Reads the token files again. An invalid file changes nothing, and the log says why.
    pub fn reload(&self) {
        if self.tokens.is_empty() {
            tracing::info!("asked to read its files of tokens again, of which there are none");
        }
        for file in &self.tokens {
            file.reload();
        }
    }

    /// Waits until the driver of a realm has died, or what accepts connections.
    pub async fn died(&mut self) -> Died {
        let realms = self.realms.iter_mut();
        let died = realms.map(|realm| Box::pin(realm.running.died()));
        tokio::select! {
            (died, ..) = select_all(died) => died,
            _ = &mut self.connections => Died::Deaf,
        }
    }

    /// Shuts down within the grace period: refuses new calls, finishes admitted ones, delivers the
    /// remaining events of open streams and waiting checks, and ends them.
    ///
    /// # Errors
    /// The driver had died.
    pub async fn stop(self) -> Result<(), ServeError> {
        let by = Instant::now() + self.grace;
        self.closing.cancel();
        for realm in &self.realms {
            realm.service.node().stop(by);
        }
        tracing::info!(grace = ?self.grace, "stopping");
        for realm in self.realms {
            realm.running.ended().await?;
        }
        let rest = by.saturating_duration_since(Instant::now()).max(LAST_BYTES);
        if tokio::time::timeout(rest, self.connections).await.is_err() {
            tracing::warn!("some connections did not end in time, and are cut");
        }
        Ok(())
    }
}

/// What the guard of a realm asks of requests. It is read before the journal is opened: with a wrong host
/// or token, a start makes no folder.
fn guard_options(
    settings: &Settings,
    (realm, names): (&Realm, &Arc<[Arc<str>]>),
) -> Result<GuardOptions, ServeError> {
    let read = |path: &Option<PathBuf>| {
        let of = (Arc::clone(&realm.name), Arc::clone(names));
        let file = path.as_deref().map(|path| TokenFile::read(path, of));
        file.transpose().map(|file| file.map(Arc::new))
    };
    let journal = settings.journal.as_ref();
    let cookies = (realm.name != names[0]).then(|| format!("-{}", realm.name));
    Ok(GuardOptions {
        hosts: AllowedHosts::new(&settings.allow_hosts).map_err(ServeError::Hosts)?,
        operators: read(&settings.operator_tokens)?,
        tokens: read(&settings.auth_tokens)?,
        sessions: journal.map(|journal| journal.folder.join(guard::SESSIONS)),
        cookies: cookies.unwrap_or_default(),
        access_log: settings.access_log,
        max_body: guard::max_body(&settings.limits),
        ..GuardOptions::default()
    })
}

/// What all realms share: their services, and options of MCP.
type Shared = (Arc<[Service]>, mcp::McpOptions);

/// All routes of a realm behind the guard.
fn app(
    (settings, guard): (&Settings, GuardOptions),
    service: &Service,
    (services, mcp): &Shared,
) -> Router {
    let http = http::HttpOptions {
        trust_usernames: settings.trust_usernames,
        operators: guard.operators.is_some(),
        closing: mcp.closing.clone(),
        ..http::HttpOptions::default()
    };
    let mcp = mcp::McpOptions {
        toolsets: settings.toolsets.clone(),
        silence: mcp::silence(&settings.limits),
        ..mcp.clone()
    };
    let exposed = Router::new()
        .route("/metrics", get(metrics))
        .with_state((service.clone(), Arc::clone(services)));
    let app = http::router(service.clone(), &http)
        .merge(exposed)
        .merge(mcp::router(service, &mcp))
        .merge(web::router());
    guard::wrap(app, service.clone(), guard)
}

/// The metrics of this realm; of the process and of all realms, if the request names none.
async fn metrics(
    State((service, all)): State<(Service, Arc<[Service]>)>,
    unnamed: Option<Extension<NoRealmNamed>>,
    headers: HeaderMap,
) -> Response {
    let accepted = headers.get_all(ACCEPT).iter();
    let form = Exposition::asked_by(accepted.filter_map(|value| value.to_str().ok()));
    let kind = [(CONTENT_TYPE, form.content_type()), (VARY, "accept")];
    let text = match unnamed.is_some() || all.len() == 1 {
        true => series_of(form, &all, Some(service.capacity())).await,
        false => series_of(form, &[service], None).await,
    };
    (kind, text).into_response()
}

/// The series of these realms, and of the process if its capacity is given.
async fn series_of(
    form: Exposition,
    realms: &[Service],
    capacity: Option<&Arc<Capacity>>,
) -> String {
    for service in realms {
        let node = service.node();
        let seen = node.look(Seen::of).await.ok();
        node.metrics().see(node.now(), seen, node.queued());
        if let Some(history) = &service.history {
            node.metrics().read_history(history);
        }
    }
    let process = realms.first().zip(capacity);
    let process = process.map(|(first, capacity)| first.node().metrics().of_process(capacity));
    let realms = realms
        .iter()
        .flat_map(|realm| realm.node().metrics().of_realm());
    form.of(process.into_iter().chain(realms))
}

/// The beginning of the paths that name a realm.
const PATH: &str = "/r/";

/// A realm's routes, with what leads to them.
#[derive(Debug)]
struct Served {
    realm: Realm,
    /// The files with tokens for this realm.
    tokens: Vec<Arc<TokenFile>>,
    app: Router,
}

/// The routes of all realms, of which the first is the one without a name. Each realm's routes check
/// the request as if there were no other: a path of an unknown realm is one that the first does not
/// have.
fn router_of_realms(mut realms: Vec<Served>) -> Router {
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
    let is_it = |host| covers(host, &wanted);
    realms
        .iter()
        .find(|served| served.realm.host.as_ref().is_some_and(is_it))
}

/// The realm that alone accepts the request's token.
fn by_token<'a>(realms: &'a [Served], headers: &HeaderMap) -> Option<&'a Served> {
    let token = bearer(headers)?;
    let binds = |served: &&Served| served.tokens.iter().any(|file| file.binds(token));
    realms.iter().find(binds)
}
