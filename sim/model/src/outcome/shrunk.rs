//! The result of shrinking.

use super::Violation;
use crate::plan::Plan;

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
    /// The comment for each fault.
    pub faults: Vec<String>,
}
