//! How alert somebody's boss may be, as far as its answers tell.

use super::{HELD, Micros, Window};

/// The most alert that a boss is.
pub(super) const TOP: i64 = 5;

/// A level, and when it last really changed: at some time from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Guess {
    level: i64,
    changed: (Micros, Micros),
}

/// What bosses are like on this server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nature {
    /// How many of a hundred breaks are noticed.
    pub(super) alertness: u32,
    /// How long one level takes to go.
    pub(super) cooldown: Micros,
}

/// When the answer to a break may have left, going by how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// At once.
    pub(super) at_once: bool,
    /// Held back.
    pub(super) held: bool,
}

/// Every state in which the boss may be: one of them is its own.
#[derive(Clone, Debug)]
pub(super) struct Boss {
    nature: Nature,
    guesses: Vec<Guess>,
}

impl Boss {
    /// Somebody came within this time, and nobody watches yet.
    pub(super) fn fresh(nature: Nature, born: Window) -> Self {
        let calm = Guess {
            level: 0,
            changed: (born.from, born.to),
        };
        Self {
            nature,
            guesses: vec![calm],
        }
    }

    /// There may have been breaks, of whatever effect, up to this time.
    pub(super) fn doubt(&mut self, until: Micros) {
        let first = self.guesses.iter().map(|guess| guess.changed.0).min();
        let changed = (first.unwrap_or(0), until);
        self.guesses = (0..=TOP).map(|level| Guess { level, changed }).collect();
    }

    /// What a guess comes to at some time of this window.
    fn later(&self, guess: Guess, at: Window) -> impl Iterator<Item = Guess> {
        let cooldown = self.nature.cooldown;
        (0..=guess.level).filter_map(move |falls| {
            let level = guess.level - falls;
            let (mut first, mut last) = guess.changed;
            last = last.min(at.to - falls * cooldown);
            if level > 0 {
                first = first.max(at.from - (falls + 1) * cooldown + 1);
            }
            let changed = (first, last);
            (first <= last).then_some(Guess { level, changed })
        })
    }

    /// Which levels there may be at some time of this window.
    fn levels(&self, at: Window) -> Vec<i64> {
        let later = self.guesses.iter().flat_map(|guess| self.later(*guess, at));
        let mut levels: Vec<i64> = later.map(|guess| guess.level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// The guesses among these that agree with what was told, as they were before.
    fn agreeing(&self, guesses: &[Guess], at: Window, told: i64) -> Vec<Guess> {
        let agrees = |guess: &Guess| {
            let then = self.later(*guess, at).find(|then| then.level == told)?;
            // The level that was there before, with what is known of its time by now.
            Some(Guess {
                level: guess.level,
                changed: then.changed,
            })
        };
        guesses.iter().filter_map(agrees).collect()
    }

    /// The level was told, as of some time of this window.
    pub(super) fn read(&mut self, at: Window, told: i64) -> Result<(), String> {
        let left = self.agreeing(&self.guesses, at, told);
        if left.is_empty() {
            return Err(format!(
                "a boss of level {told} was told, where the breaks and cool-downs so far make {}",
                shown(&self.levels(at))
            ));
        }
        self.guesses = left;
        Ok(())
    }

    /// A break was taken within this window, and its answer told this level.
    pub(super) fn take(&mut self, window: Window, left: Left, told: i64) -> Result<(), String> {
        let mut outcomes = Vec::new();
        if left.at_once {
            let same = |guess: &Guess| guess.level < TOP && guess.level == told;
            outcomes.extend(self.rolled(window).into_iter().filter(same));
        }
        if left.held {
            let rolled = Window {
                to: window.to - HELD,
                ..window
            };
            let told_at = Window {
                from: window.from + HELD,
                ..window
            };
            let mut alarmed = self.rolled(rolled);
            alarmed.retain(|guess| guess.level == TOP);
            outcomes.extend(self.agreeing(&alarmed, told_at, told));
        }
        if outcomes.is_empty() {
            return Err(format!(
                "a break was answered with a boss of level {told} {}, where the boss before was \
                 of level {}",
                match left {
                    Left { held: false, .. } => "at once",
                    Left { at_once: false, .. } => "20 s later",
                    Left { .. } => "some time later",
                },
                shown(&self.levels(window))
            ));
        }
        self.guesses = merged(outcomes);
        Ok(())
    }

    /// What may be after a break within this window.
    fn rolled(&self, window: Window) -> Vec<Guess> {
        let alertness = self.nature.alertness;
        let mut after = Vec::new();
        for guess in &self.guesses {
            for before in self.later(*guess, window) {
                let at_top = before.level == TOP;
                if at_top || alertness < 100 {
                    // As before, so that falls are counted from the same change as before.
                    after.push(stepped(*guess, before, self.nature.cooldown));
                }
                if !at_top && alertness > 0 {
                    after.push(Guess {
                        level: before.level + 1,
                        changed: (window.from, window.to),
                    });
                }
            }
        }
        after
    }
}

/// The same state told from its last fall, which is a real change.
fn stepped(guess: Guess, before: Guess, cooldown: Micros) -> Guess {
    let falls = guess.level - before.level;
    let by = falls * cooldown;
    Guess {
        level: before.level,
        changed: (before.changed.0 + by, before.changed.1 + by),
    }
}

/// One guess for each level, as wide as all of that level together.
fn merged(guesses: Vec<Guess>) -> Vec<Guess> {
    let mut merged: Vec<Guess> = Vec::new();
    for guess in guesses {
        match merged.iter_mut().find(|known| known.level == guess.level) {
            Some(known) => {
                known.changed.0 = known.changed.0.min(guess.changed.0);
                known.changed.1 = known.changed.1.max(guess.changed.1);
            }
            None => merged.push(guess),
        }
    }
    merged
}

fn shown(levels: &[i64]) -> String {
    let words: Vec<String> = levels.iter().map(ToString::to_string).collect();
    if words.is_empty() {
        return "none".to_owned();
    }
    words.join(" or ")
}
