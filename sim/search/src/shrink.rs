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
mod faults;
mod flows;
mod notes;
pub(crate) mod record;
mod recorded_call;
mod remove;
mod simplify;

use sim_model::outcome::{START, Shrunk, Size};
use std::sync::Arc;

use chat_types::Span;

use crate::panics::catch_panic;
use crate::runner::RunSeed;
use attempts::Fidelity;
use candidates::{CandidateRun, Shrinker, steps};
use record::{Names, StepWriter};
use sim_model::draw::{Quantiles, Shape};
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
    let FailedRun { seed, property, .. } = *failure;
    let plan = &failure.plan.of_seed(seed);
    let (run, time_left) = (context.run, context.time_left);
    let mut shrinker = Shrinker::new(run, seed, property, time_left, context.tell);
    let seen = shrinker
        .run_candidate(plan)
        .ok_or(ShrinkError::NotViolated)?;
    let before = size_of_run(plan, &seen);
    let steps = in_steps(plan, seen.violation.at, &mut shrinker);
    let mut smallest = match steps {
        Some(steps) => steps,
        None => flows(plan, seen.violation.at, &mut shrinker),
    };
    if matches!(smallest.workload, Workload::Steps { .. }) {
        shrink_steps(&mut smallest, &mut shrinker);
    }
    rename(&mut smallest, failure, shrinker.seed);
    let seen = shrinker
        .run_candidate(&smallest)
        .ok_or(ShrinkError::NotRepeated)?;
    let runs = shrinker.runs;
    let stop = if seen.violation.detail.ends_with('.') {
        ""
    } else {
        "."
    };
    smallest.about = format!(
        "{}{stop} Shrunk from {}, seed {seed}.",
        seen.violation.detail, plan.name
    );
    Ok(Shrunk {
        notes: notes::of(&smallest, &seen.violation, run),
        before,
        after: size_in_file(&smallest, &seen),
        violation: seen.violation,
        trace_hash: seen.trace_hash,
        plan: smallest,
        runs,
        cut_short: !time_left(),
    })
}

/// The smallest plan with flows that still fails, or one in steps, if it fails as such.
fn flows(plan: &Plan, at: Span, shrinker: &mut Shrinker<'_>) -> Plan {
    let mut smallest = plan.clone();
    for _ in 0..ROUNDS {
        let so_far = format!("{smallest:?}");
        shrinker.shrink_flows(&mut smallest);
        if let Some(steps) = in_steps(&smallest, at, shrinker) {
            return steps;
        }
        if format!("{smallest:?}") == so_far || !(shrinker.time_left)() {
            break;
        }
    }
    smallest
}

fn shrink_steps(smallest: &mut Plan, shrinker: &mut Shrinker<'_>) {
    shrinker.cut_after_violation(smallest);
    shrinker.rough_cut(smallest);
    for _ in 0..ROUNDS {
        let so_far = format!("{smallest:?}");
        shrinker.remove_parts(smallest);
        shrinker.lengthen(smallest);
        shrinker.simplify(smallest);
        shrinker.compress_time(smallest);
        shrinker.lower_limits(smallest);
        if format!("{smallest:?}") == so_far || !(shrinker.time_left)() {
            break;
        }
    }
}

/// The size of a run before shrinking.
fn size_of_run(plan: &Plan, seen: &CandidateRun) -> Size {
    let size = size_in_file(plan, seen);
    match plan.workload {
        Workload::Steps { .. } => size,
        Workload::Phases { .. } => Size {
            steps: seen.steps,
            ..size
        },
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

/// A way to record a run, with a change to the resulting plan.
type Variant<'a> = (Fidelity, &'a dyn Fn(&mut Plan));

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
    let (run, seed) = (shrinker.run, shrinker.seed);
    let mut log = RunLog::default();
    // A run that panics has been recorded up to there, which is enough.
    let _ = catch_panic(|| run(plan, seed, &Progress::default(), Some(&mut log)));
    let quick = Arc::new(Quantiles::new(Shape::Fixed(1_000)));
    // Packets without a record take the usual time, or the shortest.
    let variants: [Variant<'_>; 6] = [
        (Fidelity::Packets, &|_| {}),
        (Fidelity::Packets, &|steps| {
            steps.network.latency = Arc::clone(&quick);
        }),
        (Fidelity::Packets, &|steps| {
            steps.network.latency = Arc::clone(&plan.network.latency);
        }),
        (Fidelity::Order, &|steps| {
            steps.network.latency = Arc::clone(&quick);
        }),
        (Fidelity::Service, &|steps| {
            steps.network.latency = Arc::clone(&quick);
        }),
        (Fidelity::Service, &|_| {}),
    ];
    let recorded = |names: Names| {
        let log = &log;
        variants.iter().map(move |(to, change)| {
            let mut steps = StepWriter::read(log, START, names, *to).into_plan(plan);
            change(&mut steps);
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
