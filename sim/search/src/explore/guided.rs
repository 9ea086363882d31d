//! Guided exploring: families of runs that split at new states.
//!
//! Coverage is a bitmap of facets of the chat's state (`world::abstraction`), with a class for how
//! often one run enters each. A family is a run with branches at new or rare states (`family`). A
//! run that enters something new is kept as a recipe in the corpus (`corpus`). Half of the families
//! start from the corpus, with more energy for recipes that found more, and the others from fresh
//! seeds.
//!
//! Families run in rounds. A round is planned before it starts, and its families see the bitmap of
//! that time, so that findings do not depend on the number of threads. The exploration ends when
//! nothing new is entered for [`FLAT`](sim_model::outcome::FLAT) families.

mod corpus;
mod coverage_map;
mod family;

use std::ops::ControlFlow;

use sim_judge::SeedOutcome;
use sim_judge::metrics::Metrics;
use sim_model::outcome::{Progress, Trial};
use sim_model::recipe::Recipe;

use crate::runner::Ended;

pub use corpus::{Corpus, Entry};
use coverage_map::CoverageMap;
use family::{Family, NewFacets};

use super::{Exploration, ExploreOptions, Listener, OnFailure};

/// The number of families in a round.
const ROUND: u64 = 32;

/// The number of branch numbers that one family may use.
const BRANCHES: u32 = 64;

/// Explores by families, starting from the corpus.
pub(super) fn explore(
    what: &ExploreOptions<'_>,
    corpus: Corpus,
    listener: &mut dyn Listener,
) -> Exploration {
    let mut all = Exploration {
        guided: Some(corpus),
        ..Exploration::default()
    };
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() && all.tried < what.count {
        let Some(corpus) = &mut all.guided else { break };
        if corpus.is_flat() {
            break;
        }
        let round = corpus.round(what, ROUND.min(what.count - all.tried));
        let trial_of = |index: u64| round[usize::try_from(index).unwrap_or(0)].clone();
        let count = round.len() as u64;
        let coverage = corpus.coverage.clone();
        let attempt = |trial: &Trial, progress: &Progress| {
            let family = what.family(trial, &coverage);
            progress.advance(chat_types::Span::ZERO, 0, family.steps);
            family
        };
        let take = Exploration::take_family;
        flow = all.round((count, &trial_of), what, &attempt, take, listener);
    }
    all
}

impl ExploreOptions<'_> {
    fn family(&self, trial: &Trial, coverage: &CoverageMap) -> Family {
        let plan = self.varied(trial).plan;
        let number = u32::try_from(trial.index % u64::from(u32::MAX / BRANCHES)).unwrap_or(0);
        let first_branch = 1 + number * BRANCHES;
        let keep = |recipe: &Recipe, outcome: &mut SeedOutcome| {
            self.judge(recipe, outcome);
            // A family keeps its members until all have run, and their figures are large.
            outcome.metrics = Metrics::default();
            self.on_failure == OnFailure::Continue || outcome.violations.is_empty()
        };
        family::explore((&plan, trial.seed), first_branch, coverage, &keep)
    }
}

impl Exploration {
    /// Adds a family. Returns whether a member failed.
    fn take_family(
        &mut self,
        trial: &Trial,
        ended: Ended<Family>,
        what: &ExploreOptions<'_>,
    ) -> bool {
        let family = match ended {
            Ok(family) => family,
            // A panic in a member is caught for that member; this one is in the exploration itself.
            Err(words) => {
                return self.take_panic(trial, &format!("in exploring the family: {words}"));
            }
        };
        self.steps += family.steps;
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
}
