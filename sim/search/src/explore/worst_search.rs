//! A search for the worst: the longest wait, or the largest number of times that one user was
//! bypassed.
//!
//! Half of the trials are drawn at random. The other half lie near the worst ones so far: they have
//! their seeds, and so their configurations, and branch off at the very beginning. Trials run in
//! rounds, and a round is planned before it starts, so that findings do not depend on the number of
//! threads.

use sim_model::outcome::{Seek, Trial, Worst};
use sim_model::recipe::{Recipe, Turn};

/// The number of trials in a round.
const ROUND: u64 = 64;

/// The number of configurations that are kept.
const HELD: usize = 8;

/// The worst of each configuration, the worst first.
#[derive(Clone, Debug)]
pub struct WorstSearch {
    /// The searched quantity.
    pub seek: Seek,
    /// The worst of each configuration, the worst first.
    pub worst: Vec<(Trial, Worst)>,
}

impl WorstSearch {
    pub(super) const fn new(seek: Seek) -> Self {
        let worst = Vec::new();
        Self { seek, worst }
    }

    /// The next trials, at most `left`, with numbers from `base` on.
    pub(super) fn round(&self, left: u64, base: u64, fresh: &dyn Fn(u64) -> Trial) -> Vec<Trial> {
        let near = |index: u64| {
            // The worst ones get more trials than the others.
            let turn = usize::try_from(index / 2 % ROUND).unwrap_or(0);
            let held = self.worst.len();
            let place = (turn % held).min(turn / held % held);
            let (like, _) = self.worst.get(place)?;
            // No other trial branches by this number.
            let branch = u32::try_from(index).ok()?;
            Some(Trial {
                index,
                scenario: like.scenario,
                seed: like.seed,
                recipe: Recipe::default().then(Turn { step: 0, branch }),
            })
        };
        (base..base + left.min(ROUND))
            .map(|index| {
                let has_worst = !self.worst.is_empty();
                let trial = fresh(index);
                // A recipe that is given is that of all.
                let is_near = has_worst && index % 2 == 1 && trial.recipe.is_plain();
                is_near.then(|| near(index)).flatten().unwrap_or(trial)
            })
            .collect()
    }

    pub(super) fn take(&mut self, trial: &Trial, worst: Worst) {
        let alike =
            |one: &(Trial, Worst)| (one.0.scenario, one.0.seed) == (trial.scenario, trial.seed);
        let known = self.worst.iter().find(|one| alike(one));
        if worst.figure <= known.map_or(0, |(_, known)| known.figure) {
            return;
        }
        self.worst.retain(|one| !alike(one));
        let place = self
            .worst
            .partition_point(|one| one.1.figure >= worst.figure);
        self.worst.insert(place, (trial.clone(), worst));
        self.worst.truncate(HELD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(index: u64) -> Trial {
        Trial {
            index,
            scenario: 0,
            seed: 100 + index,
            recipe: Recipe::default(),
        }
    }

    fn worst(figure: u64) -> Worst {
        Worst { figure, user: None }
    }

    #[test]
    fn half_of_the_trials_are_near_the_worst_so_far() {
        let mut hunted = WorstSearch::new(Seek::QueueWait);
        let round = hunted.round(10, 0, &fresh);
        assert!(round.iter().all(|t| t.recipe.is_plain()));
        for (index, figure) in [(3, 50), (4, 90), (5, 70), (6, 0)] {
            hunted.take(&fresh(index), worst(figure));
        }
        let round = hunted.round(1_000, 64, &fresh);
        assert_eq!(round.len(), 64);
        let near: Vec<u64> = round
            .iter()
            .filter(|t| !t.recipe.is_plain())
            .map(|t| t.seed)
            .collect();
        assert_eq!(near.len(), 32);
        let of = |seed| near.iter().filter(|near| **near == seed).count();
        assert!(
            of(104) > of(105) && of(105) > of(103) && of(103) > 0,
            "{near:?}"
        );
        let worlds = round.iter().map(|t| (t.seed, &t.recipe));
        let worlds: std::collections::BTreeSet<_> = worlds.collect();
        assert_eq!(worlds.len(), 64, "no world is tried twice");
        let recipe: Recipe = "s5:1".parse().unwrap();
        let branched = |index| Trial {
            recipe: recipe.clone(),
            ..fresh(index)
        };
        let round = hunted.round(64, 64, &branched);
        assert!(round.iter().all(|t| t.recipe == recipe));
    }

    #[test]
    fn each_configuration_is_held_once_by_its_worst() {
        let mut hunted = WorstSearch::new(Seek::QueueWait);
        hunted.take(&fresh(1), worst(10));
        for (index, figure) in [(2, 30), (3, 5), (4, 30)] {
            let like = Trial {
                seed: 101,
                ..fresh(index)
            };
            hunted.take(&like, worst(figure));
        }
        let held: Vec<(u64, u64)> = hunted
            .worst
            .iter()
            .map(|(t, w)| (t.index, w.figure))
            .collect();
        assert_eq!(held, [(2, 30)]);
        for index in 10..30 {
            hunted.take(&fresh(index), worst(index));
        }
        let figures: Vec<u64> = hunted.worst.iter().map(|(_, w)| w.figure).collect();
        assert_eq!(figures, [30, 29, 28, 27, 26, 25, 24, 23]);
    }
}
