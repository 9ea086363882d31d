//! Counts of messages as their senders and receivers observed them.

use std::collections::BTreeSet;

use sim_model::history::{ClientEvent, Record, Retry};
use sim_model::outcome::Counts;
use sim_model::protocol::{Agent, Body, CallId, InboxEvent, Op, OpKind, Outcome, Reply, Response};

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
        if let ClientEvent::Called { op, .. } = record.what {
            self.counts.attempted += u64::from(speaks(op));
        } else if let ClientEvent::Retried {
            call,
            why: Retry::Silence | Retry::Dropped,
            ..
        } = record.what
        {
            self.retried.insert((record.agent, call));
        } else if let ClientEvent::Answered {
            call, op, outcome, ..
        } = record.what
        {
            let is_retried = self.retried.remove(&(record.agent, call));
            if speaks(op) {
                self.record_answer(outcome, is_retried);
            }
        } else if let ClientEvent::Abandoned { call, .. } = record.what {
            self.retried.remove(&(record.agent, call));
        } else if let ClientEvent::Received {
            event, first: true, ..
        } = record.what
        {
            if let Some(Body::Message { .. }) = event.body() {
                self.counts.delivered += 1;
            } else if let InboxEvent::Gap(gap) = event {
                self.counts.gapped += gap.rooms.iter().map(|range| range.messages).sum::<u64>();
            }
        }
    }

    fn record_answer(&mut self, outcome: &Outcome, is_retried: bool) {
        match outcome {
            Ok(Response::Done(Reply::Sent { .. })) => self.counts.accepted += 1,
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

/// Whether the call sends a message.
pub(crate) const fn speaks(op: &Op) -> bool {
    matches!(op.kind(), OpKind::Send | OpKind::Push)
}
