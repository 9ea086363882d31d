//! Worlds with judges, as every run has them.

use std::cell::RefCell;
use std::rc::Rc;

use sim_judge::{RunJudge, SeedOutcome};

use super::super::*;

/// A world that is judged.
pub(crate) struct Judged<'p> {
    pub(crate) world: World<'p, 'static>,
    judge: Rc<RefCell<RunJudge>>,
}

impl<'p> Judged<'p> {
    /// A world that has started.
    pub(crate) fn begin(plan: &'p Plan, seed: u64, swaps: Actor) -> Self {
        let judge = Rc::new(RefCell::new(RunJudge::new(plan)));
        let observers = Observers::new(Some(judge.clone()));
        let mut world = World::new(plan, seed, observers, swaps);
        world.begin();
        Self { world, judge }
    }

    pub(crate) fn branch(&self, branch: u32) -> Self {
        let judge = Rc::new(RefCell::new(self.judge.borrow().clone()));
        let world = self.world.branch(branch, judge.clone());
        Self { world, judge }
    }

    /// The result of the run, which is over.
    pub(crate) fn finish(self) -> SeedOutcome {
        let (plan, ran) = (self.world.plan, self.world.ran());
        alone(self.judge).finish(plan, ran)
    }
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
