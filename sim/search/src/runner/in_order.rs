//! Work of several threads, with results taken in order by one.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sim_model::outcome::Interrupt;

use super::Progress;
use crate::panics::catch_panic;

/// The time between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// The result of one piece of work, or the message of its panic.
pub(crate) type Ended<T> = Result<T, String>;

/// Runs pieces 0 to `count` and passes each result with its number to `take`, in order, until it
/// returns `Break`.
/// Few results are stored: a piece is begun only when all are taken that are far before it.
/// Pieces in progress at a `Break` are finished and dropped, so that the taken results do not
/// depend on the number of threads. An interrupt is a `Break` before the next result.
///
/// `tick` is called regularly on the calling thread.
pub(crate) fn in_order<T: Send>(
    count: u64,
    (jobs, interrupt): (NonZeroUsize, &Interrupt),
    run: &(dyn Fn(u64, &Progress) -> T + Sync),
    take: &mut dyn FnMut(u64, Ended<T>) -> ControlFlow<()>,
    tick: &mut dyn FnMut(&Progress),
) {
    let progress = &Progress::until(interrupt.clone());
    let jobs = count.min(jobs.get() as u64);
    let window = jobs * 2;
    let (begin, pieces) = channel();
    let (end, ends) = channel();
    let (pieces, results) = (&Mutex::new(pieces), &Mutex::new(BTreeMap::new()));
    let next = || lock(pieces).recv().ok();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let end = end.clone();
            scope.spawn(move || {
                while let Some(index) = next() {
                    let ended = catch_panic(|| run(index, progress));
                    lock(results).insert(index, ended);
                    // After a `Break` nobody waits for it.
                    let _ = end.send(index);
                }
            });
        }
        // All workers hold the other end of the channel until `begin` is dropped.
        let begin_piece = |index| {
            if index < count {
                let _ = begin.send(index);
            }
        };
        (0..window).for_each(begin_piece);
        for index in 0..count {
            let ended = loop {
                let ended = lock(results).remove(&index);
                // The interrupt was set before it could cut this piece short.
                if progress.is_interrupted() {
                    break None;
                }
                if ended.is_some() {
                    break ended;
                }
                if ends.recv_timeout(TICK).is_err() {
                    tick(progress);
                }
            };
            let taken = ended.map(|ended| {
                begin_piece(index + window);
                take(index, ended)
            });
            progress.finish_seed();
            if taken.is_none_or(|taken| taken.is_break()) {
                break;
            }
        }
        drop(begin);
        // Pieces that are not begun yet are dropped.
        while next().is_some() {}
    });
}

/// No worker panics while it holds a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
