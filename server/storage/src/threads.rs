//! What threads share: locks, work that blocks, and the priority of those whose work no call waits for.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value. No code panics half way through a change of it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does this work on a thread of the runtime's pool, which panics if the system has none for it. Then
/// the pool keeps the work for later, so it must hold nothing that others wait for.
///
/// # Errors
/// The system has no thread, or the work panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let given = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(work)));
    let given = given.map_err(|_| io::Error::other("the system has no thread for it"))?;
    given.await.map_err(io::Error::other)
}

/// Lowers the priority of this thread, so that it works when others leave a core idle. Without this,
/// the history and the snapshots slow calls down as soon as all cores are in use.
///
/// Only Linux has a priority for each thread; elsewhere nothing changes.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        /// The nice value, the largest. Such a thread still gets about a sixtieth of a core that
        /// others want.
        const NICE: i32 = 19;
        // The priority of a "process" is that of the thread with this id.
        let thread = rustix::thread::gettid();
        if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
            tracing::debug!(%error, "the priority of a background thread stays as it is");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn work_without_a_thread_and_work_that_panics_are_errors() {
        let runtime = |stack| {
            let mut builder = Builder::new_current_thread();
            builder.thread_stack_size(stack).build().unwrap()
        };
        let none = runtime(usize::MAX / 4).block_on(blocking(|| 7));
        assert!(none.is_err());
        runtime(1 << 20).block_on(async {
            assert!(blocking(|| panic!("on purpose")).await.is_err());
            assert_eq!(blocking(|| 7).await.ok(), Some(7));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_thread_of_low_priority_yields() {
        use rustix::process::getpriority_process;
        use rustix::thread::gettid;

        let before = getpriority_process(Some(gettid())).unwrap();
        let lowered = std::thread::spawn(|| {
            lower_priority();
            getpriority_process(Some(gettid())).unwrap()
        });
        assert_eq!(lowered.join().unwrap(), before.max(19));
        assert_eq!(getpriority_process(Some(gettid())).unwrap(), before);
    }
}
