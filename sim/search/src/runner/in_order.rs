//! Work of several threads, with results taken in order by one.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sim_model::outcome::Interrupt;

use super::Progress;
use crate::panics::catch_panic;

/// The time between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// The result of one piece of work, or the message of its panic.
pub(crate) type Ended<T> = Result<T, String>;

/// Takes a result by its number, and returns whether to continue.
pub(crate) type Take<'a, T> = dyn FnMut(u64, Ended<T>) -> ControlFlow<()> + 'a;

/// State shared by the workers and the caller.
struct Shared<T> {
    next_to_start: u64,
    next_to_take: u64,
    /// The number of pieces; reduced when the caller stops early.
    count: u64,
    ready: BTreeMap<u64, Ended<T>>,
}

struct Monitor<T> {
    shared: Mutex<Shared<T>>,
    changed: Condvar,
}

impl<T> Monitor<T> {
    /// A panicking worker does not hold the lock, so the guarded state is consistent.
    fn lock(&self) -> MutexGuard<'_, Shared<T>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs pieces 0 to `count` and passes each result to `take` in order, until it returns `Break`.
/// Each thread stores at most a few results: a thread that is far ahead of the slowest waits.
/// Pieces in progress at a `Break` are finished and dropped, so that the taken results do not
/// depend on the number of threads. An interrupt is a `Break` before the next result.
///
/// `tick` is called regularly on the calling thread.
pub(crate) fn in_order<T: Send>(
    count: u64,
    (jobs, interrupt): (NonZeroUsize, &Interrupt),
    run: &(dyn Fn(u64, &Progress) -> T + Sync),
    take: &mut Take<'_, T>,
    tick: &mut dyn FnMut(&Progress),
) {
    let progress = Progress::until(interrupt.clone());
    let monitor = Monitor {
        shared: Mutex::new(Shared {
            next_to_start: 0,
            next_to_take: 0,
            count,
            ready: BTreeMap::new(),
        }),
        changed: Condvar::new(),
    };
    let jobs = count.min(jobs.get() as u64);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work(jobs * 2, &monitor, run, &progress));
        }
        for index in 0..count {
            let ended = wait_for(index, &monitor, &progress, tick);
            let taken = match ended {
                Some(ended) => take(index, ended),
                None => ControlFlow::Break(()),
            };
            progress.finish_seed();
            if taken.is_break() {
                monitor.lock().count = 0;
                monitor.changed.notify_all();
                break;
            }
        }
    });
}

/// Runs one piece after another until none is left.
fn work<T: Send>(
    window: u64,
    monitor: &Monitor<T>,
    run: &(dyn Fn(u64, &Progress) -> T + Sync),
    progress: &Progress,
) {
    loop {
        let index = {
            let mut shared = monitor.lock();
            loop {
                if shared.next_to_start >= shared.count {
                    return;
                }
                if shared.next_to_start < shared.next_to_take + window {
                    break;
                }
                shared = monitor
                    .changed
                    .wait(shared)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            shared.next_to_start += 1;
            shared.next_to_start - 1
        };
        let ended = catch_panic(|| run(index, progress));
        monitor.lock().ready.insert(index, ended);
        monitor.changed.notify_all();
    }
}

/// Waits for the result of one piece, and tells the workers that it is taken. None after an
/// interrupt, which may have cut the piece short.
fn wait_for<T>(
    index: u64,
    monitor: &Monitor<T>,
    progress: &Progress,
    tick: &mut dyn FnMut(&Progress),
) -> Option<Ended<T>> {
    let mut shared = monitor.lock();
    loop {
        let ready = shared.ready.remove(&index);
        // The interrupt was set before it could cut this piece short.
        if progress.is_interrupted() {
            return None;
        }
        if let Some(ended) = ready {
            shared.next_to_take = index + 1;
            drop(shared);
            monitor.changed.notify_all();
            return Some(ended);
        }
        let (guard, timeout) = monitor
            .changed
            .wait_timeout(shared, TICK)
            .unwrap_or_else(PoisonError::into_inner);
        shared = guard;
        if timeout.timed_out() {
            drop(shared);
            tick(progress);
            shared = monitor.lock();
        }
    }
}
