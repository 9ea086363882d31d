//! Runs the seeds of one scenario on several threads, and merges their outcomes in the order of
//! seeds, so that results do not depend on the number of threads.

mod in_order;
mod merged;
mod unlucky;

use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::ControlFlow;

use sim_judge::SeedOutcome;
use sim_model::history::Observer;
use sim_model::outcome::{Interrupt, Progress};
use sim_model::plan::Plan;

pub(crate) use in_order::{Ended, in_order};
pub use merged::Merged;

/// Runs one seed of a plan to its end, and passes all records to the observer, if there is one. The
/// outcome does not depend on the observer.
pub type RunSeed<'r> =
    &'r (dyn Fn(&Plan, u64, &Progress, Option<&mut (dyn Observer + '_)>) -> SeedOutcome + Sync);

/// The seeds to run, and the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// The number of seeds, upward from the first. After the largest number they continue from 0.
    pub count: NonZeroU64,
    /// The number of threads.
    pub jobs: NonZeroUsize,
}

/// Runs all seeds and merges their outcomes in order.
///
/// A seed whose run panics (the core does on a broken invariant) counts as a safety violation.
/// `tick` is called regularly on the calling thread. After an interrupt, the result is that of the
/// seeds so far.
pub fn run_seeds(
    seeds: Seeds,
    interrupt: &Interrupt,
    run: &(dyn Fn(u64, &Progress) -> SeedOutcome + Sync),
    tick: &mut dyn FnMut(&Progress),
) -> Merged {
    let mut merged = Merged::new(seeds.first, seeds.count.get());
    let run_one = |index: u64, progress: &Progress| run(seeds.first.wrapping_add(index), progress);
    let mut take = |index: u64, ended| {
        merged.add(seeds.first.wrapping_add(index), ended);
        ControlFlow::Continue(())
    };
    let jobs = (seeds.jobs, interrupt);
    in_order(seeds.count.get(), jobs, &run_one, &mut take, tick);
    merged
}

/// The merged result of one seed that was run elsewhere, or the message of its panic.
pub fn of_one_seed(seed: u64, ended: Result<SeedOutcome, String>) -> Merged {
    let mut merged = Merged::new(seed, 1);
    merged.add(seed, ended);
    merged
}

#[cfg(test)]
mod tests;
