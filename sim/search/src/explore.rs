//! Exploring: many seeds over the given scenarios, each with its own drawn configuration.
//!
//! A *trial* is one run: a scenario, the seed of its configuration (`vary`) and of its world, and a
//! recipe. Trials run in parallel, and their results are merged in order, so that the findings
//! depend on the seeds alone.

mod guided;
mod vary;
mod worst_search;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use chat_types::Span;
use sim_judge::SeedOutcome;
use sim_judge::metrics::Metrics;
use sim_model::outcome::{
    Class, Effort, ExplorationResult, FailureResult, HuntResult, Interrupt, Point, Progress, Seek,
    Tally, Trial, Violation,
};
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;

use crate::panics::catch_panic;
use crate::runner::{Ended, RunSeed, in_order};

pub use guided::{Corpus, Entry};
use guided::{CoverageMap, Family};
pub use vary::{DrawnPlan, EVERYDAY, blank, vary};

/// With drawn flows besides files, one trial of this number takes a file. Flows find most bugs with the
/// fewest seeds.
const FILES_ONE_IN: u64 = 8;

/// Adds findings of rules other than the properties to a run with this recipe.
pub type AlsoJudge<'r> = &'r (dyn Fn(&Recipe, &mut SeedOutcome) + Sync);

/// The parameters of an exploration.
#[derive(Clone)]
pub struct ExploreOptions<'a> {
    /// The scenarios, taken in turn.
    pub plans: &'a [Plan],
    /// The first seed; the others follow upward.
    pub first: u64,
    /// The largest number of trials.
    pub count: u64,
    /// The number of parallel trials.
    pub jobs: NonZeroUsize,
    /// Ends the exploration before the next trial.
    pub interrupt: Interrupt,
    /// Whether the first failure ends the exploration.
    pub on_failure: OnFailure,
    /// What to search for besides failures.
    pub seek: Option<Seek>,
    /// The turns of every run.
    pub recipe: Recipe,
    /// Earlier knowledge, if runs split at new states.
    pub guided: Option<Corpus>,
    /// Additional rules, for tests.
    pub also_judge: AlsoJudge<'a>,
}

/// Whether a failure ends the exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The first failure ends it.
    Stop,
    /// It continues, and reports all failures at the end.
    Continue,
}

/// An exploration: the trials so far, or all of them.
#[derive(Clone, Debug, Default)]
pub struct Exploration {
    /// The result. The drawn values of trials, the points that were not reached, the coverage and the exit
    /// code are added at the end.
    pub result: ExplorationResult,
    /// The `sometimes` points that were reached.
    pub tally: Tally,
    /// The number of the last trial with each failure.
    last_trials: Vec<u64>,
    /// The corpus, if it was guided.
    pub guided: Option<Corpus>,
}

/// Receives each trial and the exploration so far. `Break` ends it after this trial.
pub type OnTrial<'l> = &'l mut dyn FnMut(&Trial, &Exploration) -> ControlFlow<()>;

