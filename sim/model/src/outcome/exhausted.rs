//! The result of an exhaustive search: the states of each tiny world, and the path that violates a
//! property, if there is one.

mod action;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::{PANIC, PropertyResult, Verdict, Violation};

pub use self::action::{Action, TinyCall, user_letter};

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchProgress {
    /// The world.
    pub world: TinyWorld,
    /// The length of the paths being continued.
    pub depth: u32,
    /// The number of known states.
    pub states: u64,
}

chat_types::listed! {
    /// A tiny world.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "snake_case")]
    TinyWorld {
        /// All users are registered and idle: they enter the queue, are matched, talk and part.
        #[default]
        Queue "queue",
        /// All users are in one named room: they claim its stick, speak under it, and lose it.
        Room "room",
    }
}

impl fmt::Display for TinyWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The result of one world's search.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Searched {
    /// The world.
    pub world: TinyWorld,
    /// The number of users.
    pub users: u8,
    /// The depth.
    pub depth: u32,
    /// The largest number of faults on a path.
    pub faults: u8,
    /// The number of distinct states.
    pub states: u64,
    /// The number of states first reached at each depth.
    pub by_depth: Vec<u64>,
    /// The number of steps tried.
    pub transitions: u64,
    /// The number of steps to a known state.
    pub merged: u64,
    /// The number of steps that changed nothing.
    pub unchanged: u64,
    /// The checks of each property, and whether it held.
    pub tally: Judged,
    /// The first violation, with a shortest path.
    pub counterexample: Option<Counterexample>,
    /// Real time, in milliseconds.
    pub wall_ms: f64,
}

/// The result of one command, as its JSON file shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Exhausted {
    /// The number of users in each world.
    pub users: u8,
    /// The depth.
    pub depth: u32,
    /// The largest number of faults on a path.
    pub faults: u8,
    /// The verdict.
    pub verdict: Verdict,
    /// Its exit code.
    pub exit_code: u8,
    /// Real time, in milliseconds.
    pub wall_ms: f64,
    /// The results of the worlds.
    pub worlds: Vec<Searched>,
}

impl Exhausted {
    /// The search was interrupted. A counterexample found before weighs more.
    pub fn interrupt(&mut self) {
        if self.verdict == Verdict::Pass {
            self.verdict = Verdict::Interrupted;
            self.exit_code = self.verdict.exit_code();
        }
    }
}

/// A path that violates a property.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counterexample {
    /// Its steps.
    pub steps: Vec<PathStep>,
    /// The violations, in the order of their discovery; empty if the server panicked.
    pub violations: Vec<Violation>,
    /// The participant of each user, in the order of their letters: `user_1`, or none.
    pub users: Vec<Option<String>>,
    /// Whether the violation shows only when the inboxes are drained at the end.
    pub shows_at_drain: bool,
    /// The file with the path as a scenario, if a run of it fails in the same way.
    pub scenario: Option<String>,
}

/// One step of a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathStep {
    /// The action.
    #[serde(serialize_with = "as_words")]
    pub action: Action,
    /// The client's answer in words; none if there is none.
    pub answer: Option<String>,
}

fn as_words<S: Serializer>(action: &Action, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(action)
}

impl Counterexample {
    /// The violated property.
    #[must_use]
    pub fn property(&self) -> &str {
        self.violations
            .first()
            .map_or(PANIC, |violation| &violation.property)
    }

    /// The sentence of the violation.
    #[must_use]
    pub fn sentence(&self) -> &str {
        self.violations
            .first()
            .map_or("the server panicked", |violation| &violation.detail)
    }
}

/// The checks of each property over all paths. A path's checks count once for each judged state,
/// including its prefixes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Judged(BTreeMap<&'static str, PropertyResult>);

impl Judged {
    /// Each property by name, with its result.
    pub fn properties(&self) -> impl Iterator<Item = (&'static str, &PropertyResult)> {
        self.0.iter().map(|(name, result)| (*name, result))
    }

    /// Adds the result of one path.
    pub fn add(&mut self, name: &'static str, result: &PropertyResult) {
        self.0.entry(name).or_default().add(result);
    }

    /// Adds the results of other paths.
    pub fn merge(&mut self, other: &Self) {
        for (name, result) in &other.0 {
            self.add(name, result);
        }
    }

    /// Adds a violation.
    pub fn broken(&mut self, found: &Counterexample) {
        for (name, result) in &mut self.0 {
            if found.violations.iter().any(|one| one.property == *name) {
                result.held = Some(false);
            }
        }
    }
}
