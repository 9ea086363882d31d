//! The facts of a run before it is judged: its users, how far it got, and the points it reached.

use std::sync::Arc;

use chat_types::{Span, Time};

use super::{Tally, Timeline};

/// The instant at which every run begins: reports count from it.
pub const START: Time = Time(0);

/// One run of one seed that is over, whatever judged it.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The seed.
    pub seed: u64,
    /// The hash of every step.
    pub trace_hash: u64,
    /// When it ended.
    pub ended_at: Time,
    /// Everybody who came, in the order of their arrival.
    pub users: Vec<RanUser>,
    /// How many of them came as each persona, in the order of the scenario; empty for the steps
    /// form, whose users have no personas.
    pub by_persona: Vec<u64>,
    /// Calls, of any kind, that users without a handle passed over.
    pub left_out: u64,
    /// Events of the world handled.
    pub steps: u64,
    /// `sometimes` points and coverage.
    pub tally: Tally,
    /// When what happened.
    pub timeline: Timeline,
}

impl Ran {
    /// Time from first to last.
    #[must_use]
    pub fn span(&self) -> Span {
        self.ended_at.since(START)
    }
}

/// One user of a run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanUser {
    /// The virtual user's own name, such as `penpal#12`.
    pub name: Arc<str>,
    /// What keeps it from its end; none for one that is done or gone for good.
    pub waiting: Option<Waiting>,
}

/// What a user waits for, where it stands in its flow, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its place in the flow, such as `flow[1] await`.
    pub at: String,
    /// What it waits for, in words of the protocol: `message.received`, `the answer to push`.
    pub waiting_for: String,
    /// Since when.
    pub since: Time,
}
