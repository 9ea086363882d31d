//! A recipe: the steps at which a run branches off the history of its seed, with the numbers of the
//! branches.
//!
//! A world draws all randomness from keyed generators. At each turn of a recipe they are rekeyed
//! from the key so far, the step and the branch's number. Up to that step the run equals the one
//! without the turn; after it, it differs. Seed and recipe together identify one history.

use std::fmt;
use std::str::FromStr;

/// A branching point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    /// The number of the last step before it.
    pub step: u64,
    /// The number of the branch, from 1. Branch 0 would continue the run, and is no turn.
    pub branch: u32,
}

/// The turns of a run, at increasing steps. An empty recipe is the plain run of the seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recipe(Vec<Turn>);

/// An example for error messages.
pub const EXAMPLE: &str = "s123:2,s990:1 (after step 123 branch 2, after step 990 branch 1)";

/// The largest number of turns, so that no text leads to a world that never ends.
const MAX_TURNS: usize = 64;

impl Recipe {
    /// The turns, in order.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.0
    }

    /// Whether it is the plain run of its seed.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// The first turn that a run of so many steps does not reach.
    #[must_use]
    pub fn beyond(&self, steps: u64) -> Option<Turn> {
        self.0.iter().find(|turn| turn.step > steps).copied()
    }

    /// The recipe with only its first turns.
    #[must_use]
    pub fn first(&self, turns: usize) -> Self {
        Self(self.0.iter().take(turns).copied().collect())
    }

    /// The recipe with one more turn, which must come after the others.
    #[must_use]
    pub fn then(&self, turn: Turn) -> Self {
        let mut turns = self.0.clone();
        turns.push(turn);
        Self(turns)
    }

    /// The number of turns that may be added.
    #[must_use]
    pub const fn room_left(&self) -> usize {
        MAX_TURNS.saturating_sub(self.0.len())
    }
}

/// The written form `s123:2`.
impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}:{}", self.step, self.branch)
    }
}

/// The written form `s123:2,s990:1`; empty for the plain run.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, turn) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{turn}")?;
        }
        Ok(())
    }
}

impl FromStr for Recipe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut turns: Vec<Turn> = Vec::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let turn = turn(part).ok_or_else(|| {
                format!("`{part}` is no turn of a recipe; expected one such as s123:2")
            })?;
            let step = turn.step;
            if turns.last().is_some_and(|last| last.step >= step) {
                return Err(format!(
                    "the turns of a recipe lie at growing steps, and s{step} does not"
                ));
            }
            turns.push(turn);
        }
        if turns.len() > MAX_TURNS {
            return Err(format!("a recipe has at most {MAX_TURNS} turns"));
        }
        Ok(Self(turns))
    }
}

fn turn(text: &str) -> Option<Turn> {
    let (step, branch) = text.trim().strip_prefix('s')?.split_once(':')?;
    let (step, branch) = (step.parse().ok()?, branch.parse().ok()?);
    (branch > 0).then_some(Turn { step, branch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_reads_back_as_written() {
        for text in ["", "s1:1", "s123:2,s990:1", "s0:4294967295"] {
            let recipe: Recipe = text.parse().unwrap();
            assert_eq!(recipe.to_string(), text);
            assert_eq!(recipe.is_plain(), text.is_empty());
        }
        let turns: Recipe = "s2:1,s7:3".parse().unwrap();
        assert_eq!(
            (turns.beyond(7), turns.beyond(6)),
            (None, Some(Turn { step: 7, branch: 3 }))
        );
        let turn = Turn { step: 7, branch: 3 };
        let recipe: Recipe = "s2:1".parse().unwrap();
        assert_eq!(recipe.then(turn).to_string(), "s2:1,s7:3");
    }

    #[test]
    fn a_malformed_recipe_is_refused() {
        for text in ["123:2", "s12", "s1:0", "s1:2,", "s-1:2", "s1:x"] {
            assert!(text.parse::<Recipe>().is_err(), "{text}");
        }
        let order = "s9:1,s9:2".parse::<Recipe>().unwrap_err();
        assert!(order.ends_with("s9 does not"), "{order}");
        let long: Vec<String> = (0..65).map(|step| format!("s{step}:1")).collect();
        let long = long.join(",").parse::<Recipe>().unwrap_err();
        assert_eq!(long, "a recipe has at most 64 turns");
    }
}
