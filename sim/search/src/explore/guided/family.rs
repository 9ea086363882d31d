//! A family: one run, with branches at new or rare states.
//!
//! A copy of a run is kept where it enters a facet more often than any run before, a facet that few
//! families enter, or a `sometimes` point that is new to its family. Then, while the family has
//! energy, the most promising copy continues with new randomness, and its branch is observed in the
//! same way. At most [`MAX_SAVED`] copies are kept, which bounds the memory.

use super::coverage_map::{Counts, CoverageMap, Entered};
use crate::panics::catch_panic;
use crate::runner::Ended;
use sim_judge::{RunJudge, SeedOutcome};
use sim_model::outcome::{Point, Trial};
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;
use sim_world::Split;
use sim_world::abstraction::Facet;

/// The largest number of copies.
const MAX_SAVED: usize = 6;
/// The smallest number of steps between two copies of one run.
const APART: u64 = 32;
/// The number of branches of every family, and of a very productive one.
const LEAST_BRANCHES: u32 = 3;
const MOST_BRANCHES: u32 = 24;
/// The number of branch numbers that one family may use.
const BRANCHES: u32 = 64;
/// The worth of a new class of a facet. A rare one is worth its rarity.
const NEW: u32 = 16;
/// The worth of a `sometimes` point that is new to the family.
const POINT: u32 = 4;
/// The worth of new facets after which a run is copied for the first time. Each further copy needs
/// this much more.
const WORTH: u32 = 4;
/// The worth that must be found for an additional branch.
const FOR_A_BRANCH: u32 = 32;

/// The new facets that the run with this recipe entered.
pub(in crate::explore) type NewFacets = (Recipe, Vec<Entered>);

/// The result of a family.
#[derive(Debug, Default)]
pub(in crate::explore) struct Family {
    /// The recipe and the outcome of each member, the root first.
    pub(in crate::explore) members: Vec<Member>,
    /// The number of steps; common steps of copies count once.
    pub(in crate::explore) steps: u64,
    pub(in crate::explore) new_facets: Vec<NewFacets>,
    /// Every facet entered, sorted.
    pub(in crate::explore) facets: Vec<Facet>,
}

/// A kept copy.
struct SavedRun<'p> {
    run: Split<'p, RunJudge>,
    counts: Counts,
    worth: u32,
    branches: u32,
}

impl SavedRun<'_> {
    /// The expected worth of another branch.
    fn expected_worth(&self) -> u32 {
        self.worth / (self.branches + 1)
    }
}

/// Explores one family.
struct Explorer<'p, 'k> {
    plan: &'p Plan,
    /// The number of its first branch. Families of one seed use different numbers.
    first_branch: u32,
    coverage: &'k CoverageMap,
    /// The facets that the family itself entered.
    own: CoverageMap,
    saved: Vec<SavedRun<'p>>,
    /// The total worth found.
    found: u32,
    family: Family,
}

/// Judges an outcome further, and returns whether the family goes on.
type Judge<'j> = &'j dyn Fn(&Recipe, &mut SeedOutcome) -> bool;

/// Runs the family of this trial, whose plan is drawn.
pub(in crate::explore) fn explore(
    (plan, trial): (&Plan, &Trial),
    coverage: &CoverageMap,
    judge: Judge<'_>,
) -> Family {
    let number = u32::try_from(trial.index % u64::from(u32::MAX / BRANCHES)).unwrap_or(0);
    let mut explorer = Explorer {
        plan,
        first_branch: 1 + number * BRANCHES,
        coverage,
        own: CoverageMap::default(),
        saved: Vec::new(),
        found: 0,
        family: Family::default(),
    };
    let first = explorer.member(plan.recipe.clone(), || {
        let run = Split::begin(plan, trial.seed, RunJudge::new(plan));
        (run, Counts::new())
    });
    let mut goes_on = explorer.add(first, judge);
    let mut branches = 0;
    while goes_on && branches < explorer.energy() {
        let Some(branch) = explorer.branch() else {
            break;
        };
        branches += 1;
        goes_on = explorer.add(branch, judge);
    }
    let mut family = explorer.family;
    family.facets = explorer.own.entered();
    family
}

/// A member: its recipe and its outcome.
type Member = (Recipe, Ended<SeedOutcome>);

