//! Connections: accepted, limited, timed, and ended in order.
//!
//! This module bounds connections for all routes: their number, the time for a request's head, and
//! the least rate at which peers read. The connection of a peer that reads too slowly is closed;
//! the events stay in its inbox.
//!
//! A write that has to wait opens a window. Within each window the peer must read as many bytes as
//! the least rate requires. Time without waiting data does not count, and a rest as long as a
//! window ends it. Progress alone is not enough: a peer that reads single bytes would hold an
//! answer for ever. Reading all waiting data is not enough either: a stream always has more.
//!
//! A shutdown does not wait for a peer that reads nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

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
fn prepare(stream: &TcpStream, stall: Duration) -> io::Result<()> {
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
    let stream = Paced::new(stream, limits.pace, stop.clone());
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
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The least rate at which a peer must read waiting data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The length of a window, and so the longest time without any reading.
    pub window: Duration,
    /// Bytes per second.
    pub least_rate: u64,
}

impl Pace {
    /// The number of bytes that must be read within a window.
    fn least(self) -> u128 {
        u128::from(self.least_rate) * self.window.as_millis() / 1_000
    }
}

/// The pace during a shutdown: only a peer that reads nothing is too slow.
const LAST: Pace = Pace {
    window: Duration::from_secs(1),
    least_rate: 0,
};

/// A connection whose peer must keep the pace.
#[derive(Debug)]
struct Paced<S> {
    inner: S,
    pace: Pace,
    /// Cancelled when the server shuts down.
    stop: CancellationToken,
    /// The current window, since data waited for the peer.
    window: Option<Window>,
}

#[derive(Debug)]
struct Window {
    pace: Pace,
    ends: Pin<Box<Sleep>>,
    taken: u128,
    /// The instant since which no data waits for the peer; none while some waits.
    rests: Option<Instant>,
}

impl Window {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            ends: Box::pin(sleep_until(Instant::now() + pace.window)),
            taken: 0,
            rests: None,
        }
    }

    /// Data waits again: the window continues, or restarts after a long rest.
    fn resume(&mut self) {
        let Some(since) = self.rests.take() else {
            return;
        };
        let rest = since.elapsed();
        if rest >= self.pace.window {
            *self = Self::new(self.pace);
        } else {
            let ends = self.ends.deadline() + rest;
            self.ends.as_mut().reset(ends);
        }
    }
}

impl<S> Paced<S> {
    fn new(inner: S, pace: Pace, stop: CancellationToken) -> Self {
        Self {
            inner,
            pace,
            stop,
            window: None,
        }
    }

    /// Counts the bytes of a write, or lets it wait while the peer keeps the pace.
    fn wrote(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match (&polled, &mut self.window) {
            (Poll::Ready(Ok(taken)), Some(window)) => window.taken += *taken as u128,
            (Poll::Pending, window) => {
                let pace = match self.stop.is_cancelled() {
                    true => LAST,
                    false => self.pace,
                };
                let window = window.get_or_insert_with(|| Window::new(pace));
                if window.pace != pace {
                    *window = Window::new(pace);
                }
                window.resume();
                while window.ends.as_mut().poll(context).is_ready() {
                    // A peer that reads nothing is too slow at any rate.
                    if window.taken < pace.least().max(1) {
                        let why = "the peer takes what it is sent too slowly";
                        return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
                    }
                    window.taken = 0;
                    window.ends.as_mut().reset(Instant::now() + pace.window);
                }
            }
            (Poll::Ready(_), _) => {}
        }
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.wrote(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.wrote(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    /// Called when nothing is left to write.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(window) = &mut self.window {
            window.rests.get_or_insert_with(Instant::now);
        }
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::DuplexStream;

    use super::*;

    const PACE: Pace = Pace {
        window: Duration::from_secs(10),
        least_rate: 2,
    };

    fn paced(server: DuplexStream) -> Paced<DuplexStream> {
        Paced::new(server, PACE, CancellationToken::new())
    }

    /// Writes two hundred bytes to a peer that reads this many of them every second.
    async fn taken_by(
        mut peer: DuplexStream,
        server: DuplexStream,
        bytes: usize,
    ) -> io::Result<()> {
        let mut server = paced(server);
        let writing = tokio::spawn(async move {
            server.write_all(&[b'x'; 200]).await?;
            server.flush().await
        });
        let mut taken = vec![0; bytes];
        while !writing.is_finished() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if bytes > 0 && peer.read(&mut taken).await? == 0 {
                break;
            }
        }
        writing.await?
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_below_the_least_rate_is_closed() {
        for (bytes, is_cut) in [(0, true), (1, true), (2, false), (50, false)] {
            let (server, peer) = tokio::io::duplex(8);
            let wrote = taken_by(peer, server, bytes).await;
            let cut = wrote.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
            assert_eq!(cut, is_cut, "{bytes} bytes a second");
        }
    }

    /// Sends words of nine bytes one by one, each flushed, to a peer that reads one word in this
    /// many seconds.
    async fn words_taken_each(seconds: u64) -> io::Result<()> {
        let (server, mut peer) = tokio::io::duplex(8);
        let mut server = paced(server);
        let writing = tokio::spawn(async move {
            for _ in 0..20 {
                server.write_all(b"123456789").await?;
                server.flush().await?;
            }
            Ok(())
        });
        while !writing.is_finished() {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let mut word = [0; 9];
            if peer.read_exact(&mut word).await.is_err() {
                break;
            }
        }
        writing.await?
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_always_has_unread_bytes_counts_as_slow() {
        assert!(words_taken_each(3).await.is_ok());
        let slow = words_taken_each(6).await.unwrap_err();
        assert_eq!(slow.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_peer_starts_a_new_window() {
        let (server, mut peer) = tokio::io::duplex(8);
        let mut server = paced(server);
        for _ in 0..5 {
            let taking = async {
                tokio::time::sleep(PACE.window * 9 / 10).await;
                peer.read_exact(&mut [0; 9]).await.unwrap();
            };
            let (wrote, ()) = tokio::join!(server.write_all(b"123456789"), taking);
            wrote.unwrap();
            server.flush().await.unwrap();
            tokio::time::sleep(PACE.window).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_without_unsent_bytes_has_no_deadline() {
        let (server, mut peer) = tokio::io::duplex(8);
        let mut server = paced(server);
        for _ in 0..3 {
            server.write_all(b"12345678").await.unwrap();
            server.flush().await.unwrap();
            let mut taken = [0; 8];
            peer.read_exact(&mut taken).await.unwrap();
            tokio::time::sleep(PACE.window * 10).await;
        }
        assert!(server.window.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn at_a_shutdown_only_a_peer_that_reads_nothing_is_closed() {
        let (server, mut peer) = tokio::io::duplex(4);
        let pace = Pace {
            window: LAST.window * 1_000,
            least_rate: 0,
        };
        let stop = CancellationToken::new();
        let mut server = Paced::new(server, pace, stop.clone());
        stop.cancel();
        let writing = tokio::spawn(async move { server.write_all(&[b'x'; 100]).await });
        for _ in 0..5 {
            tokio::time::sleep(LAST.window / 2).await;
            assert!(!writing.is_finished(), "it takes something now and then");
            peer.read_exact(&mut [0; 4]).await.unwrap();
        }
        let cut = writing.await.unwrap().unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::TimedOut);
    }
}
