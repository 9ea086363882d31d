//! What shrinking came to.

use super::Violation;
use crate::plan::Plan;

/// A run's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Users who came.
    pub users: u64,
    /// Steps of the steps form; of a scenario with phases, events of the virtual world.
    pub steps: u64,
    /// Faults of the plan.
    pub faults: u64,
}

/// What shrinking came to.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest plan found, in the steps form; run with its own seed.
    pub plan: Plan,
    /// What its file says in comments.
    pub notes: Notes,
    /// What it violates.
    pub violation: Violation,
    /// Its hash; none if its run breaks off.
    pub trace_hash: Option<u64>,
    /// The size of what was shrunk.
    pub before: Size,
    /// The size of what is left.
    pub after: Size,
    /// How many candidates were run.
    pub runs: u64,
    /// Whether the time was up before nothing helped any more.
    pub cut_short: bool,
}

/// What is said about a plan in comments of its scenario.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Sentences at the top.
    pub head: Vec<String>,
    /// To each step of the steps form; empty where there is nothing to say.
    pub steps: Vec<String>,
    /// To each fault.
    pub faults: Vec<String>,
}
