//! What an exhaustive search came to: each tiny world with its states, and the path that breaks a
//! property, if there is one.

mod action;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::{Class, PANIC, PropertyResult, Verdict, Violation};

pub use self::action::{Action, Ask, user_letter};

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// Which world.
    pub world: TinyWorld,
    /// Steps of the paths that are gone on from.
    pub depth: u32,
    /// States known.
    pub states: u64,
}

/// A tiny world that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TinyWorld {
    /// All are registered and nobody waits: they enter the line, are paired, talk and part.
    Line,
    /// All are in one named room, whose stick they claim, speak under, and lose.
    Room,
}

impl TinyWorld {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Line, Self::Room];

    /// Its name, as options and results write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Room => "room",
        }
    }
}

impl fmt::Display for TinyWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the search of one world came to.
#[derive(Clone, Debug, Serialize)]
pub struct Searched {
    /// Which world.
    pub world: TinyWorld,
    /// With how many users.
    pub users: u8,
    /// To which depth.
    pub depth: u32,
    /// With how many things gone wrong at most.
    pub faults: u8,
    /// Different states.
    pub states: u64,
    /// Of them, those first reached by so many steps.
    pub by_depth: Vec<u64>,
    /// Steps tried.
    pub transitions: u64,
    /// Steps that led to a state that was known.
    pub merged: u64,
    /// Steps that changed nothing.
    pub unchanged: u64,
    /// How often each property was judged, and whether it held.
    pub tally: Judged,
    /// The first violation, by one of the shortest paths.
    pub counterexample: Option<Counterexample>,
    /// Real time, in milliseconds.
    pub wall_ms: f64,
}

/// What the searches of one command came to: the object that its JSON file shows.
#[derive(Clone, Debug, Serialize)]
pub struct Exhausted {
    /// How many users each world had.
    pub users: u8,
    /// To which depth.
    pub depth: u32,
    /// With how many things gone wrong at most.
    pub faults: u8,
    /// What it comes to.
    pub verdict: Verdict,
    /// The exit code that says so.
    pub exit_code: u8,
    /// Real time, in milliseconds.
    pub wall_ms: f64,
    /// World by world.
    pub worlds: Vec<Searched>,
}

/// A path that breaks a property.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    /// What happens, step by step.
    pub steps: Vec<PathStep>,
    /// What is violated, the first first; empty when the server panicked instead.
    pub violations: Vec<Violation>,
    /// Who each user is to the server, in the order of their letters: `user_1`, or nobody.
    pub users: Vec<Option<String>>,
    /// Whether all is well until the inboxes are drained at the end.
    pub shows_at_drain: bool,
    /// The file in which the path is written as a scenario, if the simulator then shows the same.
    pub scenario: Option<String>,
}

/// One step of a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathStep {
    /// What happens.
    #[serde(serialize_with = "as_words")]
    pub action: Action,
    /// What its client is answered, in words; none when it is not a call that is answered.
    pub answer: Option<String>,
}

fn as_words<S: Serializer>(action: &Action, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(action)
}

impl Counterexample {
    /// The property that is violated.
    #[must_use]
    pub fn property(&self) -> &str {
        self.violations
            .first()
            .map_or(PANIC, |violation| &violation.property)
    }

    /// The sentence that says what is wrong.
    #[must_use]
    pub fn sentence(&self) -> &str {
        self.violations
            .first()
            .map_or("the server panicked", |violation| &violation.detail)
    }
}

/// How often each property was judged, over all paths. A path's checks count once for each state at
/// which it was judged, which is what its prefixes were judged at too.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Judged(BTreeMap<&'static str, PropertyResult>);

impl Judged {
    /// Each property by name, and what came of it.
    pub fn properties(&self) -> impl Iterator<Item = (&'static str, &PropertyResult)> {
        self.0.iter().map(|(name, result)| (*name, result))
    }

    /// A path was judged by this property.
    pub fn add(&mut self, name: &'static str, result: &PropertyResult) {
        let known = self.0.entry(name).or_insert(PropertyResult {
            held: None,
            checks: 0,
            unjudged: 0,
            class: Class::Safety,
        });
        known.checks += result.checks;
        known.held = match (known.held, result.held) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => None,
        };
    }

    /// Adds what other paths were judged to be.
    pub fn merge(&mut self, other: &Self) {
        for (name, result) in &other.0 {
            self.add(name, result);
        }
    }

    /// A path was found broken.
    pub fn broken(&mut self, found: &Counterexample) {
        for (name, result) in &mut self.0 {
            if found.violations.iter().any(|one| one.property == *name) {
                result.held = Some(false);
            }
        }
    }
}
