//! Shrinks a run that violates a property to one that a person can read: few users, steps and
//! faults, short times, and defaults otherwise.
//!
//! First the run is recorded as steps (`record`): each client's calls with their times, and the
//! network's treatment of them. Then every change is a change to a plan in the steps form. It is
//! kept if a run of the plan still violates the property (`candidates`). Passes remove parts
//! (`remove`, by delta debugging, `ddmin`), simplify them (`simplify`), and compress time
//! (`compress_time`), until no change helps or the time is up. The result depends only on the plan,
//! the seed and the number of runs. A run that does not fail as steps is shrunk in its own form
//! (`flows`).

mod attempts;
mod candidates;
mod compress_time;
mod ddmin;
mod flows;
mod notes;
pub(crate) mod record;
pub(crate) mod recorded_call;
mod remove;
mod simplify;

use sim_model::outcome::{START, Shrunk, Size};
use std::sync::Arc;

use chat_types::Span;

use crate::panics::catch_panic;
use crate::runner::RunSeed;
use attempts::{Fidelity, fixed};
use candidates::{CandidateRun, Shrinker, steps};
use record::{Names, StepWriter};
use sim_model::outcome::Progress;
use sim_model::plan::{Plan, Schedule, Workload};
use sim_model::run_log::RunLog;

/// The largest number of rounds. The second one rarely finds anything.
const ROUNDS: usize = 4;

/// Why nothing was shrunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShrinkError {
    /// The run does not violate the property.
    #[error("the run does not violate it")]
    NotViolated,
    /// Run again, the smallest plan does not violate the property any more.
    #[error("the run could not be repeated")]
    NotRepeated,
}

/// The failure to shrink.
#[derive(Clone, Copy, Debug)]
pub struct FailedRun<'a> {
    /// The plan that fails.
    pub plan: &'a Plan,
    /// The seed.
    pub seed: u64,
    /// The violated property; `panic` if the run panics.
    pub property: &'a str,
}

/// The environment of shrinking.
pub struct ShrinkContext<'a> {
    /// Runs one seed.
    pub run: RunSeed<'a>,
    /// Whether time is left.
    pub time_left: &'a dyn Fn() -> bool,
    /// Receives the number of candidates so far, and the steps of the smallest plan.
    pub tell: &'a mut dyn FnMut(u64, usize),
}

/// Shrinks a failure.
///
/// # Errors
/// The run does not fail, or does not fail again.
pub fn shrink(failure: &FailedRun<'_>, context: ShrinkContext<'_>) -> Result<Shrunk, ShrinkError> {
    let seed = failure.seed;
    let plan = &failure.plan.of_seed(seed);
    let mut shrinker = Shrinker {
        context,
        seed,
        property: failure.property.to_owned(),
        panic: None,
        runs: 0,
    };
    let seen = shrinker.run_candidate(plan);
    let seen = seen.ok_or(ShrinkError::NotViolated)?;
    let mut before = size_in_file(plan, &seen);
    if matches!(plan.workload, Workload::Phases { .. }) {
        before.steps = seen.steps;
    }
    let at = seen.violation.at;
    let mut smallest = match in_steps(plan, at, &mut shrinker) {
        Some(steps) => steps,
        None => flows(plan, at, &mut shrinker),
    };
    if matches!(smallest.workload, Workload::Steps { .. }) {
        shrink_steps(&mut smallest, &mut shrinker);
    }
    rename(&mut smallest, failure, shrinker.seed);
    let seen = shrinker.run_candidate(&smallest);
    let seen = seen.ok_or(ShrinkError::NotRepeated)?;
    let detail = &seen.violation.detail;
    let stop = if detail.ends_with('.') { "" } else { "." };
    smallest.about = format!("{detail}{stop} Shrunk from {}, seed {seed}.", plan.name);
    Ok(Shrunk {
        notes: notes::of(&smallest, &seen.violation, shrinker.context.run),
        before,
        after: size_in_file(&smallest, &seen),
        violation: seen.violation,
        trace_hash: seen.trace_hash,
        plan: smallest,
        runs: shrinker.runs,
        cut_short: !(shrinker.context.time_left)(),
    })
}