impl ExploreOptions<'_> {
    /// The drawn scenario of a trial.
    #[must_use]
    pub fn varied(&self, trial: &Trial) -> DrawnPlan {
        let mut varied = vary(&self.plans[trial.scenario], trial.seed);
        varied.plan.recipe = trial.recipe.clone();
        varied
    }

    /// The trial with this number, drawn without regard to a search.
    fn fresh(&self, index: u64) -> Trial {
        Trial {
            index,
            scenario: self.scenario_of(index),
            seed: self.first.wrapping_add(index),
            recipe: self.recipe.clone(),
        }
    }

    /// The scenario of a trial: each file in turn, and drawn flows in between.
    fn scenario_of(&self, index: u64) -> usize {
        let (turn, scenarios) = match self.plans.split_last() {
            Some((last, files)) if vary::is_blank(last) && !files.is_empty() => {
                if !index.is_multiple_of(FILES_ONE_IN) {
                    return files.len();
                }
                (index / FILES_ONE_IN, files.len())
            }
            _ => (index, self.plans.len()),
        };
        usize::try_from(turn % scenarios as u64).unwrap_or(0)
    }

    /// A trial of one run, as a family of that run alone.
    fn single(&self, trial: &Trial, run: RunSeed<'_>, progress: &Progress) -> Family {
        let ended = catch_panic(|| {
            let plan = self.varied(trial).plan;
            let mut outcome = run(&plan, trial.seed, progress, None);
            (self.also_judge)(&plan.recipe, &mut outcome);
            outcome
        });
        Family {
            steps: ended.as_ref().map_or(0, |outcome| outcome.ran.steps),
            members: vec![(trial.recipe.clone(), ended)],
            ..Family::default()
        }
    }

    /// A trial with its family.
    fn family(&self, trial: &Trial, coverage: &CoverageMap, progress: &Progress) -> Family {
        let plan = self.varied(trial).plan;
        let keep = |recipe: &Recipe, outcome: &mut SeedOutcome| {
            (self.also_judge)(recipe, outcome);
            // A family keeps its members until all have run, and their figures are large.
            outcome.metrics = Metrics::default();
            self.on_failure == OnFailure::Continue || outcome.violations.is_empty()
        };
        let family = guided::family((&plan, trial), coverage, &keep);
        progress.advance(Span::ZERO, 0, family.steps);
        family
    }
}

/// Explores: by families if it is guided, otherwise by trials of `run`.
pub fn explore(what: &ExploreOptions<'_>, run: RunSeed<'_>, on_trial: OnTrial<'_>) -> Exploration {
    let is_guided = what.guided.is_some();
    let worst = Vec::new();
    let hunt = |seek| HuntResult { seek, worst };
    let mut all = Exploration {
        result: ExplorationResult {
            first: what.first,
            scenarios: what.plans.iter().map(|plan| plan.name.clone()).collect(),
            virtual_span: (!is_guided).then_some(Span::ZERO),
            hunt: what.seek.filter(|_| !is_guided).map(hunt),
            ..ExplorationResult::default()
        },
        guided: what.guided.clone(),
        ..Exploration::default()
    };
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() && all.result.tried < what.count {
        // Without a search there is one round. With one, each round depends on the results of the
        // previous round.
        let base = all.result.tried;
        let left = what.count - base;
        let round = match (&mut all.guided, &all.result.hunt) {
            (Some(corpus), _) if corpus.is_flat() => break,
            (Some(corpus), _) => Some(corpus.round(what, left)),
            (None, Some(hunt)) => {
                let fresh = |index| what.fresh(index);
                Some(worst_search::round(&hunt.worst, left, base, &fresh))
            }
            (None, None) => None,
        };
        let count = round.as_ref().map_or(left, |round| round.len() as u64);
        let trial_of = |index: u64| match &round {
            None => what.fresh(base + index),
            Some(round) => round[usize::try_from(index).unwrap_or(0)].clone(),
        };
        let coverage = all.guided.as_ref().map(|corpus| corpus.coverage.clone());
        let attempt = |index: u64, progress: &Progress| match &coverage {
            None => what.single(&trial_of(index), run, progress),
            Some(coverage) => what.family(&trial_of(index), coverage, progress),
        };
        let mut take = |index: u64, ended: Ended<Family>| {
            let trial = trial_of(index);
            let failed = all.take(&trial, ended, what);
            flow = on_trial(&trial, &all);
            if failed && what.on_failure == OnFailure::Stop {
                flow = ControlFlow::Break(());
            }
            flow
        };
        let jobs = (what.jobs, &what.interrupt);
        in_order(count, jobs, &attempt, &mut take, &mut |_| {});
        if what.interrupt.is_requested() {
            flow = ControlFlow::Break(());
        }
    }
    all.finish(what);
    all
}

