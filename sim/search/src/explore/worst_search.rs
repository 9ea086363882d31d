//! A search for the worst: the longest wait, or the largest number of times that one user was
//! bypassed.
//!
//! Half of the trials are drawn at random. The other half lie near the worst ones so far: they have
//! their seeds, and so their configurations, and branch off at the very beginning. Trials run in
//! rounds, and a round is planned before it starts, so that findings do not depend on the number of
//! threads.

use sim_model::outcome::{Trial, Worst, WorstTrial};
use sim_model::recipe::{Recipe, Turn};

/// The number of trials in a round.
const ROUND: u64 = 64;

/// The number of configurations that are kept.
const HELD: usize = 8;

/// The next trials, at most `left`, with numbers from `base` on. `worst` has the worst of each
/// configuration, the worst first.
pub(super) fn round(
    worst: &[WorstTrial],
    left: u64,
    base: u64,
    fresh: &dyn Fn(u64) -> Trial,
) -> Vec<Trial> {
    let near = |index: u64| {
        // The worst ones get more trials than the others.
        let turn = usize::try_from(index / 2 % ROUND).unwrap_or(0);
        let held = worst.len();
        let like = &worst.get((turn % held).min(turn / held % held))?.trial;
        // No other trial branches by this number.
        let branch = u32::try_from(index).ok()?;
        Some(Trial {
            index,
            recipe: Recipe::default().then(Turn { step: 0, branch }),
            ..like.clone()
        })
    };
    (base..base + left.min(ROUND))
        .map(|index| {
            let trial = fresh(index);
            // A recipe that is given is that of all.
            let is_near = !worst.is_empty() && index % 2 == 1 && trial.recipe.is_plain();
            is_near.then(|| near(index)).flatten().unwrap_or(trial)
        })
        .collect()
}

/// Adds a trial to the worst, if it is the worst of its configuration.
pub(super) fn take(all: &mut Vec<WorstTrial>, trial: &Trial, worst: Worst) {
    let alike =
        |one: &WorstTrial| (one.trial.scenario, one.trial.seed) == (trial.scenario, trial.seed);
    let known = all.iter().find(|one| alike(one));
    if worst.figure <= known.map_or(0, |known| known.worst.figure) {
        return;
    }
    all.retain(|one| !alike(one));
    let place = all.partition_point(|one| one.worst.figure >= worst.figure);
    let (trial, drew) = (trial.clone(), Vec::new());
    all.insert(place, WorstTrial { trial, drew, worst });
    all.truncate(HELD);
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
        let mut hunted = Vec::new();
        let round = super::round(&hunted, 10, 0, &fresh);
        assert!(round.iter().all(|t| t.recipe.is_plain()));
        for (index, figure) in [(3, 50), (4, 90), (5, 70), (6, 0)] {
            take(&mut hunted, &fresh(index), worst(figure));
        }
        let round = super::round(&hunted, 1_000, 64, &fresh);
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
        let round = super::round(&hunted, 64, 64, &branched);
        assert!(round.iter().all(|t| t.recipe == recipe));
    }

    #[test]
    fn each_configuration_is_held_once_by_its_worst() {
        let mut hunted = Vec::new();
        take(&mut hunted, &fresh(1), worst(10));
        for (index, figure) in [(2, 30), (3, 5), (4, 30)] {
            let like = Trial {
                seed: 101,
                ..fresh(index)
            };
            take(&mut hunted, &like, worst(figure));
        }
        let held: Vec<(u64, u64)> = hunted
            .iter()
            .map(|one| (one.trial.index, one.worst.figure))
            .collect();
        assert_eq!(held, [(2, 30)]);
        for index in 10..30 {
            take(&mut hunted, &fresh(index), worst(index));
        }
        let figures: Vec<u64> = hunted.iter().map(|one| one.worst.figure).collect();
        assert_eq!(figures, [30, 29, 28, 27, 26, 25, 24, 23]);
    }
}
