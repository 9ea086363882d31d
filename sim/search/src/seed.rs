//! One judged seed of a plan in the virtual world: run to its end, or step by step.

use std::cell::RefCell;
use std::rc::Rc;

use sim_judge::{Jury, SeedOutcome};
use sim_model::history::Observer;
use sim_model::outcome::Progress;
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;

use sim_world::abstraction::Facet;
use sim_world::{self, SharedObserver, Split};

/// Runs one seed of a plan to its end. `also` receives all records, and does not change the run.
///
/// # Panics
/// If an invariant of the core is broken, or if one seed has two histories. Both are bugs, which
/// the runner reports as violations.
pub fn run_seed(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let jury = Rc::new(RefCell::new(Jury::new(plan, also)));
    let onlooker: SharedObserver<'_> = Rc::<RefCell<Jury<'_>>>::clone(&jury);
    let ran = sim_world::run(plan, seed, progress, Some(onlooker));
    alone(jury).finish(plan, ran)
}

/// The jury of a world that was dropped.
fn alone(jury: Rc<RefCell<Jury<'_>>>) -> Jury<'_> {
    Rc::into_inner(jury)
        .expect("a world that is over has let its observer go")
        .into_inner()
}

/// A judged run that is stepped, and can be copied.
pub struct JudgedSplit<'p> {
    plan: &'p Plan,
    run: Split<'p>,
    jury: Rc<RefCell<Jury<'static>>>,
}

impl<'p> JudgedSplit<'p> {
    /// Starts the run of a seed, with its plan's recipe.
    #[must_use]
    pub fn begin(plan: &'p Plan, seed: u64) -> Self {
        let jury = Rc::new(RefCell::new(Jury::new(plan, None)));
        let onlooker: SharedObserver<'static> = Rc::<RefCell<Jury<'static>>>::clone(&jury);
        let run = Split::begin(plan, seed, Some(onlooker));
        Self { plan, run, jury }
    }

    /// Takes the next step. Returns whether there are more.
    pub fn step(&mut self) -> bool {
        self.run.step()
    }

    /// The number of steps taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.run.steps()
    }

    /// The turns that the run took.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.run.recipe()
    }

    /// Adds the facets that the state has entered since the last look.
    pub fn look(&mut self, entered: &mut Vec<Facet>) {
        self.run.look(entered);
    }

    /// A copy of the run with new randomness from here on. Branch 0 continues like the original.
    #[must_use]
    pub fn branch(&self, branch: u32) -> Self {
        let jury = Rc::new(RefCell::new(self.jury.borrow().alone()));
        let onlooker: SharedObserver<'static> = Rc::<RefCell<Jury<'static>>>::clone(&jury);
        Self {
            plan: self.plan,
            run: self.run.branch(branch, Some(onlooker)),
            jury,
        }
    }

    /// The outcome of the run, which must be over.
    #[must_use]
    pub fn finish(self) -> SeedOutcome {
        let ran = self.run.finish();
        alone(self.jury).finish(self.plan, ran)
    }
}
