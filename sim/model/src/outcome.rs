//! What judges find: violations, counts of messages, and the verdict on each property.

use serde::Serialize;

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

/// Whether a property is judged in the safety or in the liveness phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing bad happens.
    Safety,
    /// Something good happens in time, once the faults are healed.
    Liveness,
    /// A figure keeps to its threshold.
    Threshold,
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// The property's name.
    pub property: String,
    /// When it showed, in milliseconds of virtual time.
    pub at_ms: f64,
    /// The users concerned, as `user_7`.
    pub users: Vec<String>,
    /// One sentence that says what happened.
    pub detail: String,
    /// The seed whose run showed it.
    pub seed: u64,
}
