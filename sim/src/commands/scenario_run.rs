//! Runs one scenario file over its seeds, and repeats the run of the first violation for its
//! details.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{Console, Problem, cannot_write, follow, run_once, shrinking};
use crate::cli::RunArgs;
use crate::{VERSION, output};
use sim_judge::SeriesRecorder;
use sim_model::history::Observer;
use sim_model::outcome::{INTERRUPTED, Progress, Repro};
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;
use sim_model::run_log::RunLog;
use sim_report::diagram::{Diagram, Shown, diagram, followed, slowest as slowest_of};
use sim_report::trace::{Follow, TraceWriter, excerpt as excerpt_of};
use sim_report::{
    FailureExcerpt, FinishedRun, LANES, ShrunkRun, crossed, html, live_line, repeat_command,
    run_command, user_lanes,
};
use sim_search::runner::{RunSeed, Seeds, run_seeds};

/// The number of lines of a failure excerpt.
const STORY: usize = 12;

/// Runs the scenario.
///
/// # Errors
/// Its trace could not be written, or it was interrupted before its first seed had ended.
pub(super) fn run(
    arguments: &RunArgs,
    path: &Path,
    plan: Plan,
    console: &mut Console<'_>,
) -> Result<FinishedRun, Problem> {
    let seeds = Seeds {
        first: arguments.seed.unwrap_or(plan.seed),
        count: arguments.seeds.unwrap_or(NonZeroU64::MIN),
        jobs: arguments.jobs.unwrap_or(console.cores),
    };
    let follow = follow::subject_of(arguments, &plan)?;
    let trace = open_trace(arguments.trace.as_deref(), follow.clone())?;
    let began = (console.clock)();
    let file = path.display().to_string();
    let run_seed = console.run;
    let run = |seed: u64, progress: &Progress| {
        let mut observer = trace.as_ref();
        let is_traced = observer.is_some();
        let observer = is_traced.then_some(&mut observer as &mut dyn Observer);
        run_seed(&plan, seed, progress, observer)
    };
    let (live, clock) = (&mut *console.live, console.clock);
    let merged = run_seeds(seeds, console.interrupt, &run, &mut |progress| {
        let wall = clock().saturating_sub(began);
        let now = progress.now();
        live(Some(&live_line(&plan.name, seeds.count.get(), &now, wall)));
    });
    let wall = (console.clock)().saturating_sub(began);
    (console.live)(None);
    close_trace(arguments.trace.as_deref(), trace)?;
    let done = merged.seeds();
    if done < seeds.count.get() {
        let (file, asked) = (path.display(), seeds.count);
        let said = format!("interrupted after {done} of {asked} seeds of {file}");
        if done == 0 {
            let code = INTERRUPTED;
            return Err(Problem { code, said });
        }
        console.complain(&format!("{said}: the result is that of these\n"));
    }
    let summary = merged.finish(&plan, wall);
    let mut run = FinishedRun::new(file, plan, summary);
    // What a run violates is more important.
    if arguments.recipe.is_some()
        && run.headline().is_none()
        && let Some(problem) = unreached_turn(&run.plan.recipe, run.result().steps)
    {
        return Err(problem.into());
    }
    if arguments.report.is_some() || run.headline().is_some() {
        add_details(&mut run, arguments, follow.as_ref(), console)?;
    }
    run.summary.result.shrunk = run.shrunk.as_ref().map(ShrunkRun::result);
    run.summary.result.repro = Some(repro(&run, seeds));
    Ok(run)
}

/// A trace that is being written.
pub(super) type TraceFile = TraceWriter<BufWriter<File>>;

/// The error of a recipe with a turn that a run of so many steps did not reach, so that it was
/// another run than the recipe names.
pub(super) fn unreached_turn(recipe: &Recipe, steps: u64) -> Option<String> {
    let turn = recipe.beyond(steps)?;
    Some(format!(
        "--recipe: the run ended after step {steps}, before its turn {turn}\n  a recipe is of one \
         scenario, seed and version of the simulator: compare them with those of the command that \
         printed it"
    ))
}

/// Opens the trace, if there is to be one.
///
/// # Errors
/// It cannot be written.
pub(super) fn open_trace(
    path: Option<&Path>,
    follow: Option<Follow>,
) -> Result<Option<Mutex<TraceFile>>, String> {
    let Some(path) = path else {
        return Ok(None);
    };
    let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
    let writer = TraceWriter::new(BufWriter::new(file), follow);
    Ok(Some(Mutex::new(writer)))
}

/// Writes the rest of the trace, if there is one.
///
/// # Errors
/// It cannot be written, or shows nothing of what it follows.
pub(super) fn close_trace(
    path: Option<&Path>,
    trace: Option<Mutex<TraceFile>>,
) -> Result<(), String> {
    let (Some(path), Some(trace)) = (path, trace) else {
        return Ok(());
    };
    let trace = trace.into_inner().unwrap_or_else(PoisonError::into_inner);
    let missing = trace.missing();
    trace.finish().map_err(|error| cannot_write(path, &error))?;
    missing.map_or(Ok(()), |missing| Err(format!("--follow: {missing}")))
}

