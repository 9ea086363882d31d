//! What runs come to: what judges find, and all that reports show of one run, of many, of an
//! exploration, an exhaustive search, a failure that was shrunk, a server that was measured.
//!
//! All of it is data. Runs fill it in, reports show it, and neither knows the other.

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

use chat_types::Span;
use serde::{Serialize, Serializer};

use crate::protocol::{Room, User};

pub use crate::names::Class;
pub use calibration::{Away, Block, Calibration, Spread, Stage, Takes, Trips};
pub use charts::{Charts, Curve, UserWait, UserWaits};
pub use coverage::{Coverage, OUT_OF_REACH};
pub use exhausted::{
    Action, Ask, Counterexample, Exhausted, Judged, PathStep, Searched, TinyWorld, Watched,
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

/// The property of a run that broke off: what the core's own checks find.
pub const PANIC: &str = "panic";

/// Messages, counted as their senders and receivers saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Sends and pushes that clients meant to make.
    pub attempted: u64,
    /// Those answered with success.
    pub accepted: u64,
    /// Those answered with a refusal.
    pub refused: u64,
    /// Those never answered.
    pub unanswered: u64,
    /// Messages seen, once for each receiver.
    pub delivered: u64,
    /// Accepted, owed to somebody, and never seen there.
    pub lost: u64,
    /// Not seen, but told by a `gap`.
    pub gapped: u64,
    /// Seen again under another `seq`.
    pub duplicated: u64,
    /// Seen out of their room's order.
    pub reordered: u64,
    /// Seen, but never sent.
    pub phantom: u64,
    /// Calls, of any kind, that users without a handle passed over. A flow ends at the first.
    pub left_out: u64,
}

/// One property's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PropertyResult {
    /// Whether it held; none when it was never exercised or cannot be judged.
    pub held: Option<bool>,
    /// How many times something could have broken it.
    pub checks: u64,
    /// How many comparisons could not be made, since a fact that decides them is not known. Only
    /// live runs leave any.
    pub unjudged: u64,
    /// What kind of property it is.
    #[serde(skip)]
    pub class: Class,
}

/// A property broken.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Violation {
    /// The property's name.
    pub property: String,
    /// When it showed, in virtual time.
    #[serde(rename = "at_ms", serialize_with = "as_milliseconds")]
    pub at: Span,
    /// The users concerned, as `user_7`.
    pub users: Vec<User>,
    /// One sentence that says what happened.
    pub detail: String,
    /// The seed whose run showed it.
    pub seed: u64,
    /// What the sentence is about.
    #[serde(skip)]
    pub subject: Subject,
}

/// What a violation is about, for those that draw it or compare it with others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// What it has in common with violations of the same cause.
    pub cause: String,
    /// The participants that play a part in it, beside those concerned.
    pub others: Vec<User>,
    /// The rooms in which it happened.
    pub rooms: Vec<Room>,
    /// The event that it is about, by its place in its room.
    pub place: Option<(Room, u64)>,
}

fn as_milliseconds<S: Serializer>(at: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.0 as f64 / 1_000.0)
}

impl Violation {
    /// A run that broke off with these words. Its cause is the words without the figures in them.
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
