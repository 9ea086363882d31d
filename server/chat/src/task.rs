//! Tasks of one type. For each type of future that is spawned, the compiler makes the runtime's code of a
//! task anew, twice: for both of its schedulers.

use std::pin::Pin;

use tokio::task::JoinHandle;

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
