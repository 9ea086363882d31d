//! Worlds with judges, as every run has them.

use std::cell::RefCell;
use std::rc::Rc;

use sim_judge::{RunJudge, SeedOutcome};

use super::super::*;

/// A world that is judged.
pub(crate) struct Judged<'p> {
    pub(crate) world: World<'p, 'static>,
    judge: Rc<RefCell<RunJudge<'static>>>,
}

impl<'p> Judged<'p> {
    /// A world that has started.
    pub(crate) fn begin(plan: &'p Plan, seed: u64, swaps: Actor) -> Self {
        let judge = Rc::new(RefCell::new(RunJudge::new(plan, None)));
        let observer: SharedObserver<'static> = Rc::<RefCell<RunJudge<'static>>>::clone(&judge);
        let mut world = World::new(plan, seed, Observers::new(Some(observer)), swaps);
        world.begin();
        Self { world, judge }
    }

    pub(crate) fn branch(&self, branch: u32) -> Self {
        let judge = Rc::new(RefCell::new(self.judge.borrow().alone()));
        let observer: SharedObserver<'static> = Rc::<RefCell<RunJudge<'static>>>::clone(&judge);
        let world = self.world.branch(branch, Some(observer));
        Self { world, judge }
    }

    /// The result of the run, which is over.
    pub(crate) fn finish(self) -> SeedOutcome {
        let plan = self.world.plan;
        finish(self.judge, plan, self.world.ran())
    }
}

fn finish(judge: Rc<RefCell<RunJudge<'_>>>, plan: &Plan, ran: WorldOutcome) -> SeedOutcome {
    let judge = Rc::into_inner(judge).expect("the world has let it go");
    judge.into_inner().finish(plan, ran)
}

/// Runs one seed to its end, judged.
pub(crate) fn run(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let judge = Rc::new(RefCell::new(RunJudge::new(plan, also)));
    let observer: SharedObserver<'_> = Rc::<RefCell<RunJudge<'_>>>::clone(&judge);
    let ran = super::super::run(plan, seed, progress, Some(observer));
    finish(judge, plan, ran)
}
