//! Runs the seeds of one scenario over several threads, and merges what they come to in the order
//! of the seeds, so that nothing but the time it takes depends on the number of threads.

mod in_order;
mod merged;
mod progress;
mod rest;
mod verdict;
mod worst;

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::ControlFlow;

use chat_core::Span;

use crate::charts::Charts;
use crate::plan::Plan;
use crate::report::Timeline;
use crate::result::{
    Counts, FairnessResult, MetricResult, PropertyResult, Stuck, ThresholdResult, Violation,
};
use crate::sometimes::Tally;

pub(crate) use in_order::{Ended, in_order};
pub use merged::{FailingSeed, Merged, Summary};
pub use progress::{LiveNow, Progress, ProgressNow};
pub(crate) use verdict::class_of;
pub use verdict::{is_judged, is_silent, unreached, worst};
pub use worst::{Seek, Worst};

/// The property of a run that broke off: what the core's own checks find.
pub const PANIC: &str = "panic";

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
    /// The worst wait, or passing over, of anyone.
    fn worst(&self, of: Seek) -> Worst;
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

/// Runs all seeds and merges their outcomes in order.
///
/// A seed whose run panics (the core does on a broken invariant) counts as a safety violation.
/// `tick` is called now and then on the calling thread.
pub fn run_seeds<M: Measured>(
    seeds: Seeds,
    run: &(dyn Fn(u64, &Progress) -> SeedOutcome<M> + Sync),
    tick: &mut dyn FnMut(&Progress),
) -> Merged<M> {
    let mut merged = Merged::new(seeds);
    let run_one = |index: u64, progress: &Progress| run(seeds.first.wrapping_add(index), progress);
    let mut take = |index: u64, ended| {
        merged.add(seeds.first.wrapping_add(index), ended);
        ControlFlow::Continue(())
    };
    in_order(seeds.count.get(), seeds.jobs, &run_one, &mut take, tick);
    merged
}

/// What one seed came to, as if it had been run here: of worlds that are run elsewhere.
pub fn of_one_seed<M: Measured>(outcome: SeedOutcome<M>) -> Merged<M> {
    let seed = outcome.seed;
    let mut merged = Merged::new(Seeds {
        first: seed,
        count: NonZeroU64::MIN,
        jobs: NonZeroUsize::MIN,
    });
    merged.add(seed, Ok(outcome));
    merged
}

#[cfg(test)]
mod tests;
