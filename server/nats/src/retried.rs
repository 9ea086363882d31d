//! Attempts at servers that may have just started.

use std::time::Duration;

use tokio::time::Instant;

/// How long servers that just started have until they make a stream, or answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two attempts.
pub(crate) const AGAIN: Duration = Duration::from_millis(500);

/// Tries until it succeeds or fails for good, or servers that just started have had their time.
pub(crate) async fn retried<T, E, A, P>(
    attempt: impl Fn() -> A,
    is_final: impl Fn(&E) -> bool,
    pause: impl Fn() -> P,
) -> Result<T, E>
where
    A: Future<Output = Result<T, E>>,
    P: Future<Output = ()>,
{
    let until = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Err(error) if !is_final(&error) && Instant::now() < until => pause().await,
            ended => return ended,
        }
    }
}
