//! One seed of a plan in the virtual world, judged: to its end at once, or step by step.

use std::cell::RefCell;
use std::rc::Rc;

use sim_judge::{Jury, SeedOutcome};
use sim_model::history::Observer;
use sim_model::outcome::Progress;
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;

use sim_world::abstraction::Facet;
use sim_world::{self, Onlooker, Split};

/// Runs one seed of a plan to its end. `also` is told of everything, and changes nothing.
///
/// # Panics
/// When an invariant of the core is broken, or when one seed has two histories: bugs, both, which
/// the runner reports as violations.
pub fn run_seed(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let jury = Rc::new(RefCell::new(Jury::new(plan, also)));
    let onlooker: Onlooker<'_> = Rc::<RefCell<Jury<'_>>>::clone(&jury);
    let ran = sim_world::run(plan, seed, progress, Some(onlooker));
    alone(jury).finish(plan, ran)
}

/// The jury of a world that is gone.
fn alone(jury: Rc<RefCell<Jury<'_>>>) -> Jury<'_> {
    Rc::into_inner(jury)
        .expect("a world that is over has let its observer go")
        .into_inner()
}

/// A judged run that is taken step by step, and copied while it goes on.
pub struct JudgedSplit<'p> {
    plan: &'p Plan,
    run: Split<'p>,
    jury: Rc<RefCell<Jury<'static>>>,
}

impl<'p> JudgedSplit<'p> {
    /// Begins the run of a seed, as its plan's recipe has it.
    #[must_use]
    pub fn begin(plan: &'p Plan, seed: u64) -> Self {
        let jury = Rc::new(RefCell::new(Jury::new(plan, None)));
        let onlooker: Onlooker<'static> = Rc::<RefCell<Jury<'static>>>::clone(&jury);
        let run = Split::begin(plan, seed, Some(onlooker));
        Self { plan, run, jury }
    }

    /// Takes the next step. Whether there are more.
    pub fn step(&mut self) -> bool {
        self.run.step()
    }

    /// How many steps were taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.run.steps()
    }

    /// Where the run left the history of its seed.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.run.recipe()
    }

    /// Adds the facets that the state entered since the last look.
    pub fn look(&mut self, entered: &mut Vec<Facet>) {
        self.run.look(entered);
    }

    /// A copy of the run in which chance is drawn anew from here; of branch 0, one that goes on
    /// like this one.
    #[must_use]
    pub fn branch(&self, branch: u32) -> Self {
        let jury = Rc::new(RefCell::new(self.jury.borrow().alone()));
        let onlooker: Onlooker<'static> = Rc::<RefCell<Jury<'static>>>::clone(&jury);
        Self {
            plan: self.plan,
            run: self.run.branch(branch, Some(onlooker)),
            jury,
        }
    }

    /// What the run came to. It must be over.
    #[must_use]
    pub fn finish(self) -> SeedOutcome {
        let ran = self.run.finish();
        alone(self.jury).finish(self.plan, ran)
    }
}
