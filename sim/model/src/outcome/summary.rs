//! The result of several seeds together, with details for reports.

use super::{Charts, RunResult, Timeline};

/// A seed with a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingSeed {
    /// The seed.
    pub seed: u64,
    /// Its trace hash; none if its run panicked.
    pub trace_hash: Option<u64>,
}

/// The result of a run, with details for reports.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The result.
    pub result: RunResult,
    /// The number of users of each persona, over all seeds, in the order of the scenario.
    pub by_persona: Vec<u64>,
    /// Arrivals and faults over time, over all seeds.
    pub timeline: Timeline,
    /// The first 1,000 seeds with a violation.
    pub failing: Vec<FailingSeed>,
    /// The charts, over all seeds.
    pub charts: Charts,
}
