//! What the auditor knows of time: whether the server is up, and by when it must have committed.

use chat_types::{Span, Time};
use sim_model::plan::{FaultKind, Plan};

/// The longest pause of the server after an append that failed.
const LONGEST_PAUSE: Span = Span::secs(1);

/// An append may be in flight, and one may form, when something is proposed: a third is room.
const APPENDS: u64 = 3;

/// The server's clock and the state of its journal.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    is_up: bool,
    jumped_at: Time,
    /// Since when nothing hinders a commit; none while the fate of an append is unknown.
    able_since: Option<Time>,
    /// Whether the last append failed.
    fails: bool,
    /// The longest that the virtual disk takes for three appends.
    commits_within: Span,
    max_batch: u64,
}

impl Clock {
    pub(super) fn new(plan: &Plan) -> Self {
        let slow = plan.faults.iter().map(|fault| match fault.kind {
            FaultKind::SlowDisk { factor, .. } => u64::from(factor),
            FaultKind::Crash { .. }
            | FaultKind::Partition { .. }
            | FaultKind::SlowReaders { .. }
            | FaultKind::FailDisk { .. }
            | FaultKind::Suspend { .. }
            | FaultKind::ClockJump { .. }
            | FaultKind::LoseReplies
            | FaultKind::Operator(_) => 1,
        });
        let longest = plan.capacity.commit.max() * slow.max().unwrap_or(1);
        Self {
            is_up: true,
            jumped_at: Time(0),
            able_since: Some(Time(0)),
            fails: false,
            commits_within: Span(longest * APPENDS) + Span::millis(1),
            max_batch: u64::from(plan.server.max_batch),
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        self.is_up
    }

    pub(super) const fn jumped_at(&self) -> Time {
        self.jumped_at
    }

    /// What was proposed before this instant, with `proposed` calls in all, is committed by `at`.
    pub(super) fn committed_by(&self, at: Time, proposed: u64) -> Option<Time> {
        let within = self.commits_within.times(1 + proposed / self.max_batch);
        let latest = Time(at.0.checked_sub(within.0)?);
        (self.able_since? < latest).then_some(latest)
    }

    /// Whether a call may be refused because the journal cannot be written.
    pub(super) const fn is_in_trouble(&self) -> bool {
        self.fails || self.able_since.is_none()
    }

    pub(super) fn committed(&mut self, at: Time) {
        if self.is_in_trouble() {
            self.able_since = Some(at);
            self.fails = false;
        }
    }

    pub(super) fn append_failed(&mut self, at: Time) {
        self.fails = true;
        self.able_since = Some(at + LONGEST_PAUSE);
    }

    pub(super) fn append_unknown(&mut self) {
        self.able_since = None;
    }

    pub(super) fn jumped(&mut self, at: Time) {
        self.jumped_at = at;
        let pause = if self.fails {
            LONGEST_PAUSE
        } else {
            Span::ZERO
        };
        self.able_since = self.able_since.map(|since| since.max(at + pause));
    }

    pub(super) fn crashed(&mut self) {
        self.is_up = false;
    }

    pub(super) fn restarted(&mut self, at: Time) {
        self.is_up = true;
        self.fails = false;
        self.able_since = Some(at);
    }
}
