//! A family: one run, and the branches that leave it where it reaches what is new or rare.
//!
//! Where a run enters a facet that no run has entered so often, one that few families enter, or a
//! `sometimes` point that its family has not reached, a copy of it is kept. Then, as long as the
//! family has energy, the copy with most to give goes on with chance of its own, and its branch is
//! looked at in the same way. At most [`COPIES`] are kept: the memory is bounded.

use super::known::{Counts, Entered, Known};
use crate::caught::caught;
use crate::runner::Ended;
use crate::seed::JudgedSplit;
use sim_judge::SeedOutcome;
use sim_model::outcome::Point;
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;
use sim_world::abstraction::Facet;

/// Copies kept at once.
const COPIES: usize = 6;
/// Steps between two copies of one run, at least.
const APART: u64 = 32;
/// Branches of every family, and of one that finds much.
const LEAST_BRANCHES: u32 = 3;
const MOST_BRANCHES: u32 = 24;
/// What a class of a facet is worth that no run entered before; a rare one is worth its rarity.
const NEW: u32 = 16;
/// What a `sometimes` point is worth that the family did not reach before.
const POINT: u32 = 4;
/// What a place must be worth for the first copy of a run; for each further one as much more.
const WORTH: u32 = 4;
/// How much more must be found for one more branch.
const FOR_A_BRANCH: u32 = 32;

/// Where a family begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root<'a> {
    pub(super) plan: &'a Plan,
    pub(super) seed: u64,
    /// The number of its first branch: families of one seed have different ones.
    pub(super) first_branch: u32,
}

/// What a member entered that nobody had entered before it.
#[derive(Clone, Debug)]
pub(super) struct News {
    pub(super) recipe: Recipe,
    pub(super) entered: Vec<Entered>,
}

/// What a family came to.
#[derive(Debug)]
pub(super) struct Family<T> {
    /// Each member's recipe and outcome: the root first.
    pub(super) members: Vec<(Recipe, Ended<T>)>,
    /// Steps taken; those of copies count once.
    pub(super) steps: u64,
    pub(super) news: Vec<News>,
    /// Every facet entered, in order, each once.
    pub(super) facets: Vec<Facet>,
}

/// A copy that waits to go on.
struct Copy<'p> {
    run: JudgedSplit<'p>,
    counts: Counts,
    worth: u32,
    branches: u32,
    next_branch: u32,
}

impl Copy<'_> {
    /// What one more branch is expected to give.
    fn promise(&self) -> u32 {
        self.worth / (self.branches + 1)
    }
}

/// Explores one family.
struct Explorer<'p, 'k> {
    root: Root<'p>,
    known: &'k Known,
    /// What the family entered itself.
    own: Known,
    points: Vec<Facet>,
    copies: Vec<Copy<'p>>,
    steps: u64,
    /// What was found in all.
    found: u32,
    news: Vec<News>,
}

/// Runs a family: `keep` says what is kept of each outcome, and whether that is enough.
pub(super) fn explore<T>(
    root: Root<'_>,
    known: &Known,
    keep: &dyn Fn(&Recipe, SeedOutcome) -> (T, Enough),
) -> Family<T> {
    let mut explorer = Explorer {
        root,
        known,
        own: Known::new(),
        points: Point::ALL
            .iter()
            .map(|point| Facet::point(*point))
            .collect(),
        copies: Vec::new(),
        steps: 0,
        found: 0,
        news: Vec::new(),
    };
    let mut members = Vec::new();
    let first = explorer.member(root.plan.recipe.clone(), |_| {
        (JudgedSplit::begin(root.plan, root.seed), Counts::new())
    });
    let mut enough = push(&mut members, first, keep);
    let mut branches = 0;
    while enough == Enough::No && branches < explorer.energy() {
        let Some(next) = explorer.branch() else { break };
        branches += 1;
        enough = push(&mut members, next, keep);
    }
    Family {
        members,
        steps: explorer.steps,
        news: explorer.news,
        facets: explorer.own.entered(),
    }
}

/// Whether a family need not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enough {
    Yes,
    No,
}