impl<'p> Explorer<'p, '_> {
    /// Adds a member. Returns whether the family goes on.
    fn add(&mut self, (recipe, mut ended): Member, judge: Judge<'_>) -> bool {
        let goes_on = ended.as_mut().is_ok_and(|outcome| judge(&recipe, outcome));
        self.family.members.push((recipe, ended));
        goes_on
    }

    /// The number of branches that the family has earned.
    fn energy(&self) -> u32 {
        let more = self.found / FOR_A_BRANCH;
        LEAST_BRANCHES.saturating_add(more).min(MOST_BRANCHES)
    }

    /// Continues the most promising copy as another branch.
    fn branch(&mut self) -> Option<Member> {
        let expected_worths = self.saved.iter().map(SavedRun::expected_worth);
        // The first of the best: an early state leaves more room for what follows.
        let (place, _) = expected_worths
            .enumerate()
            .max_by_key(|(place, expected_worth)| (*expected_worth, std::cmp::Reverse(*place)))?;
        let copy = &mut self.saved[place];
        let (branch, counts) = (self.first_branch + copy.branches, copy.counts.clone());
        copy.branches += 1;
        let step = copy.run.steps();
        let run = copy.run.branch(branch);
        let recipe = run.recipe().clone();
        let before = self.found;
        let ended = self.member(recipe, || (run, counts));
        // A better copy may have replaced it meanwhile.
        let gave = self.found - before;
        if let Some(copy) = self.saved.iter_mut().find(|copy| copy.run.steps() == step) {
            copy.worth = copy.worth.saturating_add(gave / 2);
        }
        Some(ended)
    }

    /// Runs a member to its end.
    fn member(
        &mut self,
        recipe: Recipe,
        run: impl FnOnce() -> (Split<'p, RunJudge>, Counts),
    ) -> Member {
        let mut new_facets = Vec::new();
        let ended = catch_panic(|| {
            let (mut run, mut counts) = run();
            let mut entered = Vec::new();
            let begins = recipe.turns().last().map_or(0, |turn| turn.step);
            let mut copied = begins;
            let (mut pending, mut wanted) = (0, WORTH);
            let mut steps = run.steps();
            loop {
                let more = run.step();
                self.family.steps += run.steps() - steps;
                steps = run.steps();
                run.look(&mut entered);
                for facet in entered.drain(..) {
                    pending += self.enter(facet, &mut counts, &mut new_facets);
                }
                if !more {
                    break;
                }
                if pending >= wanted && steps >= copied + APART && recipe.room_left() > 0 {
                    copied = steps;
                    wanted += WORTH;
                    self.offer(&run, &counts, std::mem::take(&mut pending));
                }
            }
            let (ran, judge) = run.finish();
            judge.finish(self.plan, ran)
        });
        if !new_facets.is_empty() {
            self.family.new_facets.push((recipe.clone(), new_facets));
        }
        (recipe, ended)
    }

    /// Records a facet that a run entered, and returns its worth.
    fn enter(&mut self, facet: Facet, counts: &mut Counts, new_facets: &mut Vec<Entered>) -> u32 {
        let Some(entered) = counts.enter(facet) else {
            return 0;
        };
        let first = !self.own.has(Entered { facet, class: 1 });
        if !self.own.add(entered) {
            return 0;
        }
        let mut worth = 0;
        if !self.coverage.has(entered) {
            new_facets.push(entered);
            worth = NEW;
        } else if first {
            worth = match self.coverage.rarity(facet) {
                0..4 => 0,
                rarity => rarity,
            };
        }
        let is_point = |point: &Point| Facet::point(*point) == facet;
        if first && Point::ALL.iter().any(is_point) {
            worth += POINT;
        }
        self.found = self.found.saturating_add(worth);
        worth
    }

    /// Keeps a copy of the run if there is space, or if it is worth more than another.
    fn offer(&mut self, run: &Split<'p, RunJudge>, counts: &Counts, worth: u32) {
        if self.saved.len() == MAX_SAVED {
            let expected_worths = self.saved.iter().map(SavedRun::expected_worth);
            let least = expected_worths
                .enumerate()
                .min_by_key(|(_, expected_worth)| *expected_worth);
            match least {
                Some((place, expected_worth)) if expected_worth < worth => {
                    self.saved.remove(place);
                }
                Some(_) | None => return,
            }
        }
        self.saved.push(SavedRun {
            run: run.branch(0),
            counts: counts.clone(),
            worth,
            branches: 0,
        });
    }
}
