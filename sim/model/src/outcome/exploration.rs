//! The results of an exploration, each failure once, with the worst trials and the coverage; and of
//! shrinking.

use chat_types::Span;
use serde::Serialize;

use super::{Class, Violation};
use crate::plan::Plan;
use crate::protocol::User;
use crate::recipe::Recipe;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Its number, from 0.
    pub index: u64,
    /// The index of its scenario.
    pub scenario: usize,
    /// Its seed, from which its configuration is drawn, too.
    pub seed: u64,
    /// Its turns.
    pub recipe: Recipe,
}

/// The effort of exploring up to some point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// The number of trials, or of families.
    pub seeds: u64,
    /// The number of runs, including branches.
    pub runs: u64,
    /// The number of steps.
    pub steps: u64,
}

/// The result of an exploration, as reports show it.
#[derive(Clone, Debug, Default)]
pub struct ExplorationResult {
    /// The first seed.
    pub first: u64,
    /// The names of the scenarios, in the order in which trials number them.
    pub scenarios: Vec<String>,
    /// The number of trials; of families, if it was guided.
    pub tried: u64,
    /// The virtual time of all trials; none if it was guided, as branches share their beginnings.
    pub virtual_span: Option<Span>,
    /// The number of runs, including branches.
    pub runs: u64,
    /// The number of steps.
    pub steps: u64,
    /// The failures, one for each property and cause.
    pub failures: Vec<FailureResult>,
    /// The worst trials, if a search was requested.
    pub hunt: Option<HuntResult>,
    /// The `sometimes` points that no trial reached.
    pub unreached: Vec<&'static str>,
    /// The effort until the first failure, including that trial or family.
    pub first_failure: Option<Effort>,
    /// The coverage, if it was guided.
    pub covered: Option<ExplorationCoverage>,
    /// 1 if a safety property was violated, else 3 if a liveness property was, else 0.
    pub exit_code: u8,
}

/// A violation, with the count of all with the same property and cause.
#[derive(Clone, Debug)]
pub struct FailureResult {
    /// The property's name, or `panic`.
    pub property: String,
    /// The property's class.
    pub class: Class,
    /// The cause.
    pub cause: String,
    /// The sentence of the first violation.
    pub detail: String,
    /// The first trial with it.
    pub trial: Trial,
    /// The drawn values of that trial's configuration, a few words each.
    pub drew: Vec<String>,
    /// The trace hash of that trial; none if it panicked.
    pub trace_hash: Option<u64>,
    /// The number of trials with it.
    pub trials: u64,
}

/// The result of a search for the worst.
#[derive(Clone, Debug)]
pub struct HuntResult {
    /// The searched quantity.
    pub seek: Seek,
    /// The worst of each configuration, the worst first.
    pub worst: Vec<WorstTrial>,
}

/// The worst result of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstTrial {
    /// The trial.
    pub trial: Trial,
    /// The drawn values of its configuration, a few words each.
    pub drew: Vec<String>,
    /// Its result.
    pub worst: Worst,
}

/// The coverage of a guided exploration, over all sessions of its corpus.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ExplorationCoverage {
    /// The number of families.
    pub families: u64,
    /// The number of facets of the chat's state that were entered.
    pub facets: usize,
    /// The number of recipes in the corpus.
    pub recipes: usize,
    /// Whether nothing new was entered for [`FLAT`] families in a row.
    pub flat: bool,
}

/// Coverage is flat after this many consecutive families without anything new.
pub const FLAT: u64 = 1_000;

chat_types::listed! {
    /// A kind of starvation.
    Seek {
        /// A wait for a match, from the request to its answer or event.
        QueueWait "queue-wait",
        /// A wait for a stick, from the request to its answer or event.
        StickWait "stick-wait",
        /// Being bypassed in the queue or in the line of a stick.
        Overtaking "overtaking",
    }
}

/// The worst case of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// The wait in microseconds until it ended well, or the number of times bypassed.
    pub figure: u64,
    /// The user, if it is known.
    pub user: Option<User>,
}

impl Worst {
    /// Keeps the worse of the two; of equal ones, the earlier.
    pub fn take(&mut self, other: Self) {
        if other.figure > self.figure {
            *self = other;
        }
    }
}

/// The size of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Users who came.
    pub users: u64,
    /// Steps of the steps form, or of flows; of a run with phases, events of the virtual world.
    pub steps: u64,
    /// Faults of the plan.
    pub faults: u64,
}

/// The result of shrinking.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest plan, in the steps form, which runs with its own seed.
    pub plan: Plan,
    /// The comments in its file.
    pub notes: Notes,
    /// Its violation.
    pub violation: Violation,
    /// Its trace hash; none if its run panics.
    pub trace_hash: Option<u64>,
    /// The size before shrinking.
    pub before: Size,
    /// The size after shrinking.
    pub after: Size,
    /// The number of candidates that were run.
    pub runs: u64,
    /// Whether the time was up before all passes were done.
    pub cut_short: bool,
}

/// The comments in a scenario's file.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Sentences at the top.
    pub head: Vec<String>,
    /// The comment for each step; empty if there is none.
    pub steps: Vec<String>,
}
