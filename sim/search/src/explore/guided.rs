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
use sim_model::outcome::{Class, Progress, Tally, Trial, Violation};
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;

use crate::runner::{Ended, in_order};

pub use corpus::{Corpus, Entry};
use coverage_map::CoverageMap;
use family::{Family, FamilyRoot, NewFacets};

use super::{Exploration, ExploreOptions, Listener, OnFailure};

/// The number of families in a round.
const ROUND: u64 = 32;

/// The number of branch numbers that one family may use.
const BRANCHES: u32 = 64;

/// The kept part of a family member's result.
struct Member {
    trace_hash: u64,
    violations: Vec<(Class, Violation)>,
    tally: Tally,
}

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
    while flow.is_continue() && all.tried < what.count && !what.interrupt.is_requested() {
        let Some(corpus) = &mut all.guided else { break };
        if corpus.is_flat() {
            break;
        }
        let round = corpus.round(what, ROUND.min(what.count - all.tried));
        let coverage = corpus.coverage.clone();
        let trial_of = |index: u64| &round[usize::try_from(index).unwrap_or(0)];
        let attempt = |index: u64, progress: &Progress| {
            let family = what.family(trial_of(index), &coverage);
            progress.advance(chat_types::Span::ZERO, 0, family.steps);
            family
        };
        let mut take = |index: u64, ended: Ended<Family<Member>>| {
            let trial = trial_of(index);
            let failed = all.take_family(trial, ended, what);
            listener.on_trial(trial);
            let stop = failed && what.on_failure == OnFailure::Stop;
            flow = if stop {
                ControlFlow::Break(())
            } else {
                listener.tick(&all)
            };
            flow
        };
        let count = round.len() as u64;
        let jobs = (what.jobs, &what.interrupt);
        in_order(count, jobs, &attempt, &mut take, &mut |_| {});
    }
    all
}

impl ExploreOptions<'_> {
    fn family(&self, trial: &Trial, coverage: &CoverageMap) -> Family<Member> {
        let plan: Plan = self.varied(trial).plan;
        let number = u32::try_from(trial.index % u64::from(u32::MAX / BRANCHES)).unwrap_or(0);
        let root = FamilyRoot {
            plan: &plan,
            seed: trial.seed,
            first_branch: 1 + number * BRANCHES,
        };
        family::explore(root, coverage, &|recipe, outcome| {
            self.keep(recipe, outcome)
        })
    }

    fn keep(&self, recipe: &Recipe, mut outcome: SeedOutcome) -> (Member, ControlFlow<()>) {
        if let Some(also_judge) = self.also_judge {
            also_judge(recipe, &mut outcome);
        }
        let violations = self.violations(&outcome);
        let next = match (violations.is_empty(), self.on_failure) {
            (false, OnFailure::Stop) => ControlFlow::Break(()),
            (true, _) | (false, OnFailure::Continue) => ControlFlow::Continue(()),
        };
        let member = Member {
            trace_hash: outcome.trace_hash,
            violations,
            tally: outcome.tally,
        };
        (member, next)
    }
}

impl Exploration {
    /// Adds the next family. Returns whether a member failed.
    fn take_family(
        &mut self,
        trial: &Trial,
        ended: Ended<Family<Member>>,
        what: &ExploreOptions<'_>,
    ) -> bool {
        self.tried += 1;
        let family = match ended {
            Ok(family) => family,
            Err(words) => {
                // A panic in a member is caught for that member; this panic is in the exploration
                // itself.
                let words = format!("in exploring the family: {words}");
                let violation = Violation::of_panic(&words, trial.seed);
                self.failures.add(trial, None, Class::Safety, &violation);
                return true;
            }
        };
        self.steps += family.steps;
        let mut failed = false;
        for (recipe, ended) in family.members {
            self.runs += 1;
            failed |= self.take_member(
                &Trial {
                    recipe,
                    ..trial.clone()
                },
                ended,
                what,
            );
        }
        if failed && self.first_failure.is_none() {
            self.first_failure = Some(self.effort());
        }
        if let Some(corpus) = &mut self.guided {
            corpus.take(trial, what, family.new_facets, &family.facets);
        }
        failed
    }

    fn take_member(
        &mut self,
        trial: &Trial,
        ended: Ended<Member>,
        what: &ExploreOptions<'_>,
    ) -> bool {
        let member = match ended {
            Ok(member) => member,
            Err(words) => return self.take_panic(trial, &words, what),
        };
        self.tally.add(&member.tally);
        for (class, violation) in &member.violations {
            let hash = Some(member.trace_hash);
            self.failures.add(trial, hash, *class, violation);
        }
        !member.violations.is_empty()
    }
}