/// The command that reproduces the result: the shrunk scenario, the one failing seed, or all seeds.
fn repro(run: &FinishedRun, seeds: Seeds) -> Repro {
    let (seed, count) = match run.headline() {
        Some(violation) => (violation.seed, 1),
        None => (seeds.first, seeds.count.get()),
    };
    let again = repeat_command(&run.file, seed, count, &run.plan.recipe);
    let (command, whole, file) = match &run.shrunk {
        Some(shrunk) => (run_command(&shrunk.file), Some(again), shrunk.file.clone()),
        None => (again, None, run.file.clone()),
    };
    Repro {
        command,
        whole,
        file,
    }
}

/// Repeats one run: that of the first violation, else of the first crossed threshold, else of the first
/// seed. Adds what only a repetition shows: an excerpt, figures over time, lanes of users, and drawings.
/// Shrinks the first violation.
///
/// # Errors
/// The run has no user to follow.
fn add_details(
    run: &mut FinishedRun,
    arguments: &RunArgs,
    follow: Option<&Follow>,
    console: &mut Console<'_>,
) -> Result<(), String> {
    let result = run.result();
    let seed = match (run.headline(), crossed(result).next()) {
        (Some(violation), _) => violation.seed,
        (None, crossed) => crossed.and_then(|one| one.seed).unwrap_or(result.seed),
    };
    let recorder = SeriesRecorder::new(seed, &run.plan.thresholds);
    let mut both = (RunLog::default(), recorder);
    // A run that panics has shown everything up to then.
    let again = run_once(console.run, (&run.plan, seed), Some(&mut both));
    let (log, series) = (both.0, both.1.series());
    run.excerpt = excerpt(run, &log, again.map_or(0, |again| again.ran.trace_hash));
    if !arguments.no_shrink {
        run.shrunk = shrinking::after_run(run, console);
    }
    let mut diagrams = diagrams(run, &log, console.run);
    if diagrams.is_empty() {
        let mut slowest = crossed(run.result());
        diagrams.extend(slowest.find_map(|one| slowest_of(&run.plan, &series, one, &log)));
    }
    if let Some(follow) = follow {
        let drawn = followed(&run.plan, (seed, &log), follow);
        if drawn.is_none()
            && let Some(missing) = follow::missing(follow, &series)
        {
            return Err(format!("--follow: {missing}"));
        }
        diagrams.extend(drawn);
    }
    let found = (run.result(), &run.summary.charts);
    run.lanes = Some(user_lanes(&run.plan, &series, found, &log));
    (run.series, run.diagrams) = (Some(series), diagrams);
    Ok(())
}

/// What the clients of the first violation observed in the second run of its seed.
fn excerpt(run: &FinishedRun, log: &RunLog, hash: u64) -> Option<FailureExcerpt> {
    let violation = run.headline()?;
    let mut failing = run.summary.failing.iter();
    let failing = failing.find(|failing| failing.seed == violation.seed)?;
    let first_hash = failing.trace_hash?;
    let users = &violation.users[..violation.users.len().min(LANES)];
    if users.is_empty() {
        return None;
    }
    Some(FailureExcerpt {
        other_hash: (hash != first_hash).then_some(hash),
        ..excerpt_of(log, violation.at, users, STORY)
    })
}

/// Draws the first violation, and the shrunk one.
fn diagrams(run: &FinishedRun, log: &RunLog, run_seed: RunSeed<'_>) -> Vec<Diagram> {
    let Some(violation) = run.headline() else {
        return Vec::new();
    };
    let whole = diagram(&run.plan, (violation.seed, log), violation, Shown::Whole);
    let shrunk = run.shrunk.as_ref().and_then(|run| {
        let (plan, violation) = (&run.shrunk.plan, &run.shrunk.violation);
        let mut log = RunLog::default();
        let _ = run_once(run_seed, (plan, plan.seed), Some(&mut log));
        diagram(plan, (plan.seed, &log), violation, Shown::Shrunk)
    });
    shrunk.into_iter().chain(whole).collect()
}

/// Writes the report of a violation to a default file, and returns its path.
pub(super) fn look(run: &FinishedRun, console: &mut Console<'_>) -> Option<String> {
    let violation = run.headline()?;
    let name = format!("{}-{}.html", violation.property, violation.seed);
    let path = console.unasked.join(name);
    let runs = std::slice::from_ref(run);
    let written = output::create(&path, &html(runs, VERSION));
    // The report was not requested, so an error here does not affect the run.
    let written = written.inspect_err(|problem| {
        console.complain(&format!("warning: {}\n", cannot_write(&path, problem)));
    });
    written.is_ok().then(|| path.display().to_string())
}
