//! Whether the peer of a connection takes what it is sent: a server that stops does not wait for one
//! that takes nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How long a peer may take nothing of what it is sent, once the server stops.
const LONG: Duration = Duration::from_secs(1);

/// A connection whose writes are watched.
#[derive(Debug)]
pub(super) struct Unread<S> {
    inner: S,
    waits: Arc<Waits>,
}

/// The count of writes that began to wait for the peer, doubled, and one more while one waits.
#[derive(Debug, Default)]
pub(super) struct Waits(AtomicU64);

impl Waits {
    /// Which wait for the peer it is that goes on; none when nothing waits.
    fn current(&self) -> Option<u64> {
        let count = self.0.load(Ordering::Relaxed);
        (count % 2 == 1).then_some(count)
    }

    /// Returns when the peer has taken nothing for long, though it is sent something.
    pub(super) async fn for_long(&self) {
        loop {
            let before = self.current();
            tokio::time::sleep(LONG).await;
            if before.is_some() && before == self.current() {
                return;
            }
        }
    }

    fn wrote<T>(&self, polled: &Poll<T>) {
        let waits = self.current().is_some();
        if waits != polled.is_pending() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<S> Unread<S> {
    /// Watches the writes of a connection.
    pub(super) fn watch(inner: S) -> (Self, Arc<Waits>) {
        let waits = Arc::<Waits>::default();
        let watched = Self {
            inner,
            waits: Arc::clone(&waits),
        };
        (watched, waits)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unread<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unread<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.waits.wrote(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.waits.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_peer_that_takes_nothing_of_what_waits_is_given_up() {
        let (server, mut peer) = tokio::io::duplex(4);
        let (mut server, waits) = Unread::watch(server);
        server.write_all(b"1234").await.unwrap();
        assert_eq!(waits.current(), None);
        let given_up = tokio::time::timeout(LONG * 10, waits.for_long());
        assert!(given_up.await.is_err(), "nothing waits");
        let writing = tokio::spawn(async move { server.write_all(&[b'x'; 100]).await });
        let mut taken = [0; 4];
        for _ in 0..5 {
            peer.read_exact(&mut taken).await.unwrap();
            let soon = tokio::time::timeout(LONG / 2, waits.for_long());
            assert!(soon.await.is_err(), "it takes something now and then");
        }
        waits.for_long().await;
        assert!(!writing.is_finished());
    }
}
