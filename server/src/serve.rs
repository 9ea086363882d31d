//! A whole server: the driver, the routes and the listener, put together; and taken apart again in
//! good order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use chat_core::Node;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::capacity::{self, Capacity, Memory};
use crate::clock::Clock;
use crate::driver::{self, Died, Running};
use crate::guard::{self, AllowedHosts, HostError, TokenFile, TokensError};
use crate::http;
use crate::identity::Secrets;
use crate::journal::{self, Journal, MemoryJournal};
use crate::listener;
use crate::mcp;
use crate::metrics::Seen;
use crate::service::Service;
use crate::settings::Settings;
use crate::web;

/// How long connections may take to end once there is nothing more to send.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// Why a server does not serve, or not any more.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum ServeError {
    #[error(
        "cannot listen on {address}: {error}; another server may be there, and --listen chooses \
         another place"
    )]
    Listen {
        address: SocketAddr,
        error: std::io::Error,
    },
    #[error("the machine has no randomness to make secrets of: {0}")]
    Randomness(getrandom::Error),
    #[error("--allow-hosts: {0}")]
    Hosts(#[from] HostError),
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[error(transparent)]
    Journal(#[from] journal::OpenError),
    #[error(transparent)]
    Died(#[from] Died),
}

/// A node with its driver, and nobody connected to it yet.
#[derive(Debug)]
pub struct Core {
    /// What transports call.
    pub service: Service,
    /// The driver's end.
    pub running: Running,
}

impl Core {
    /// Starts a node: a new one, or the one that its journal gives back.
    ///
    /// # Errors
    /// When the journal cannot be used, or the machine has no randomness to give.
    pub fn start(settings: &Settings) -> Result<Self, ServeError> {
        let (node, journal, secrets) = match &settings.journal {
            Some(options) => {
                let opened = journal::open(options, &settings.limits)?;
                let secrets = Secrets::new(&opened.identity.secret);
                let journal: Box<dyn Journal> = Box::new(opened.journal);
                (opened.node, journal, secrets)
            }
            None => {
                let mut seed = [0; 8];
                getrandom::fill(&mut seed).map_err(ServeError::Randomness)?;
                let secrets = Secrets::fresh().map_err(ServeError::Randomness)?;
                let node = Node::start(settings.limits.clone(), u64::from_le_bytes(seed));
                let journal: Box<dyn Journal> = Box::new(MemoryJournal::default());
                (node, journal, secrets)
            }
        };
        let clock = Clock::start_after(node.hub().now());
        let (client, running) = driver::start(node, journal, clock, Arc::default());
        let files = listener::raise_file_limit();
        let limits = capacity::Limits {
            memory: settings.memory_limit.bytes(),
            ..capacity::Limits::default()
        };
        let limits = limits.for_core(&settings.limits).within_memory();
        let limits = limits.within_files(files);
        let capacity = Arc::new(Capacity::new(&limits));
        Memory::watch(&capacity);
        Ok(Self {
            service: Service::new(client, secrets).within(capacity),
            running,
        })
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    /// Where.
    pub address: SocketAddr,
    /// What transports call.
    pub service: Service,
    running: Running,
    connections: JoinHandle<()>,
    /// Not ready any more: no new connections, and those that are open end after their answer.
    closing: CancellationToken,
    grace: Duration,
    /// The files of tokens, of callers and of operators.
    tokens: Vec<Arc<TokenFile>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn start(settings: &Settings) -> Result<Self, ServeError> {
        let address = settings.listen;
        let refused = |error| ServeError::Listen { address, error };
        let socket = TcpListener::bind(address).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        let Core { service, running } = Core::start(settings)?;
        let closing = CancellationToken::new();
        let (app, tokens) = app(settings, &service, &closing)?;
        let limits = (service.clone(), listener::ConnectionLimits::default());
        let connections = listener::serve(socket, app, limits, closing.clone());
        Ok(Self {
            address,
            service,
            running,
            connections: tokio::spawn(connections),
            closing,
            grace: Duration::from_micros(settings.grace.0),
            tokens,
        })
    }

    /// Reads the files of tokens again. One that cannot be used changes nothing, and the log says
    /// why.
    pub fn reload(&self) {
        if self.tokens.is_empty() {
            tracing::info!("asked to read its files of tokens again, of which there are none");
        }
        for file in &self.tokens {
            file.reload();
        }
    }

    /// Waits until it cannot go on, which it does not by itself.
    ///
    /// # Errors
    /// Why it cannot.
    pub async fn died(&mut self) -> Died {
        self.running.died().await
    }

    /// Stops: takes nothing new, finishes what was taken, gives open streams and waiting checks
    /// what they are owed, and ends them; all of it within the grace.
    ///
    /// # Errors
    /// When the driver had died.
    pub async fn stop(self) -> Result<(), ServeError> {
        let by = Instant::now() + self.grace;
        self.closing.cancel();
        self.service.node().stop(by);
        self.running.ended().await?;
        let rest = by.saturating_duration_since(Instant::now()).max(LAST_BYTES);
        if tokio::time::timeout(rest, self.connections).await.is_err() {
            tracing::warn!("some connections did not end in time, and are cut");
        }
        Ok(())
    }
}

/// Every route and the guard before them, and the guard's files of tokens.
fn app(
    settings: &Settings,
    service: &Service,
    closing: &CancellationToken,
) -> Result<(Router, Vec<Arc<TokenFile>>), ServeError> {
    let read = |path: &Option<PathBuf>| {
        let file = path.as_deref().map(TokenFile::read).transpose();
        file.map(|file| file.map(Arc::new))
    };
    let operators = read(&settings.operator_tokens)?;
    let tokens = read(&settings.auth_tokens)?;
    let files = tokens.iter().chain(&operators).cloned().collect();
    let http = http::HttpOptions {
        usernames: settings.usernames,
        admin: match operators {
            Some(_) => http::Admin::Served,
            None => http::Admin::Absent,
        },
        closing: closing.clone(),
        ..http::HttpOptions::default()
    };
    let options = guard::GuardOptions {
        hosts: AllowedHosts::new(&settings.allow_hosts)?,
        tokens,
        operators,
        max_body: guard::max_body(&settings.limits),
        ..guard::GuardOptions::default()
    };
    let watched = Router::new()
        .route("/metrics", get(metrics))
        .with_state(service.clone());
    let mcp = mcp::router(service, &mcp_options(settings, closing));
    let app = http::router(service.clone(), &http)
        .merge(watched)
        .merge(mcp)
        .merge(web::router());
    Ok((guard::wrap(app, service.clone(), options), files))
}

fn mcp_options(settings: &Settings, closing: &CancellationToken) -> mcp::McpOptions {
    // The guard has been passed, and has said who calls.
    let caller = |head: &axum::http::request::Parts| {
        let caller = head.extensions.get::<guard::Caller>().cloned();
        caller.unwrap_or_default()
    };
    mcp::McpOptions {
        toolsets: settings.toolsets.clone(),
        fixtures: settings.fixtures.clone(),
        max_body_bytes: guard::max_body(&settings.limits),
        ..mcp::McpOptions::new(Arc::new(caller), closing.clone())
    }
}

async fn metrics(State(service): State<Service>) -> axum::response::Response {
    let node = service.node();
    let seen = node.look(Seen::of).await;
    let kind = [(
        "content-type",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
    )];
    let capacity = service.capacity();
    let text = node
        .metrics()
        .render(node.now(), seen, (node.queued(), capacity));
    match text {
        Ok(text) => (kind, text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
