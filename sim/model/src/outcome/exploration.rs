//! What an exploration came to: each failure once, the worst that was found, what was covered.

use serde::{Deserialize, Serialize};

use super::{Class, Seek, Worst};
use crate::recipe::Recipe;

/// Which schedules are explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// The plain one only.
    Plain,
    /// Races only.
    Race,
    /// Now one, now the other.
    #[default]
    Mixed,
}

impl Mix {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Race, Self::Mixed];

    /// As the command line writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Race => "race",
            Self::Mixed => "mixed",
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// How many came before it.
    pub index: u64,
    /// Which scenario.
    pub scenario: usize,
    /// What its configuration is drawn from.
    pub draw: u64,
    /// What all else is drawn from.
    pub seed: u64,
    /// Where it leaves the history of its seed.
    pub recipe: Recipe,
}

/// What exploring cost up to some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// Trials, or families.
    pub seeds: u64,
    /// Runs, branches among them.
    pub runs: u64,
    /// Events of the virtual worlds handled.
    pub steps: u64,
}

/// What an exploration came to, as reports show it.
#[derive(Clone, Debug)]
pub struct ExplorationResult {
    /// The first seed.
    pub first: u64,
    /// Which schedules were drawn from.
    pub mix: Mix,
    /// The names of the scenarios, in the order in which trials number them.
    pub scenarios: Vec<String>,
    /// Trials taken; guided, families.
    pub tried: u64,
    /// Runs, branches among them.
    pub runs: u64,
    /// Events of the virtual worlds handled.
    pub steps: u64,
    /// What was violated, once for each property and cause.
    pub failures: Vec<FailureResult>,
    /// The worst, if a search was asked for.
    pub hunt: Option<HuntResult>,
    /// The `sometimes` points that no trial reached.
    pub unreached: Vec<&'static str>,
    /// What it cost up to the first failure, that trial or family included.
    pub first_failure: Option<Effort>,
    /// What was covered, if it was guided.
    pub covered: Option<Covered>,
    /// 1 if a safety property was violated, else 3 if a liveness property was, else 0.
    pub exit_code: u8,
}

/// A violation, and all others of the same property and cause.
#[derive(Clone, Debug)]
pub struct FailureResult {
    /// The property's name, or `panic`.
    pub property: String,
    /// Its kind.
    pub class: Class,
    /// What all of them have in common.
    pub cause: String,
    /// The first one's sentence.
    pub detail: String,
    /// The first trial that showed it.
    pub trial: Trial,
    /// What that trial's configuration drew, a few words each.
    pub drew: Vec<String>,
    /// That trial's trace hash; none if it broke off.
    pub trace_hash: Option<u64>,
    /// How many trials showed it.
    pub trials: u64,
}

/// What a search for the worst came to.
#[derive(Clone, Debug)]
pub struct HuntResult {
    /// What was sought.
    pub seek: Seek,
    /// The worst of each configuration, the worst first.
    pub worst: Vec<WorstTrial>,
}

/// The worst that one configuration showed.
#[derive(Clone, Debug)]
pub struct WorstTrial {
    /// The trial that showed it.
    pub trial: Trial,
    /// What its configuration drew, a few words each.
    pub drew: Vec<String>,
    /// What it showed.
    pub worst: Worst,
}

/// What a guided exploration covered, in all sessions of its corpus.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Covered {
    /// How many families there were.
    pub families: u64,
    /// How many facets of the chat's state were entered.
    pub facets: usize,
    /// How many recipes the corpus holds.
    pub recipes: usize,
    /// Whether nothing new was entered for [`FLAT`] families in a row.
    pub flat: bool,
}

/// Coverage is flat when so many families in a row enter nothing new.
pub const FLAT: u64 = 1_000;
