//! `sim exhaust`: every interleaving of the tiny worlds.

use serde_json::json;
use sim_scenario::{annotated, load};

use super::{Console, Problem, detail, prepare_files, run_once};
use crate::cli::{ExhaustArgs, WorldChoice};
use crate::output;
use sim_model::outcome::{Counterexample, PANIC, TinyWorld};
use sim_search::exhaust::{self, Options};
use sim_search::panics::catch_panic;

/// Searches the requested worlds, and returns the exit code.
pub(super) fn run(arguments: &ExhaustArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    prepare_files(&[&arguments.json], console)?;
    Ok(match arguments.world {
        WorldChoice::Cluster => cluster(arguments, console),
        WorldChoice::Queue | WorldChoice::Room | WorldChoice::All => exhaust(arguments, console),
    })
}

/// Searches worlds with a single server.
fn exhaust(arguments: &ExhaustArgs, console: &mut Console<'_>) -> u8 {
    let options = Options {
        users: arguments.users,
        depth: arguments.depth,
        faults: arguments.faults,
        jobs: arguments.jobs.unwrap_or(console.cores),
    };
    let began = (console.clock)();
    let mut worlds = Vec::new();
    for world in arguments.world.worlds() {
        if console.interrupt.is_requested() {
            break;
        }
        let world_began = (console.clock)();
        let live = &mut *console.live;
        let interrupt = console.interrupt;
        let mut found = exhaust::search(*world, &options, &mut |now| {
            live(Some(&sim_report::exhausting(&now)));
            interrupt.flow()
        });
        let took = (console.clock)().saturating_sub(world_began);
        found.wall_ms = took.as_secs_f64() * 1_000.0;
        if let Some(path) = &mut found.counterexample {
            path.scenario = keep(path, *world, console);
        }
        worlds.push(found);
    }
    (console.live)(None);
    let took = (console.clock)().saturating_sub(began);
    let mut found = exhaust::together(&options, worlds, took);
    if console.interrupt.is_requested() {
        found.interrupt();
        console.complain("interrupted: not every interleaving was tried\n");
    }
    let view = console.view(detail(arguments.quiet, arguments.verbose));
    let json = arguments.json.as_deref();
    console.show(json, &sim_report::exhausted(&found, &view));
    console.write_json(json, &found, found.exit_code)
}

/// Searches the world of two members and their log, and returns the exit code.
fn cluster(arguments: &ExhaustArgs, console: &mut Console<'_>) -> u8 {
    let found = catch_panic(|| exhaust::cluster(arguments.depth));
    let (states, steps, broken) = match found {
        Ok(found) => (found.states, found.steps, found.broken),
        Err(panic) => (0, 0, Some((Vec::new(), PANIC, panic))),
    };
    let verdict = match &broken {
        Some((path, property, what)) => format!("FAIL {property}: {what}\n  {path:?}"),
        None => "pass".to_owned(),
    };
    let failures = broken.iter().map(|(path, property, what)| {
        let path: Vec<_> = path.iter().map(|step| format!("{step:?}")).collect();
        json!({ "property": property, "detail": what, "path": path })
    });
    let failures: Vec<_> = failures.collect();
    let code = u8::from(broken.is_some());
    let found = json!({ "states": states, "steps": steps, "failures": failures });
    let page = format!("{states} states, {steps} steps\n{verdict}\n");
    console.show(arguments.json.as_deref(), &page);
    console.write_json(arguments.json.as_deref(), &found, code)
}

/// Writes the path as a scenario, if that fails in the same way when it is loaded and run. Returns
/// its file.
fn keep(path: &Counterexample, world: TinyWorld, console: &mut Console<'_>) -> Option<String> {
    let (plan, notes) = exhaust::to_plan(path, world);
    let file = console.unasked.join(format!("{}.yaml", plan.name));
    let written = output::create(&file, &annotated(&plan, &notes));
    if !console.is_written(&file, written) {
        return None;
    }
    let again = load(&file).ok()?;
    let shows = match run_once(console.run, (&again, again.seed), None) {
        Ok(outcome) => {
            let mut seen = outcome.violations.iter();
            seen.any(|violation| violation.property == path.property())
        }
        Err(_) => path.property() == PANIC,
    };
    if !shows {
        // The scenario does not fail and is of no use. An error while removing it does not matter.
        let _ = std::fs::remove_file(&file);
    }
    shows.then(|| file.display().to_string())
}
