//! Work that blocks, on a thread of its own.

use std::io;
use std::thread;

use tokio::sync::oneshot;

/// Does this work on a new thread, and returns its result. The pool of the runtime panics if the
/// system has no thread for it, and keeps the work with everything that it holds.
///
/// # Errors
/// The system has no thread, or the work panicked. Nothing of the work is left.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (finish, finished) = oneshot::channel();
    thread::Builder::new().name("apart".into()).spawn(move || {
        // Whoever asked for the work may be gone.
        let _ = finish.send(work());
    })?;
    finished.await.map_err(|_| io::Error::other("it panicked"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_holds_nothing() {
        let held = Arc::new(());
        let kept = Arc::clone(&held);
        let done: io::Result<()> = apart(move || panic!("{kept:?}")).await;
        assert!(done.is_err());
        assert_eq!(apart(|| 7).await.ok(), Some(7));
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