/// The smallest plan with flows that still fails, or one in steps, if it fails as such.
fn flows(plan: &Plan, at: Span, shrinker: &mut Shrinker<'_>) -> Plan {
    let mut smallest = plan.clone();
    let mut steps = None;
    shrinker.rounds(&mut smallest, |shrinker, smallest| {
        shrinker.shrink_flows(smallest);
        steps = in_steps(smallest, at, shrinker);
        steps.is_none()
    });
    steps.unwrap_or(smallest)
}

fn shrink_steps(smallest: &mut Plan, shrinker: &mut Shrinker<'_>) {
    shrinker.cut_after_violation(smallest);
    shrinker.rough_cut(smallest);
    shrinker.rounds(smallest, |shrinker, smallest| {
        shrinker.remove_parts(smallest);
        shrinker.lengthen(smallest);
        shrinker.simplify(smallest);
        shrinker.compress_time(smallest);
        shrinker.lower_limits(smallest);
        true
    });
}

impl Shrinker<'_> {
    /// Repeats a pass while it returns that it goes on, and changes the plan.
    fn rounds(&mut self, plan: &mut Plan, mut pass: impl FnMut(&mut Self, &mut Plan) -> bool) {
        for _ in 0..ROUNDS {
            let so_far = plan.clone();
            if !pass(self, plan) || *plan == so_far || !(self.context.time_left)() {
                return;
            }
        }
    }
}

/// The size of a scenario that a person reads.
fn size_in_file(plan: &Plan, seen: &CandidateRun) -> Size {
    let users = match &plan.workload {
        Workload::Steps { users, .. } => users.len() as u64,
        Workload::Phases { .. } => seen.users,
    };
    Size {
        users,
        steps: steps(plan) as u64,
        faults: plan.faults.len() as u64,
    }
}

/// The failing run as steps; none if it does not fail in that form. Steps under a race schedule are
/// recorded, too: without one step, the schedule orders the others in another way.
///
/// The judge checks sizes and the core's invariants more often in a short script. The bug, which the
/// whole run showed `at` this time, may then violate another property sooner. The shrinker goes on
/// with that property.
fn in_steps(plan: &Plan, at: Span, shrinker: &mut Shrinker<'_>) -> Option<Plan> {
    let written = matches!(plan.workload, Workload::Steps { .. });
    if written && plan.schedule == Schedule::Plain {
        return Some(plan.clone());
    }
    let (run, seed) = (shrinker.context.run, shrinker.seed);
    let mut log = RunLog::default();
    // A run that panics has been recorded up to there, which is enough.
    let _ = catch_panic(|| run(plan, seed, &Progress::default(), Some(&mut log)));
    let (quick, own) = (&fixed(1_000), &plan.network.latency);
    // Packets without a record take the usual time, or the shortest.
    let variants = [
        (Fidelity::Packets, None),
        (Fidelity::Packets, Some(quick)),
        (Fidelity::Packets, Some(own)),
        (Fidelity::Order, Some(quick)),
        (Fidelity::Service, Some(quick)),
        (Fidelity::Service, None),
    ];
    let recorded = |names: Names| {
        let log = &log;
        variants.into_iter().map(move |(to, latency)| {
            let mut steps = StepWriter::read(log, START, names, to).into_plan(plan);
            if let Some(latency) = latency {
                steps.network.latency = Arc::clone(latency);
            }
            steps
        })
    };
    let mut fails = |steps: &Plan| shrinker.run_candidate(steps).is_some();
    // The bug may depend on the names.
    let mut same = recorded(Names::Others).chain(recorded(Names::All));
    if let Some(same) = same.find(&mut fails) {
        return Some(same);
    }
    let sooner =
        recorded(Names::Others).find_map(|steps| Some((shrinker.violated_by(&steps, at)?, steps)));
    match sooner {
        Some((property, steps)) => {
            shrinker.property = property;
            Some(steps)
        }
        None => written.then(|| plan.clone()),
    }
}

/// Gives the plan short names, and the seed to run it with.
fn rename(plan: &mut Plan, failure: &FailedRun<'_>, seed: u64) {
    plan.name = format!("{}_{}", failure.property, failure.seed);
    plan.seed = seed;
    if let Workload::Steps { users, .. } = &mut plan.workload {
        for (index, user) in users.iter_mut().enumerate() {
            user.name = short_name(index);
        }
    }
}

/// The names a, b, … z, a1, b1, …
fn short_name(index: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(index % 26).unwrap_or(0));
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}
