//! `sim explore`: tries seeds until one fails, or their number or the time is reached.

use sim_search::runner::RunSeed;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::scenario_run::{close_trace, open_trace, unreached_turn};
use super::{Console, Problem, cannot_write, detail, load_all, prepare_files, run_once, shrinking};
use crate::cli::ExploreArgs;
use crate::output;
use sim_model::outcome::{ExplorationResult, FailureResult, INTERRUPTED, Trial, worst};
use sim_model::plan::Plan;
use sim_report::{ExplorationReport, Kept, exploration, exploration_json, exploring_line};
use sim_scenario::to_yaml;
use sim_search::explore::{Corpus, Exploration, ExploreOptions, OnFailure, blank, explore};
use sim_search::shrink;

/// The flag for drawn flows, which stands for a file in messages.
const FLOWS: &str = "--flows";

/// The time between two saves of the corpus, so that little is lost if the process is killed.
const SAVE: Duration = Duration::from_secs(20);

/// The time between two updates of the live line.
const LOOK: Duration = Duration::from_millis(100);

/// Explores, and returns the exit code.
pub(super) fn run(arguments: &ExploreArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    let mut plans = load_all(&arguments.files, console)?;
    if arguments.flows {
        plans.push(blank());
    }
    prepare_files(&[&arguments.json, &arguments.trace], console)?;
    let what = asked(arguments, &plans, console)?;
    let began = (console.clock)();
    let run = console.run;
    let mut listener = ProgressListener {
        arguments,
        what: &what,
        console,
        began,
        looked: began,
        saved: began,
    };
    let found = explore(&what, run, &mut |trial, so_far| {
        listener.on_trial(trial, so_far)
    });
    let wall = (console.clock)().saturating_sub(began);
    (console.live)(None);
    let of_one = what.count == 1 && found.result.failures.is_empty();
    if let Some(problem) = unreached_turn(&what.recipe, found.result.steps).filter(|_| of_one) {
        return Err(problem.into());
    }
    write_requested(arguments, &what, &found, console.run)?;
    let kept = keep_all(&what, &found, console);
    let flows = arguments.flows.then_some(Path::new(FLOWS));
    let files = arguments.files.iter().map(PathBuf::as_path).chain(flows);
    let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
    let mut result = found.result;
    if console.interrupt.is_requested() {
        result.exit_code = worst(result.exit_code, INTERRUPTED);
        console.complain("interrupted: the result is that of the seeds so far\n");
    }
    let run = ExplorationReport {
        files: &files,
        found: &result,
        kept: &kept,
        wall,
    };
    let view = console.view(detail(arguments.quiet, arguments.verbose));
    let json = arguments.json.as_deref();
    console.show(json, &exploration(&run, &view));
    Ok(console.write_json(json, &exploration_json(&run), result.exit_code))
}

/// Writes the corpus and the trace of the first failure, where they are wanted.
fn write_requested(
    arguments: &ExploreArgs,
    what: &ExploreOptions<'_>,
    found: &Exploration,
    run: RunSeed<'_>,
) -> Result<(), String> {
    if let (Some(folder), Some(corpus)) = (&arguments.corpus, &found.guided) {
        let saved = corpus.save(folder);
        saved.map_err(|error| cannot_write(folder, &error))?;
    }
    let path = arguments.trace.as_deref();
    if let (Some(_), Some(failure)) = (path, found.result.failures.first()) {
        let trace = open_trace(path, None)?;
        let plan = what.varied(&failure.trial).plan;
        // A run that panics leaves its trace up to the panic.
        let _ = run_once(run, (&plan, failure.trial.seed), Some(&mut trace.as_ref()));
        close_trace(path, trace)?;
    }
    Ok(())
}

/// The parameters of the requested exploration.
fn asked<'p, 'c: 'p>(
    arguments: &ExploreArgs,
    plans: &'p [Plan],
    console: &Console<'c>,
) -> Result<ExploreOptions<'p>, String> {
    let on_failure = match arguments.keep_going || arguments.seek.is_some() {
        true => OnFailure::Continue,
        false => OnFailure::Stop,
    };
    Ok(ExploreOptions {
        plans,
        first: arguments.seed,
        count: arguments.seeds.map_or(u64::MAX, NonZeroU64::get),
        jobs: arguments.jobs.unwrap_or(console.cores),
        interrupt: console.interrupt.clone(),
        on_failure,
        seek: arguments.seek,
        recipe: arguments.recipe.clone().unwrap_or_default(),
        guided: arguments.guided.then(|| corpus(arguments)).transpose()?,
        also_judge: console.also_judge,
    })
}

