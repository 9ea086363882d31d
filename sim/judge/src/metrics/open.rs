//! What is unfinished at the end of a run: waits, and calls with unanswered attempts.

use chat_types::{Span, Time};

use super::Metrics;
use super::groups::{Measured, Sample};
use super::waits::Absence;
use sim_model::history::{Record, Retry};
use sim_model::protocol::{Agent, CallId, Op, Room, User};

/// Two users in the queue who can be matched are matched within this time, as `queue_progress`
/// requires. A user is not the odd one out if another user waits but cannot be matched with it,
/// because of interests or a block: then both wait.
const MATCH_WITHIN: Span = Span::secs(5);

/// The events that end a wait in the line, and one for the stick.
const FOUND: &str = "chatroom.found";
const GRANTED: &str = "stick.granted";

/// What one virtual user waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenWait {
    /// A partner, in the queue, since this instant.
    Partner(Time),
    /// A stick.
    Stick(OpenClaim),
}

/// A claim that no grant has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenClaim {
    pub(crate) room: Room,
    pub(crate) since: Time,
    pub(crate) holder: Option<Holder>,
}

/// The holder of a stick, if it is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) agent: usize,
    /// The id by which it holds the stick; none if it is the present one.
    pub(crate) user: Option<User>,
    /// When its connection ended.
    pub(crate) since: Time,
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
        } else if waiting_for == GRANTED {
            let claim = self.open_claim(agent.0 as usize);
            self.waits(agent).timed_out = claim;
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

    /// What this user waits for, or waited for when its `await` timed out: a partner or a stick.
    pub(crate) fn open_wait(&self, agent: usize) -> Option<OpenWait> {
        let user = self.users.get(agent)?;
        let claim = user.timed_out.or_else(|| self.open_claim(agent));
        claim
            .map(OpenWait::Stick)
            .or(user.in_line_since.map(OpenWait::Partner))
    }

    fn open_claim(&self, agent: usize) -> Option<OpenClaim> {
        let (room, since) = self.users.get(agent)?.open_claim()?;
        let holder = self.disconnected_holder(room);
        Some(OpenClaim {
            room,
            since,
            holder,
        })
    }

    /// The user with the latest grant of this room's stick, if it is disconnected and holds it.
    fn disconnected_holder(&self, room: Room) -> Option<Holder> {
        let grants = self.users.iter().enumerate();
        let grants = grants.filter_map(|(agent, user)| Some((agent, user.last_grant(room)?)));
        let (agent, (_, absence)) = grants.max_by_key(|(_, (epoch, _))| *epoch)?;
        let Absence { user, since } = absence?;
        Some(Holder { agent, user, since })
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
