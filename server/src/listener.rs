//! Connections: accepted, limited, timed, and ended in order.
//!
//! This module bounds connections for all routes: their number, the time for a request's head, and
//! the least rate at which peers read. The connection of a peer that reads too slowly is closed;
//! the events stay in its inbox.

mod pace;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use server_chat::capacity::{CONNECTING, Full, MAX_WAIT};
use server_chat::metrics::Row;
use server_chat::refusal::Refusal;
use server_chat::service::Service;
use server_chat::task;
use server_settings::os_error::reason;
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use pace::Paced;

pub use pace::Pace;

/// The limits of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// The time limit for the headers of a request.
    pub head: Duration,
    /// The least rate at which a peer reads.
    pub pace: Pace,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(30),
            pace: Pace {
                window: Duration::from_secs(30),
                least_rate: 16 * 1_024,
            },
        }
    }
}

/// Raises the limit of open files as far as the machine permits, because each connection is one,
/// and returns it.
#[must_use]
pub fn raise_file_limit() -> u64 {
    rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
        let told = "the limit of open files stays as it is";
        tracing::debug!(error = reason(&error), "{told}");
        rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(u64::MAX, |(soft, _)| soft)
    })
}

/// The buffer of a connection for a request's head and for an answer. A buffer that grows to this
/// size takes twice as much.
const BUFFER: usize = 16 * 1_024;

/// The system's send buffer of a connection. The default is megabytes, multiplied by the number of
/// stalled peers.
const SEND_BUFFER: usize = 128 * 1_024;

/// The number of connections beyond the limit that receive a refusal at once; others are only
/// closed.
const TOLD: usize = 64;

/// The pause after a failed accept, such as without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The refusal beyond a limit of connections.
fn overloaded(full: Full) -> String {
    let refusal = Refusal::from(full);
    let body = serde_json::json!({ "error": refusal }).to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
         x-content-type-options: nosniff\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Serves connections until `stop`, and then open ones until they end. The service's capacity
/// limits their number, in total and for each address.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    (service, limits): (Service, ConnectionLimits),
    stop: CancellationToken,
) {
    let places = service.capacity().connections.clone();
    let told = Arc::new(Semaphore::new(TOLD));
    let node = service.node();
    let open = TaskTracker::new();
    let mut is_failing = false;
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let refused = |why| node.metrics().count(Row::ConnectionsRefused, why);
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(error = reason(&error), "cannot accept a connection");
                }
                refused("not_accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        is_failing = false;
        let source = service.source(peer.ip().to_canonical());
        let place = match places.take(source, 1) {
            Ok(place) => place,
            Err(full) => {
                refused("full");
                if let Ok(told) = Arc::clone(&told).try_acquire_owned() {
                    open.spawn(task::boxed(async move {
                        refuse_connection(stream, full).await;
                        drop(told);
                    }));
                }
                continue;
            }
        };
        if let Err(error) = prepare(&stream, limits.pace.window) {
            let told = "a connection keeps the machine's own settings";
            tracing::debug!(error = reason(&error), "{told}");
        }
        let app = app.clone();
        let stop = stop.clone();
        let capacity = Arc::clone(service.capacity());
        let node = node.clone();
        open.spawn(task::boxed(async move {
            // A connection that would wait for too long is closed.
            let mut patience = MAX_WAIT;
            let requests = &capacity.requests;
            let turn = requests.spend(source, CONNECTING, &mut patience).await;
            if turn.is_ok() {
                node.metrics().count(Row::Connections, "");
                connection(stream, peer, app, limits, stop).await;
            } else {
                node.metrics().count(Row::ConnectionsRefused, "too_fast");
            }
            drop(place);
        }));
    }
    drop(listener);
    open.close();
    open.wait().await;
}

/// Configures a connection's buffers and timeouts.
fn prepare(stream: &TcpStream, stall: Duration) -> std::io::Result<()> {
    // Answers are small and are sent at once: waiting to fill a packet would add 40 ms to each.
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_send_buffer_size(SEND_BUFFER)?;
    // A peer that has vanished does not acknowledge data.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(stall))?;
    #[cfg(not(target_os = "linux"))]
    let _ = stall;
    Ok(())
}

async fn refuse_connection(mut stream: TcpStream, full: Full) {
    // Whether the peer reads the refusal does not matter. Closing a connection with unread data
    // would discard the refusal, so the data is read first.
    let told = async {
        let _ = stream.write_all(overloaded(full).as_bytes()).await;
        let _ = stream.shutdown().await;
        let mut unread = [0; 1_024];
        while stream.read(&mut unread).await.is_ok_and(|read| read > 0) {}
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let (stream, waits) = Paced::new(stream, limits.pace);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        app.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = waits.for_long() => {
                    tracing::debug!("a connection whose peer takes nothing is cut");
                    return;
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