impl Exploration {
    /// Adds a trial, alone or with its family. Returns whether a run of it failed.
    fn take(&mut self, trial: &Trial, ended: Ended<Family>, what: &ExploreOptions<'_>) -> bool {
        self.result.tried += 1;
        let failed = self.take_runs(trial, ended, what);
        let ExplorationResult {
            tried, runs, steps, ..
        } = self.result;
        if failed {
            self.result.first_failure.get_or_insert(Effort {
                seeds: tried,
                runs,
                steps,
            });
        }
        failed
    }

    fn take_runs(
        &mut self,
        trial: &Trial,
        ended: Ended<Family>,
        what: &ExploreOptions<'_>,
    ) -> bool {
        let family = match ended {
            Ok(family) => family,
            // A panic in a run is caught for that run; this one is in the exploration itself.
            Err(words) => {
                return self.add_panic(trial, &format!("in exploring the family: {words}"));
            }
        };
        self.result.steps += family.steps;
        let mut failed = false;
        for (recipe, ended) in family.members {
            let trial = Trial {
                recipe,
                ..trial.clone()
            };
            failed |= self.take_run(&trial, ended);
        }
        if let Some(corpus) = &mut self.guided {
            corpus.take(trial, what, family.new_facets, &family.facets);
        }
        failed
    }

    /// Adds a run. Returns whether it failed.
    fn take_run(&mut self, trial: &Trial, ended: Ended<SeedOutcome>) -> bool {
        self.result.runs += 1;
        let outcome = match ended {
            Err(words) => return self.add_panic(trial, &words),
            Ok(outcome) => outcome,
        };
        if let Some(span) = &mut self.result.virtual_span {
            *span = *span + outcome.ran.span();
        }
        if let Some(HuntResult { seek, worst }) = &mut self.result.hunt {
            worst_search::take(worst, trial, outcome.metrics.worst(*seek));
        }
        self.tally.add(&outcome.ran.tally);
        for violation in &outcome.violations {
            self.add_failure(trial, Some(outcome.ran.trace_hash), violation);
        }
        !outcome.violations.is_empty()
    }

    /// Adds a panic, which is a failure.
    fn add_panic(&mut self, trial: &Trial, words: &str) -> bool {
        self.add_failure(trial, None, &Violation::of_panic(words, trial.seed));
        true
    }

    /// Adds a violation. A failure counts once for each trial.
    fn add_failure(&mut self, trial: &Trial, trace_hash: Option<u64>, violation: &Violation) {
        let (property, cause) = (&violation.property, &violation.subject.cause);
        let mut all = self.result.failures.iter_mut().zip(&mut self.last_trials);
        let known = all.find(|(it, _)| (&it.property, &it.cause) == (property, cause));
        if let Some((known, last)) = known {
            known.trials += u64::from(*last != trial.index);
            *last = trial.index;
            return;
        }
        self.last_trials.push(trial.index);
        self.result.failures.push(FailureResult {
            property: property.clone(),
            class: Class::of(property),
            cause: cause.clone(),
            detail: violation.detail.clone(),
            trial: trial.clone(),
            drew: Vec::new(),
            trace_hash,
            trials: 1,
        });
    }

    /// Adds what is known only at the end.
    fn finish(&mut self, what: &ExploreOptions<'_>) {
        let result = &mut self.result;
        for failure in &mut result.failures {
            failure.drew = what.varied(&failure.trial).drew;
        }
        for one in result.hunt.iter_mut().flat_map(|hunt| &mut hunt.worst) {
            one.drew = what.varied(&one.trial).drew;
        }
        let never = |point: &&Point| self.tally.count(**point) == 0;
        let unreached = Point::ALL.iter().filter(never);
        result.unreached = unreached.map(|point| point.name()).collect();
        result.covered = self.guided.as_ref().map(Corpus::covered);
        let any = |class| result.failures.iter().any(|failure| failure.class == class);
        result.exit_code = match (any(Class::Safety), any(Class::Liveness)) {
            (true, _) => 1,
            (false, true) => 3,
            (false, false) => 0,
        };
    }
}
