//! Whether the peer of a connection reads: a shutdown does not wait for a peer that does not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

/// How long a peer may read nothing during a shutdown.
const LONG: Duration = Duration::from_secs(1);

/// Twice the number of writes that began to wait for the peer, plus one while one waits.
#[derive(Debug, Default)]
pub(super) struct Waits(AtomicU64);

impl Waits {
    /// The number of the current wait; none if no write waits.
    fn current(&self) -> Option<u64> {
        let count = self.0.load(Ordering::Relaxed);
        (count % 2 == 1).then_some(count)
    }

    /// Returns when the peer has read nothing for `LONG` while data waits.
    pub(super) async fn for_long(&self) {
        loop {
            let before = self.current();
            tokio::time::sleep(LONG).await;
            if before.is_some() && before == self.current() {
                return;
            }
        }
    }

    /// Counts a write attempt.
    pub(super) fn wrote<T>(&self, polled: &Poll<T>) {
        let waits = self.current().is_some();
        if waits != polled.is_pending() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::super::pace::{Pace, Paced};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_peer_that_reads_nothing_is_closed() {
        let (server, mut peer) = tokio::io::duplex(4);
        let pace = Pace {
            window: LONG * 1_000,
            least_rate: 0,
        };
        let (mut server, waits) = Paced::new(server, pace);
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
