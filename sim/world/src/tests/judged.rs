//! Worlds with judges, as every run has them.

use std::cell::RefCell;
use std::rc::Rc;

use sim_judge::{Jury, SeedOutcome};

use super::super::*;

/// A world that is judged.
pub(crate) struct Judged<'p> {
    pub(crate) world: World<'p, 'static>,
    jury: Rc<RefCell<Jury<'static>>>,
}

impl<'p> Judged<'p> {
    /// A world that has started.
    pub(crate) fn begin(plan: &'p Plan, seed: u64, swaps: Actor) -> Self {
        let jury = Rc::new(RefCell::new(Jury::new(plan, None)));
        let onlooker: SharedObserver<'static> = Rc::<RefCell<Jury<'static>>>::clone(&jury);
        let mut world = World::new(plan, seed, Observers::new(Some(onlooker)), swaps);
        world.begin();
        Self { world, jury }
    }

    pub(crate) fn branch(&self, branch: u32) -> Self {
        let jury = Rc::new(RefCell::new(self.jury.borrow().alone()));
        let onlooker: SharedObserver<'static> = Rc::<RefCell<Jury<'static>>>::clone(&jury);
        let world = self.world.branch(branch, Some(onlooker));
        Self { world, jury }
    }

    /// The result of the run, which is over.
    pub(crate) fn finish(self) -> SeedOutcome {
        let plan = self.world.plan;
        finish(self.jury, plan, self.world.ran())
    }
}

fn finish(jury: Rc<RefCell<Jury<'_>>>, plan: &Plan, ran: Ran) -> SeedOutcome {
    let jury = Rc::into_inner(jury).expect("the world has let it go");
    jury.into_inner().finish(plan, ran)
}

/// Runs one seed to its end, judged.
pub(crate) fn run(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let jury = Rc::new(RefCell::new(Jury::new(plan, also)));
    let onlooker: SharedObserver<'_> = Rc::<RefCell<Jury<'_>>>::clone(&jury);
    let ran = super::super::run(plan, seed, progress, Some(onlooker));
    finish(jury, plan, ran)
}
