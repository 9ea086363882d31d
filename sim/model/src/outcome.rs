//! Results of runs: the findings of judges, and all that reports show of one run, of many, of an
//! exploration, of an exhaustive search, of a shrunk failure, of a measured server.
//!
//! They are pure data: runs produce them, reports show them, and neither depends on the other.

mod calibration;
mod charts;
mod coverage;
mod exhausted;
mod exploration;
mod progress;
mod ran;
mod result;
mod shrunk;
mod sometimes;
mod summary;
mod timeline;
mod verdict;
mod worst;

use serde::Serialize;

pub use calibration::{Away, Block, Calibration, Spread, Stage, Takes, Trips};
pub use charts::{Charts, Curve, UserWait, UserWaits};
pub use coverage::{Coverage, OUT_OF_REACH};
pub use exhausted::{
    Action, Counterexample, Exhausted, Judged, PathStep, Searched, TinyCall, TinyWorld, Watched,
    user_letter,
};
pub use exploration::{
    Covered, Effort, ExplorationResult, FLAT, FailureResult, HuntResult, Mix, Trial, WorstTrial,
};
pub use progress::{LiveNow, Progress, ProgressNow};
pub use ran::{Ran, RanUser, START, Waiting};
pub use result::{
    FairnessResult, LiveResult, MetricResult, Repro, Requests, RestResult, RunResult, ShrunkResult,
    StageResult, Starts, Stuck, ThresholdResult, Verdict,
};
pub use shrunk::{Notes, Shrunk, Size};
pub use sometimes::{Point, Tally};
pub use summary::{FailingSeed, Summary};
pub use timeline::{Mark, Timeline};
pub use verdict::{Evidence, class_of, is_judged, is_silent, judge, unreached, worst};
pub use worst::{Seek, Worst};

/// The property that a panicking run violates: the core's own checks failed.
pub const PANIC: &str = "panic";

/// Messages, counted by senders and receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Sends and pushes that clients intended.
    pub attempted: u64,
    /// Accepted ones.
    pub accepted: u64,
    /// Refused ones.
    pub refused: u64,
    /// Ones without an answer.
    pub unanswered: u64,
    /// Messages received, counted for each receiver.
    pub delivered: u64,
    /// Accepted messages that a receiver should have received and did not.
    pub lost: u64,
    /// Messages not received, but covered by a `gap`.
    pub gapped: u64,
    /// Messages received again under another `seq`.
    pub duplicated: u64,
    /// Messages received out of their room's order.
    pub reordered: u64,
    /// Messages received that were never sent.
    pub phantom: u64,
    /// Calls, of any kind, that were skipped because the user had no handle. A flow ends at the
    /// first.
    pub left_out: u64,
}

/// Whether a property is judged in the safety or in the liveness phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing bad happens.
    Safety,
    /// Something good happens in time, once the faults are healed.
    Liveness,
    /// A metric meets its threshold.
    Threshold,
}

/// One property's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PropertyResult {
    /// Whether it held; none if it was never exercised or cannot be judged.
    pub held: Option<bool>,
    /// The number of comparisons that could have violated it.
    pub checks: u64,
    /// The number of comparisons that were not possible, because a deciding fact is unknown. Only
    /// live runs have any.
    pub unjudged: u64,
    /// Its class.
    #[serde(skip)]
    pub class: Class,
}

/// A violated property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// The property's name.
    pub property: String,
    /// The time of the violation, in milliseconds of virtual time.
    pub at_ms: f64,
    /// The users concerned, as `user_7`.
    pub users: Vec<String>,
    /// A sentence that describes it.
    pub detail: String,
    /// The seed of the run.
    pub seed: u64,
}
