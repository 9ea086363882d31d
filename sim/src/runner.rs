//! Runs the seeds of one scenario over several threads, and merges what they come to in the order
//! of the seeds, so that nothing but the time it takes depends on the number of threads.

mod merged;
mod progress;
mod verdict;

use std::any::Any;
use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat_core::Span;

use crate::charts::Charts;
use crate::plan::Plan;
use crate::report::Timeline;
use crate::result::{
    Counts, FairnessResult, MetricResult, PropertyResult, Stuck, ThresholdResult, Violation,
};
use crate::sometimes::Tally;

pub use merged::{FailingSeed, Merged, Summary};
pub use progress::{Progress, ProgressNow};
pub(crate) use verdict::class_of;
pub use verdict::{unreached, worst};

/// How often the caller hears of progress while it waits.
const TICK: Duration = Duration::from_millis(100);

/// What one seed's run comes to.
#[derive(Clone, Debug)]
pub struct SeedOutcome<M> {
    /// The seed.
    pub seed: u64,
    /// The hash of every step.
    pub trace_hash: u64,
    /// Virtual time from first to last.
    pub virtual_span: Span,
    /// Virtual users who came.
    pub users: u64,
    /// How many of them came as each persona, in the order of the scenario; empty for the steps
    /// form, whose users have no personas.
    pub by_persona: Vec<u64>,
    /// Events of the virtual world handled.
    pub steps: u64,
    /// Each property that was judged, by name.
    pub properties: BTreeMap<&'static str, PropertyResult>,
    /// What was violated, in the order of time. The runner fills in the seed.
    pub violations: Vec<Violation>,
    /// Messages.
    pub counts: Counts,
    /// Metrics, as far as they can be merged with those of other seeds.
    pub metrics: M,
    /// The thresholds, as this seed measured them.
    pub thresholds: Vec<ThresholdResult>,
    /// `sometimes` points.
    pub tally: Tally,
    /// Users who did not get on. The runner fills in the seed.
    pub stuck: Vec<Stuck>,
    /// When what happened.
    pub timeline: Timeline,
}

/// The metrics of one seed or of several: they merge, so that quantiles are of all seeds at once.
pub trait Measured: Send + Sized {
    /// Adds what another seed measured.
    fn merge(&mut self, other: &Self);
    /// Every metric and every fairness metric by name.
    fn results(
        &self,
    ) -> (
        BTreeMap<String, MetricResult>,
        BTreeMap<String, FairnessResult>,
    );
    /// Whether each threshold of the plan is met. `stuck` counts users who did not get on.
    fn thresholds(&self, plan: &Plan, counts: &Counts, stuck: u64) -> Vec<ThresholdResult>;
    /// The properties that follow from the thresholds, over all seeds (`fairness`, `latency`).
    fn judged_by_thresholds(
        plan: &Plan,
        results: &[ThresholdResult],
    ) -> BTreeMap<&'static str, PropertyResult>;
    /// Refusals by code.
    fn refusals(&self) -> BTreeMap<String, u64>;
    /// What a report draws of them; nothing, unless there is something to draw.
    fn charts(&self) -> Charts {
        Charts::default()
    }
}

/// Which seeds to run, and how many at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// How many, upward from the first. Past the largest number they go on from 0.
    pub count: NonZeroU64,
    /// At a time.
    pub jobs: NonZeroUsize,
}

/// What became of one seed: its outcome, or the words with which the run broke off.
type Ended<M> = Result<SeedOutcome<M>, String>;

/// Between the workers and the caller, who merges.
struct Shared<M> {
    next_to_start: u64,
    next_to_merge: u64,
    ready: BTreeMap<u64, Ended<M>>,
}

struct Board<M> {
    shared: Mutex<Shared<M>>,
    changed: Condvar,
}

impl<M> Board<M> {
    /// A worker that panics does so outside of the lock, so what the lock guards is whole.
    fn lock(&self) -> MutexGuard<'_, Shared<M>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs all seeds and merges their outcomes in order. At most a few outcomes per thread are held
/// at once: a thread that is far ahead of the slowest seed waits.
///
/// A seed whose run panics (the core does on a broken invariant) counts as a safety violation.
/// `tick` is called now and then on the calling thread.
pub fn run_seeds<M: Measured>(
    seeds: Seeds,
    run: &(dyn Fn(u64, &Progress) -> SeedOutcome<M> + Sync),
    tick: &mut dyn FnMut(&Progress),
) -> Merged<M> {
    let count = seeds.count.get();
    let progress = Progress::default();
    let board = Board {
        shared: Mutex::new(Shared {
            next_to_start: 0,
            next_to_merge: 0,
            ready: BTreeMap::new(),
        }),
        changed: Condvar::new(),
    };
    let jobs = count.min(seeds.jobs.get() as u64);
    let mut merged = Merged::new(seeds);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work(seeds, jobs * 2, &board, run, &progress));
        }
        for index in 0..count {
            let ended = wait_for(index, &board, &progress, tick);
            merged.add(seeds.first.wrapping_add(index), ended);
            progress.finish_seed();
        }
    });
    merged
}

/// Takes one seed after another until none is left.
fn work<M: Measured>(
    seeds: Seeds,
    window: u64,
    board: &Board<M>,
    run: &(dyn Fn(u64, &Progress) -> SeedOutcome<M> + Sync),
    progress: &Progress,
) {
    loop {
        let index = {
            let mut shared = board.lock();
            loop {
                if shared.next_to_start >= seeds.count.get() {
                    return;
                }
                if shared.next_to_start < shared.next_to_merge + window {
                    break;
                }
                shared = board
                    .changed
                    .wait(shared)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            shared.next_to_start += 1;
            shared.next_to_start - 1
        };
        let seed = seeds.first.wrapping_add(index);
        let ended = catch_unwind(AssertUnwindSafe(|| run(seed, progress)))
            .map_err(|payload| panic_words(payload.as_ref()));
        board.lock().ready.insert(index, ended);
        board.changed.notify_all();
    }
}

/// Waits for the outcome of one seed, and lets the workers know that it is taken.
fn wait_for<M>(
    index: u64,
    board: &Board<M>,
    progress: &Progress,
    tick: &mut dyn FnMut(&Progress),
) -> Ended<M> {
    let mut shared = board.lock();
    loop {
        if let Some(ended) = shared.ready.remove(&index) {
            shared.next_to_merge = index + 1;
            drop(shared);
            board.changed.notify_all();
            return ended;
        }
        let (guard, timeout) = board
            .changed
            .wait_timeout(shared, TICK)
            .unwrap_or_else(PoisonError::into_inner);
        shared = guard;
        if timeout.timed_out() {
            drop(shared);
            tick(progress);
            shared = board.lock();
        }
    }
}

/// What a panic said.
pub(crate) fn panic_words(payload: &(dyn Any + Send)) -> String {
    let said = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    said.unwrap_or("a panic without words").to_owned()
}

#[cfg(test)]
mod tests;