/// Writes the files of all failures: `stick_exclusion-1337`, or `stick_exclusion-1337-2` if another run
/// of the same seed, a branch or one of another scenario, failed before it.
fn keep_all(
    what: &ExploreOptions<'_>,
    found: &Exploration,
    console: &mut Console<'_>,
) -> Vec<Kept> {
    let mut known: BTreeMap<(&str, u64), Vec<(&Trial, Kept)>> = BTreeMap::new();
    let failures = found.result.failures.iter().map(|failure| {
        let (trial, property) = (&failure.trial, failure.property.as_str());
        let others = known.entry((property, trial.seed)).or_default();
        // One seed may violate a property in several ways, for which one scenario is enough.
        if let Some((_, kept)) = others.iter().find(|(other, _)| *other == trial) {
            return kept.clone();
        }
        let number = (!others.is_empty()).then_some(others.len() + 1);
        let number = number.map_or_else(String::new, |number| format!("-{number}"));
        let name = format!("{property}-{}{number}", trial.seed);
        let kept = keep(what, (failure, &name), console);
        others.push((trial, kept.clone()));
        kept
    });
    failures.collect()
}

/// Loads the corpus.
fn corpus(arguments: &ExploreArgs) -> Result<Corpus, String> {
    let Some(folder) = &arguments.corpus else {
        return Ok(Corpus::default());
    };
    let name = folder.display();
    Corpus::load(folder).map_err(|problem| format!("cannot read the corpus {name}: {problem}"))
}

/// Writes the drawn scenario of a failure, and its shrunk form.
fn keep(
    what: &ExploreOptions<'_>,
    (failure, name): (&FailureResult, &str),
    console: &mut Console<'_>,
) -> Kept {
    let mut plan = what.varied(&failure.trial).plan;
    plan.seed = failure.trial.seed;
    let drawn = console.unasked.join(format!("{name}-drawn.yaml"));
    let written = output::create(&drawn, &to_yaml(&plan));
    let is_written = console.is_written(&drawn, written);
    let failed = shrink::FailedRun {
        plan: &plan,
        seed: plan.seed,
        property: &failure.property,
    };
    let shrunk = shrinking::unasked(&failed, name, console);
    let drawn = is_written.then(|| drawn.display().to_string());
    Kept { drawn, shrunk }
}

/// Receives the progress of the exploration, and ends it when the time is up.
struct ProgressListener<'a, 'c> {
    arguments: &'a ExploreArgs,
    what: &'a ExploreOptions<'a>,
    console: &'a mut Console<'c>,
    began: Duration,
    looked: Duration,
    saved: Duration,
}

impl ProgressListener<'_, '_> {
    fn on_trial(&mut self, trial: &Trial, so_far: &Exploration) -> ControlFlow<()> {
        if self.arguments.verbose {
            let name = &self.what.plans[trial.scenario].name;
            let drew = self.what.varied(trial).drew();
            let line = format!("{name} · seed {} · drew {drew}\n", trial.seed);
            self.console.show(self.arguments.json.as_deref(), &line);
        }
        let now = (self.console.clock)();
        let wall = now.saturating_sub(self.began);
        if now.saturating_sub(self.looked) >= LOOK {
            self.looked = now;
            let ExplorationResult {
                tried,
                steps,
                failures,
                ..
            } = &so_far.result;
            let line = exploring_line(*tried, *steps, failures.len() as u64, wall);
            (self.console.live)(Some(&line));
        }
        if let (Some(folder), Some(corpus)) = (&self.arguments.corpus, &so_far.guided)
            && now.saturating_sub(self.saved) >= SAVE
        {
            self.saved = now;
            if !self.console.is_written(folder, corpus.save(folder)) {
                return ControlFlow::Break(());
            }
        }
        match self.arguments.time {
            Some(time) if wall >= Duration::from_micros(time.0) => ControlFlow::Break(()),
            Some(_) | None => ControlFlow::Continue(()),
        }
    }
}
