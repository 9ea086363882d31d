//! What is unfinished at the end of a run: waits, and calls with unanswered attempts.

use chat_types::{Span, Time};

use super::Metrics;
use super::groups::{Measured, Sample};
use sim_model::history::{Record, Retry};
use sim_model::protocol::{Agent, CallId, Op, Room};

/// Two users in the queue who can be matched are matched within this time, as `queue_progress`
/// requires. A user is not the odd one out if another user waits but cannot be matched with it,
/// because of interests or a block: then both wait.
const MATCH_WITHIN: Span = Span::secs(5);

/// The event that ends a wait in the line.
const FOUND: &str = "chatroom.found";

/// What one virtual user waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenWait {
    /// A partner, in the queue, since this instant.
    Partner(Time),
    /// The stick of this room, since this instant.
    Stick(Room, Time),
}

impl Metrics {
    /// The run is over: each open wait counts with its length so far.
    pub(super) fn end_waits(&mut self, now: Time) {
        for (agent, user) in (0..).map(Agent).zip(&self.users) {
            let sample = |what, room, since| Sample {
                what,
                agent,
                room,
                since,
                took: now.since(since).0,
                open: true,
            };
            if let Some(since) = user.in_line_since {
                self.queue_wait.record_unfinished(now.since(since).0);
                self.groups.add(sample(Measured::QueueWait, None, since));
            }
            if let Some((room, since)) = user.open_claim() {
                self.stick_wait.record_unfinished(now.since(since).0);
                self.groups
                    .add(sample(Measured::StickWait, Some(room), since));
            }
        }
    }

    /// An `await` of this user timed out.
    pub(super) fn ran_out(&mut self, agent: Agent, at: Time, waiting_for: &str) {
        if waiting_for == FOUND {
            self.waits(agent).unmatched_at = Some(at);
        }
    }

    /// Whether this user's `await` of a match timed out while no other user was in the queue for as
    /// long as a match takes, so that there was no possible partner. Valid only at the end of the
    /// run, since other users may learn late that they were matched.
    pub(crate) fn is_odd_one_out(&self, agent: usize) -> bool {
        let Some(at) = self.users.get(agent).and_then(|user| user.unmatched_at) else {
            return false;
        };
        let from = Time(at.0.saturating_sub(MATCH_WITHIN.0));
        let mut others = self.users.iter().enumerate();
        !others.any(|(index, user)| index != agent && user.is_in_line(from, at))
    }

    /// What this user waits for: a partner or a stick.
    pub(crate) fn open_wait(&self, agent: usize) -> Option<OpenWait> {
        let user = self.users.get(agent)?;
        let claim = user.open_claim();
        let claim = claim.map(|(room, since)| OpenWait::Stick(room, since));
        claim.or(user.in_line_since.map(OpenWait::Partner))
    }

    /// A later attempt of a call left.
    pub(super) fn record_retry(&mut self, agent: Agent, call: CallId, why: Retry) {
        self.retries += 1;
        match why {
            Retry::Silence | Retry::Dropped => self.waits(agent).unsure_of(call),
            Retry::PutOff => {}
        }
    }

    /// The client cancelled the call. A user that was never registered does not wait in the queue.
    pub(super) fn record_abandoned(&mut self, record: &Record<'_>, call: CallId, op: &Op) {
        let waits = self.waits(record.agent);
        waits.take_unsure(call);
        if record.user.is_none() && matches!(op, Op::EnterQueue { .. }) {
            waits.in_line_since = None;
        }
    }
}
