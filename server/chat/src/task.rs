//! Tasks of one type. For each type of future that is spawned, the compiler makes the runtime's code of a
//! task anew, twice: for both of its schedulers.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;

/// The pause before a task begins anew.
const AGAIN: Duration = Duration::from_secs(1);

/// What a task runs.
pub type BoxedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Puts a future on the heap, so that its type is that of all others.
pub fn boxed(work: impl Future<Output = ()> + Send + 'static) -> BoxedTask {
    Box::pin(work)
}

/// Runs a future as a task of the current runtime.
pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(boxed(work))
}

/// Keeps work going that the server needs until it stops: it begins anew after a panic.
pub fn keep<F>(name: &'static str, begin: impl Fn() -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    spawn(async move {
        // The panic's hook has told its message.
        while AssertUnwindSafe(begin()).catch_unwind().await.is_err() {
            tracing::error!(name, "a task of the server panicked, and is restarted");
            tokio::time::sleep(AGAIN).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_panics_begins_anew_and_work_that_ends_does_not() {
        let (begun, done) = (Arc::<AtomicU32>::default(), Arc::<Notify>::default());
        let (counted, ended) = (Arc::clone(&begun), Arc::clone(&done));
        keep("test", move || {
            let (times, ended) = (counted.fetch_add(1, Ordering::Relaxed), Arc::clone(&ended));
            async move {
                assert!(times >= 2, "on purpose");
                ended.notify_one();
            }
        });
        done.notified().await;
        tokio::time::sleep(AGAIN * 10).await;
        assert_eq!(begun.load(Ordering::Relaxed), 3);
    }
}
