//! Connections: accepted, limited, timed, and ended in good order.
//!
//! Everything that a peer can do to a connection is bounded here, once for all routes: how many
//! there are, how long a head may take, and how fast a peer has to take what it is sent. A peer
//! that is too slow is cut off; what it missed is in its inbox.

mod pace;
mod waits;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::capacity::{CONNECTING, Full, MAX_WAIT};
use crate::refusal::Refusal;
use crate::service::Service;

use pace::Paced;

pub use pace::Pace;

/// What connections may do.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// How long a request's head may take to arrive.
    pub head: Duration,
    /// How fast a peer has to take what it is sent.
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

/// Raises the number of files that this process may have open as far as the machine lets it, since
/// each connection is one, and returns it.
#[must_use]
pub fn raise_file_limit() -> u64 {
    rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
        tracing::debug!(%error, "the limit of open files stays as it is");
        rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(u64::MAX, |(soft, _)| soft)
    })
}

/// How much of a request's head, and of an answer, is held for one connection: a buffer that grows to
/// this takes twice as much.
const BUFFER: usize = 16 * 1_024;

/// How much the machine holds of what a peer has not taken yet. Left to itself it is megabytes,
/// times as many peers as stall.
const SEND_BUFFER: usize = 128 * 1_024;

/// How many connections beyond the limit are told so at once; the others are just closed.
const TOLD: usize = 64;

/// How long to wait when no connection can be accepted, as when there are no more file
/// descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is told beyond a limit of connections.
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

/// Serves connections until `stop`, and then those that are open until they end. How many there
/// may be, of all and of one address, the service says.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    (service, limits): (Service, ConnectionLimits),
    stop: CancellationToken,
) {
    let places = service.capacity().connections.clone();
    let told = Arc::new(Semaphore::new(TOLD));
    let open = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let source = service.address(peer.ip().to_canonical());
        let place = match places.take(source, 1) {
            Ok(place) => place,
            Err(full) => {
                if let Ok(told) = Arc::clone(&told).try_acquire_owned() {
                    open.spawn(async move {
                        turn_away(stream, full).await;
                        drop(told);
                    });
                }
                continue;
            }
        };
        if let Err(error) = prepare(&stream, limits.pace.window) {
            tracing::debug!(%error, "a connection keeps the machine's own settings");
        }
        let app = app.clone();
        let stop = stop.clone();
        let capacity = Arc::clone(service.capacity());
        open.spawn(async move {
            // One that would wait for too long is closed.
            let mut patience = MAX_WAIT;
            let requests = &capacity.requests;
            let turn = requests.spend(source, CONNECTING, &mut patience).await;
            if turn.is_ok() {
                connection(stream, peer, app, limits, stop).await;
            }
            drop(place);
        });
    }
    drop(listener);
    open.close();
    open.wait().await;
}

/// Sets what a connection is to do: how, and for how long, it holds what the peer has not taken.
fn prepare(stream: &TcpStream, stall: Duration) -> std::io::Result<()> {
    // Answers are small and go out at once: waiting to fill a packet would cost 40 ms each.
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_send_buffer_size(SEND_BUFFER)?;
    // A peer that is gone without a word answers nothing that it is sent.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(stall))?;
    #[cfg(not(target_os = "linux"))]
    let _ = stall;
    Ok(())
}

async fn turn_away(mut stream: TcpStream, full: Full) {
    // Whether it is heard is the peer's affair. A connection that is closed with unread words in
    // it takes the answer with it, so those are read.
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
