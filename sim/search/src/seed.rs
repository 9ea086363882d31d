//! One judged seed of a plan in the virtual world.

use sim_judge::{RunJudge, SeedOutcome};
use sim_model::history::Observer;
use sim_model::outcome::Progress;
use sim_model::plan::Plan;

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
    let observers = (RunJudge::new(plan), also);
    let (ran, (judge, _)) = sim_world::run(plan, seed, progress, observers);
    judge.finish(plan, ran)
}
