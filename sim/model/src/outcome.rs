//! Results of runs: the findings of judges, and all that reports show of one run, of many, of an
//! exploration, of an exhaustive search, of a shrunk failure, of a measured server.
//!
//! They are pure data: runs produce them, reports show them, and neither depends on the other.

mod calibration;
mod exhausted;
mod exploration;
mod groups;
mod milliseconds;
mod progress;
mod replayed;
mod result;
mod series;
mod sometimes;
mod summary;
mod verdict;

use chat_types::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::{Room, User};

pub use crate::names::Class;
pub use calibration::{
    Calibration, CalibrationBlock, CapacityTimes, NetworkTimes, RoundTrips, Spread, Stage,
};
pub use exhausted::{
    Action, Counterexample, Exhausted, Judged, PathStep, SearchProgress, Searched, TinyCall,
    TinyWorld, user_letter,
};
pub use exploration::{
    Effort, ExplorationCoverage, ExplorationResult, FLAT, FailureResult, HuntResult, Notes, Seek,
    Shrunk, Size, Trial, Worst, WorstTrial,
};
pub use groups::{BriefResult, GroupResult, GroupResults, MOST_GROUPS, RoomResult};
pub use progress::{Interrupt, LiveNow, Progress, ProgressNow};
pub use replayed::{BrokenInvariant, JournalRestart, JournalViolation, Replayed};
pub use result::{
    DisconnectedHolder, FairnessResult, LeastServed, LeftOutResult, LetOffResult, LiveResult,
    LostTarget, MetricResult, NemesisFailure, NemesisFault, NemesisResult, Repro, Requests,
    RestResult, RunResult, ShrunkResult, StageResult, Starts, Stuck, ThresholdResult, Verdict,
};
pub use series::{BucketFigures, Limit, ObservedFault, Series, Slow, UserRow};
pub use sometimes::{Coverage, OUT_OF_REACH, Point, Tally};
pub use summary::{
    Charts, Curve, FailingSeed, Mark, START, Summary, Timeline, UserOutcome, UserWait, UserWaits,
    Waiting, WorldOutcome,
};
pub use verdict::{
    GRAVEST_FIRST, INTERRUPTED, expects_refusals_at_the_door, is_judged, is_silent, judge,
    unreached, worst,
};

/// The property that a panicking run violates: the core's own checks failed.
pub const PANIC: &str = "panic";

/// Messages, counted by senders and receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
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
    pub skipped: u64,
}

/// One property's verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PropertyResult {
    /// Whether it held; none if it was never exercised or cannot be judged.
    pub held: Option<bool>,
    /// The number of comparisons that could have violated it.
    pub checks: u64,
    /// The number of comparisons that were not possible, because a deciding fact is unknown. Only
    /// live runs have any.
    pub unjudged: u64,
}

impl PropertyResult {
    /// Adds the result of another run: one violation breaks the property, one check exercises it.
    pub fn add(&mut self, other: &Self) {
        let exercised = [self.held, other.held].into_iter().flatten();
        self.held = exercised.reduce(|one, other| one && other);
        self.checks += other.checks;
        self.unjudged += other.unjudged;
    }
}

/// A violation of a property.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// The property's name.
    pub property: String,
    /// When it was found, in virtual time.
    #[serde(rename = "at_ms", with = "milliseconds")]
    #[schemars(with = "f64")]
    pub at: Span,
    /// The users concerned, as `user_7`.
    #[schemars(with = "Vec<String>")]
    pub users: Vec<User>,
    /// One sentence about what happened.
    pub detail: String,
    /// The seed of the run.
    pub seed: u64,
    /// The subjects of the sentence.
    #[serde(skip)]
    pub subject: Subject,
}

/// The subjects of a violation, for drawing it and for comparing it with others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// The text that violations of the same cause share.
    pub cause: String,
    /// Further participants of the violation, besides the affected ones.
    pub others: Vec<User>,
    /// The rooms of the violation.
    pub rooms: Vec<Room>,
    /// The event that it is about, by its position in its room.
    pub place: Option<(Room, u64)>,
    /// What the protocol prescribes, in words.
    pub predicted: String,
    /// What was seen in its place, in words.
    pub seen: String,
    /// When the prescribed was due, if that was before the violation was found.
    pub due: Option<Span>,
}

impl Violation {
    /// A run that panicked with this message. Its cause is the message without numbers.
    #[must_use]
    pub fn of_panic(words: &str, seed: u64) -> Self {
        Self {
            property: PANIC.to_owned(),
            at: Span::ZERO,
            users: Vec::new(),
            detail: format!("The run panicked: {words}"),
            seed,
            subject: Subject {
                cause: words.chars().filter(|c| !c.is_ascii_digit()).collect(),
                ..Subject::default()
            },
        }
    }
}
