//! What there is to say of several seeds together, beside their result.

use super::{Charts, RunResult, Timeline};

/// A seed that showed a violation, and its trace hash (none if its run broke off).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingSeed {
    /// The seed.
    pub seed: u64,
    /// Its own trace hash.
    pub trace_hash: Option<u64>,
}

/// What there is to say of a run, beside its result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The result.
    pub result: RunResult,
    /// Users as each persona, over all seeds, in the order of the scenario.
    pub by_persona: Vec<u64>,
    /// When what happened, over all seeds.
    pub timeline: Timeline,
    /// The seeds that showed a violation, the first 1,000 of them.
    pub failing: Vec<FailingSeed>,
    /// What there is to draw, over all seeds.
    pub charts: Charts,
}
