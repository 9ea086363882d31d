//! Work that blocks, on a thread of the runtime's pool.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
}
