//! The facts of a run before it is judged: its users, its end, and the points it reached.

use std::sync::Arc;

use chat_types::{Span, Time};

use super::{Tally, Timeline};
use crate::protocol::User;
use crate::user_name::UserName;

/// The instant at which every run begins; reports count from it.
pub const START: Time = Time(0);

/// A finished run of one seed, without its judgement.
#[derive(Clone, Debug)]
pub struct WorldOutcome {
    /// The seed.
    pub seed: u64,
    /// The hash of every step.
    pub trace_hash: u64,
    /// When it ended.
    pub ended_at: Time,
    /// All users, in the order of their arrival.
    pub users: Vec<UserOutcome>,
    /// The number of users of each persona, in the order of the scenario; empty for the steps form,
    /// whose users have no personas.
    pub by_persona: Vec<u64>,
    /// Calls, of any kind, that were skipped because the user had no handle.
    pub skipped: u64,
    /// The number of steps.
    pub steps: u64,
    /// `sometimes` points and coverage.
    pub tally: Tally,
    /// Arrivals and faults over time.
    pub timeline: Timeline,
}

impl WorldOutcome {
    /// The virtual time from the first to the last event.
    #[must_use]
    pub fn span(&self) -> Span {
        self.ended_at.since(START)
    }
}

/// One user of a finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserOutcome {
    /// Its name in the scenario, such as `penpal#12`.
    pub name: Arc<str>,
    /// Its last id on the server.
    pub user: Option<User>,
    /// What it still waits for; `None` if it is done or disconnected permanently.
    pub waiting: Option<Waiting>,
}

impl UserOutcome {
    /// The name by which it is shown.
    #[must_use]
    pub fn shown(&self) -> UserName {
        UserName::new(self.user, &self.name)
    }
}

/// What a user waits for, at which step, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The step of its flow, such as `flow[1] await`.
    pub at: String,
    /// What it waits for, in the protocol's terms: `message.received`, `the answer to push`.
    pub waiting_for: String,
    /// The beginning of the wait.
    pub since: Time,
}
