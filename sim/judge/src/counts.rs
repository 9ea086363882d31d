//! Counts of messages as their senders and receivers observed them.

use std::collections::BTreeSet;

use sim_model::history::{Record, Retry, What};
use sim_model::outcome::Counts;
use sim_model::protocol::{Agent, Answer, CallId, Op, Outcome, Saw};

/// Counts the messages of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    counts: Counts,
    /// Calls with an unanswered earlier attempt, which may have taken effect.
    retried: BTreeSet<(Agent, CallId)>,
}

impl Messages {
    /// Processes what a client did or observed.
    pub(crate) fn record(&mut self, record: &Record<'_>) {
        match record.what {
            What::Called { op, .. } if speaks(op) => self.counts.attempted += 1,
            What::Retried {
                call,
                why: Retry::Silence | Retry::Dropped,
            } => {
                self.retried.insert((record.agent, call));
            }
            What::Answered {
                call, op, outcome, ..
            } => {
                let is_retried = self.retried.remove(&(record.agent, call));
                if speaks(op) {
                    self.answered(outcome, is_retried);
                }
            }
            What::Abandoned { call, .. } => {
                self.retried.remove(&(record.agent, call));
            }
            What::Received {
                saw, first: true, ..
            } => match saw {
                Saw::Message { .. } => self.counts.delivered += 1,
                Saw::Gap { rooms, .. } => {
                    self.counts.gapped += rooms.iter().map(|range| range.messages).sum::<u64>();
                }
                Saw::Found { .. }
                | Saw::Ended { .. }
                | Saw::PartnerAway { .. }
                | Saw::PartnerBack { .. }
                | Saw::Member { .. }
                | Saw::Stick { .. }
                | Saw::Moderation { .. } => {}
            },
            What::Called { .. }
            | What::Retried { .. }
            | What::Received { .. }
            | What::AnsweredAgain { .. }
            | What::StreamOpened
            | What::StreamClosed
            | What::Forgot
            | What::Vanished
            | What::Finished
            | What::Drained
            | What::Stuck { .. } => {}
        }
    }

    fn answered(&mut self, outcome: &Outcome, is_retried: bool) {
        match outcome {
            Ok(Answer::Sent { .. }) => self.counts.accepted += 1,
            // The last attempt was refused as retryable; an earlier one may have been accepted.
            Err(refusal) if refusal.is_retryable() && is_retried => {}
            Ok(_) | Err(_) => self.counts.refused += 1,
        }
    }

    /// The counts at the end of the run.
    pub(crate) fn finish(mut self) -> Counts {
        let settled = self.counts.accepted + self.counts.refused;
        self.counts.unanswered = self.counts.attempted.saturating_sub(settled);
        self.counts
    }
}

const fn speaks(op: &Op) -> bool {
    matches!(op, Op::Send { .. } | Op::Push { .. })
}
