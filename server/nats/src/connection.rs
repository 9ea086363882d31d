//! The connection to the servers, and what reads the log over it.

use std::fmt;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use async_nats::{
    Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ReconnectToServer, Server,
    ServerInfo,
};
use server_settings::ClusterSettings;
use server_settings::realm::is_name;
use tokio::time::{Instant, sleep};

use crate::error::OpenError;

/// How often the connection is tested. The default of the library is a minute, for which a server
/// that is paused would look alive.
const PING: Duration = Duration::from_secs(1);

/// The time limit to connect to one server.
const CONNECT: Duration = Duration::from_secs(2);

/// The pause between two rounds of attempts to connect again.
const RECONNECT: Duration = Duration::from_millis(200);

/// How long servers that just started have until they take connections.
const PATIENCE: Duration = Duration::from_secs(15);

/// The pause between two attempts of a start.
const AGAIN: Duration = Duration::from_millis(250);

/// A line of every key file, as the tools of NATS write them.
const KEY_FILE: &str = "-----BEGIN NATS USER JWT-----";

/// The time limit of requests that set no other.
const REQUEST: Duration = Duration::from_secs(3);

/// A reader of the log. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LogReader {
    pub(crate) client: Client,
    pub(crate) context: Context,
    pub(crate) realm: String,
}

impl LogReader {
    /// Connects to the servers, and makes nothing there.
    ///
    /// # Errors
    /// The realm has no proper name, or no server can be reached.
    pub async fn open(options: &ClusterSettings) -> Result<Self, OpenError> {
        if !is_name(&options.realm) {
            let why = "it must have 1 to 32 letters of a to z, digits and dashes";
            return Err(OpenError::Unusable(format!("--cluster-realm: {why}")));
        }
        let client = connect(options).await?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(REQUEST);
        Ok(Self {
            client,
            context,
            realm: options.realm.clone(),
        })
    }

    /// The stream of the records.
    pub(crate) fn stream(&self) -> String {
        format!("TS_{}", self.realm)
    }

    /// The stream of the realm's identity, which has one message.
    pub(crate) fn identity_stream(&self) -> String {
        format!("TS_{}_identity", self.realm)
    }

    /// The bucket of the snapshots.
    pub(crate) fn bucket(&self) -> String {
        format!("TS_{}_snapshots", self.realm)
    }

    /// The subject of this kind of message.
    pub(crate) fn subject(&self, kind: &str) -> String {
        format!("ts.{}.{kind}", self.realm)
    }

    /// The error of the snapshots.
    pub(crate) fn no_snapshots(&self, why: impl fmt::Display) -> OpenError {
        let bucket = self.bucket();
        OpenError::Unusable(format!(
            "--cluster: the snapshots in {bucket} cannot be read: {why}"
        ))
    }
}

/// Connects to one of the servers, and again whenever the connection is lost.
///
/// # Errors
/// No server answers, or all refuse.
async fn connect(options: &ClusterSettings) -> Result<Client, OpenError> {
    let settings = ConnectOptions::new()
        .name("talking-stick")
        .ping_interval(PING)
        .connection_timeout(CONNECT)
        .request_timeout(Some(REQUEST))
        .reconnect_delay_callback(|attempts| match attempts {
            0 | 1 => Duration::ZERO,
            _ => RECONNECT,
        })
        .reconnect_to_server_callback(in_turn())
        .event_callback(|event| async move { report(&event) });
    let mut settings = with_credentials(settings, options)?;
    if let Some(authority) = &options.authority {
        settings = settings.add_root_certificates(authority.clone());
    }
    let servers = options.servers.join(",");
    let is_refused = |error: &ConnectError| {
        use ConnectErrorKind::{Authentication, AuthorizationViolation};
        matches!(error.kind(), Authentication | AuthorizationViolation)
    };
    let connect = || settings.clone().connect(&options.servers);
    let connected = retried(PATIENCE, connect, is_refused, || sleep(AGAIN)).await;
    connected.map_err(|error| {
        let why = format!("--cluster: no server of {servers} can be used: {error}");
        OpenError::Unusable(why)
    })
}

/// Chooses the servers in turn, so that each attempt is at another one than the one before. Processes
/// begin at different ones.
fn in_turn() -> impl Fn(Vec<Server>, ServerInfo) -> Ready<Option<ReconnectToServer>> {
    let next = AtomicUsize::new(usize::try_from(std::process::id()).unwrap_or_default());
    move |servers, _| {
        let at = next.fetch_add(1, Ordering::Relaxed) % servers.len().max(1);
        ready(servers.get(at).map(|server| ReconnectToServer {
            addr: server.addr.clone(),
            delay: None,
        }))
    }
}

fn with_credentials(
    settings: ConnectOptions,
    options: &ClusterSettings,
) -> Result<ConnectOptions, OpenError> {
    let Some(text) = options.credentials.as_deref() else {
        return Ok(settings);
    };
    if text.contains(KEY_FILE) {
        // The library wants the end of the last line, too.
        let read = settings.credentials(&format!("{text}\n"));
        return read.map_err(|error| {
            let why = format!("--cluster-credentials: the key file is not usable: {error}");
            OpenError::Unusable(why)
        });
    }
    Ok(match text.split_once(':') {
        Some((user, password)) => settings.user_and_password(user.into(), password.into()),
        None => settings.token(text.into()),
    })
}

fn report(event: &Event) {
    match event {
        Event::Connected => tracing::info!("connected to the cluster's log"),
        Event::Disconnected => tracing::warn!("the connection to the cluster's log is lost"),
        Event::SlowConsumer(_)
        | Event::ServerError(_)
        | Event::ClientError(_)
        | Event::LameDuckMode
        | Event::Draining
        | Event::Closed => tracing::debug!("the connection to the cluster's log: {event}"),
    }
}

/// Tries until it succeeds or fails for good, or servers that just started have had this time.
pub(crate) async fn retried<T, E>(
    patience: Duration,
    attempt: impl AsyncFn() -> Result<T, E>,
    is_final: impl Fn(&E) -> bool,
    pause: impl AsyncFn(),
) -> Result<T, E> {
    let until = Instant::now() + patience;
    loop {
        match attempt().await {
            Err(error) if !is_final(&error) && Instant::now() < until => pause().await,
            ended => return ended,
        }
    }
}
