//! Shrinks a failure, writes the result as a scenario, and runs that from its file.

use sim_scenario::{annotated, load};
use sim_search::runner::RunSeed;
use std::path::Path;
use std::time::Duration;

use super::live_run::unjudged;
use super::{Console, Problem, cannot_write, run_once};
use crate::cli::ShrinkArgs;
use crate::output;
use sim_model::outcome::{PANIC, Shrunk, Violation};
use sim_model::plan::Plan;
use sim_report::{Detail, FinishedRun, ShrunkRun, shrunk_page};
use sim_search::shrink::{FailedRun, ShrinkContext, shrink as make_smaller};

/// The time limit for shrinking that was not requested.
const UNASKED: Duration = Duration::from_secs(15);

/// Shrinks the first violation of a run. None if there is none, or if it cannot be shrunk; the run
/// itself reports the violation.
pub(super) fn after_run(run: &FinishedRun, console: &mut Console<'_>) -> Option<ShrunkRun> {
    let violation = run.headline()?;
    let failure = FailedRun {
        plan: &run.plan,
        seed: violation.seed,
        property: &violation.property,
    };
    let name = format!("{}-{}", failure.property, failure.seed);
    unasked(&failure, &name, console)
}

/// Shrinks a failure without a request, into a file with this name.
pub(super) fn unasked(
    failure: &FailedRun<'_>,
    name: &str,
    console: &mut Console<'_>,
) -> Option<ShrunkRun> {
    let file = console.unasked.join(format!("{name}.yaml"));
    let shrunk = shrink_into(failure, &file, UNASKED, console);
    let told = shrunk.inspect_err(|problem| {
        let FailedRun { property, seed, .. } = failure;
        let words = format!("{property} of seed {seed} is not shrunk: {problem}\n");
        console.complain(&words);
    });
    told.ok()
}

/// `sim shrink`.
pub(super) fn shrink(arguments: &ShrinkArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    let mut plan = super::load(&arguments.file, console)?;
    if let Some(recipe) = &arguments.recipe {
        plan.recipe = recipe.clone();
    }
    let seed = arguments.seed.unwrap_or(plan.seed);
    let asked = arguments.property.clone();
    let found = asked.or_else(|| first_violation(&plan, seed, console.run));
    let property = found.ok_or_else(|| {
        let file = arguments.file.display();
        unjudged(format!(
            "nothing to shrink: seed {seed} of {file} violates no property"
        ))
    })?;
    let failure = FailedRun {
        plan: &plan,
        seed,
        property: &property,
    };
    // By default `target/sim/stick_exclusion-1337.yaml`.
    let usual = || console.unasked.join(format!("{property}-{seed}.yaml"));
    let file = arguments.out.clone().unwrap_or_else(usual);
    let shrunk = shrink_into(&failure, &file, arguments.time, console);
    let run =
        shrunk.map_err(|problem| unjudged(format!("{property} of seed {seed}: {problem}")))?;
    console.say(&shrunk_page(&run, &plan, &console.view(Detail::Normal)));
    Ok(0)
}

/// The first property that a seed violates.
fn first_violation(plan: &Plan, seed: u64, run: RunSeed<'_>) -> Option<String> {
    match run_once(run, (plan, seed), None) {
        Ok(outcome) => Some(outcome.violations.first()?.property.clone()),
        Err(_) => Some(PANIC.to_owned()),
    }
}

/// Shrinks, writes the file, and runs it.
fn shrink_into(
    failure: &FailedRun<'_>,
    file: &Path,
    time: Duration,
    console: &mut Console<'_>,
) -> Result<ShrunkRun, String> {
    output::prepare(file).map_err(|error| cannot_write(file, &error))?;
    let (clock, live) = (console.clock, &mut *console.live);
    let began = clock();
    let interrupt = console.interrupt;
    let time_left = || clock().saturating_sub(began) < time && !interrupt.is_requested();
    let mut told = 0;
    let means = ShrinkContext {
        run: console.run,
        time_left: &time_left,
        tell: &mut |runs, steps| {
            if runs >= told + 64 {
                told = runs;
                live(Some(&format!("shrinking: {steps} steps after {runs} runs")));
            }
        },
    };
    let shrunk = make_smaller(failure, means).map_err(|problem| problem.to_string());
    (console.live)(None);
    let shrunk = shrunk?;
    let took = (console.clock)().saturating_sub(began);
    output::write(file, &annotated(&shrunk.plan, &shrunk.notes))
        .map_err(|error| cannot_write(file, &error))?;
    Ok(ShrunkRun {
        is_same_again: is_same_again(&shrunk, file, console.run),
        shrunk,
        file: file.display().to_string(),
        took,
    })
}

/// Loads and runs the file, and compares the outcome.
fn is_same_again(shrunk: &Shrunk, file: &Path, run: RunSeed<'_>) -> bool {
    let Ok(plan) = load(file) else {
        return false;
    };
    let first = &shrunk.violation;
    let same = |one: &Violation| one.property == first.property && one.detail == first.detail;
    match run_once(run, (&plan, plan.seed), None) {
        Ok(again) => {
            Some(again.ran.trace_hash) == shrunk.trace_hash && again.violations.iter().any(same)
        }
        Err(_) => shrunk.trace_hash.is_none(),
    }
}
