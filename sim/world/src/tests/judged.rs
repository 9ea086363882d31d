//! Worlds with judges, as every run has them.

use sim_judge::{RunJudge, SeedOutcome};

use super::super::*;

/// A world that is judged, and has started.
pub(crate) fn begin(plan: &Plan, seed: u64) -> Split<'_, RunJudge> {
    Split::begin(plan, seed, RunJudge::new(plan))
}

/// The result of a run, which is over.
pub(crate) fn finish(judged: Split<'_, RunJudge>) -> SeedOutcome {
    let plan = judged.world.plan;
    let (ran, judge) = judged.finish();
    judge.finish(plan, ran)
}

/// Runs one seed to its end, judged.
pub(crate) fn run(plan: &Plan, seed: u64) -> SeedOutcome {
    watched(plan, seed, |_| {})
}

struct Watcher<F>(F);

impl<F: FnMut(RunEvent<'_>)> Observer for Watcher<F> {
    fn observe(&mut self, event: RunEvent<'_>) {
        (self.0)(event);
    }
}

/// Runs one seed to its end, judged, and shows each event.
pub(crate) fn watched(plan: &Plan, seed: u64, show: impl FnMut(RunEvent<'_>)) -> SeedOutcome {
    let observers = (RunJudge::new(plan), Watcher(show));
    let progress = Progress::default();
    let (ran, (judge, _)) = super::super::run(plan, seed, &progress, observers);
    judge.finish(plan, ran)
}
