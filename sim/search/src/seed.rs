//! One judged seed of a plan in the virtual world: run to its end, or step by step.

use std::cell::RefCell;
use std::rc::Rc;

use sim_judge::{RunJudge, SeedOutcome};
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
    let judge = Rc::new(RefCell::new(RunJudge::new(plan, also)));
    let observer: SharedObserver<'_> = Rc::<RefCell<RunJudge<'_>>>::clone(&judge);
    let ran = sim_world::run(plan, seed, progress, Some(observer));
    alone(judge).finish(plan, ran)
}

/// The judge of a world that was dropped.
fn alone(judge: Rc<RefCell<RunJudge<'_>>>) -> RunJudge<'_> {
    Rc::into_inner(judge)
        .expect("a world that is over has let its observer go")
        .into_inner()
}

/// A judged run that is stepped, and can be copied.
pub struct JudgedSplit<'p> {
    plan: &'p Plan,
    run: Split<'p>,
    judge: Rc<RefCell<RunJudge<'static>>>,
}

impl<'p> JudgedSplit<'p> {
    /// Starts the run of a seed, with its plan's recipe.
    #[must_use]
    pub fn begin(plan: &'p Plan, seed: u64) -> Self {
        let judge = Rc::new(RefCell::new(RunJudge::new(plan, None)));
        let observer: SharedObserver<'static> = Rc::<RefCell<RunJudge<'static>>>::clone(&judge);
        let run = Split::begin(plan, seed, Some(observer));
        Self { plan, run, judge }
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
        let judge = Rc::new(RefCell::new(self.judge.borrow().alone()));
        let observer: SharedObserver<'static> = Rc::<RefCell<RunJudge<'static>>>::clone(&judge);
        Self {
            plan: self.plan,
            run: self.run.branch(branch, Some(observer)),
            judge,
        }
    }

    /// The outcome of the run, which must be over.
    #[must_use]
    pub fn finish(self) -> SeedOutcome {
        let ran = self.run.finish();
        alone(self.judge).finish(self.plan, ran)
    }
}