fn push<T>(
    members: &mut Vec<(Recipe, Ended<T>)>,
    (recipe, ended): (Recipe, Ended<SeedOutcome>),
    keep: &dyn Fn(&Recipe, SeedOutcome) -> (T, Enough),
) -> Enough {
    let (kept, enough) = match ended.map(|outcome| keep(&recipe, outcome)) {
        Ok((kept, enough)) => (Ok(kept), enough),
        Err(words) => (Err(words), Enough::Yes),
    };
    members.push((recipe, kept));
    enough
}

impl<'p> Explorer<'p, '_> {
    /// How many branches the family is worth by now.
    fn energy(&self) -> u32 {
        let more = self.found / FOR_A_BRANCH;
        LEAST_BRANCHES.saturating_add(more).min(MOST_BRANCHES)
    }

    /// Lets the copy with the most to give go on as one more branch.
    fn branch(&mut self) -> Option<(Recipe, Ended<SeedOutcome>)> {
        let promises = self.copies.iter().map(Copy::promise);
        // The first of the best: what was reached early leaves more room for what follows.
        let (place, _) = promises
            .enumerate()
            .max_by_key(|(place, promise)| (*promise, std::cmp::Reverse(*place)))?;
        let copy = &mut self.copies[place];
        let (branch, counts) = (copy.next_branch, copy.counts.clone());
        copy.branches += 1;
        copy.next_branch += 1;
        let step = copy.run.steps();
        let run = copy.run.branch(branch);
        let recipe = run.recipe().clone();
        let before = self.found;
        let ended = self.member(recipe, |_| (run, counts));
        // The copy may have given way to a better one meanwhile.
        let gave = self.found - before;
        if let Some(copy) = self.copies.iter_mut().find(|copy| copy.run.steps() == step) {
            copy.worth = copy.worth.saturating_add(gave / 2);
        }
        Some(ended)
    }

    /// Runs a member to its end.
    fn member(
        &mut self,
        recipe: Recipe,
        run: impl FnOnce(&Self) -> (JudgedSplit<'p>, Counts),
    ) -> (Recipe, Ended<SeedOutcome>) {
        let mut news = Vec::new();
        let ended = caught(|| {
            let (mut run, mut counts) = run(self);
            let mut entered = Vec::new();
            let begins = recipe.turns().last().map_or(0, |turn| turn.step);
            let mut copied = begins;
            let (mut pending, mut wanted) = (0, WORTH);
            let mut steps = run.steps();
            loop {
                let more = run.step();
                self.steps += run.steps() - steps;
                steps = run.steps();
                run.look(&mut entered);
                for facet in entered.drain(..) {
                    pending += self.enter(facet, &mut counts, &mut news);
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
            run.finish()
        });
        if !news.is_empty() {
            let recipe = recipe.clone();
            let entered = news;
            self.news.push(News { recipe, entered });
        }
        (recipe, ended)
    }

    /// A run entered a facet: what that is worth.
    fn enter(&mut self, facet: Facet, counts: &mut Counts, news: &mut Vec<Entered>) -> u32 {
        let Some(entered) = counts.enter(facet) else {
            return 0;
        };
        let first = !self.own.has(Entered { facet, class: 1 });
        if !self.own.add(entered) {
            return 0;
        }
        let mut worth = 0;
        if !self.known.has(entered) {
            news.push(entered);
            worth = NEW;
        } else if first {
            worth = match self.known.rarity(facet) {
                0..4 => 0,
                rarity => rarity,
            };
        }
        if first && self.points.contains(&facet) {
            worth += POINT;
        }
        self.found = self.found.saturating_add(worth);
        worth
    }

    /// Keeps a copy of the run if there is room, or it is worth more than another.
    fn offer(&mut self, run: &JudgedSplit<'p>, counts: &Counts, worth: u32) {
        if self.copies.len() == COPIES {
            let promises = self.copies.iter().map(Copy::promise);
            let least = promises.enumerate().min_by_key(|(_, promise)| *promise);
            match least {
                Some((place, promise)) if promise < worth => {
                    self.copies.remove(place);
                }
                Some(_) | None => return,
            }
        }
        self.copies.push(Copy {
            run: run.branch(0),
            counts: counts.clone(),
            worth,
            branches: 0,
            next_branch: self.root.first_branch,
        });
    }
}
