//! The measurements of a run: durations in microseconds from the intended start, shares, and
//! counts.
//!
//! - `message_latency`: intended start of a send → seen by the first of its recipients, by any path.
//! - `queue_wait`, `stick_wait`: intended start of the call → the user learns of the match or the
//!   grant. A wait
//!   that is still open when the run ends counts with its length so far, and is
//!   `unfinished`. A wait that ended in another way does not count: the user left the queue, reset
//!   its
//!   claim, left the room, forgot its handle or vanished; the server refused it; an operator
//!   removed
//!   the claimant or closed the room; or the user was away, which ends a claim.
//! - `request_latency`: any call but a `check`, intended start → answered.
//! - `commit_latency`: as the world reports it.
//! - `bytes_per_message`: the bytes that a model must read for each delivered message: its text,
//!   the frame of
//!   its line, and the answers and other events that it read since the previous message.
//! - `stick_turns`, `matches`: the number of turns or matches of each user who asked for one.

mod charts;
pub mod distribution;
mod figures;
mod groups;
mod open;
mod rooms;
mod shares;
pub mod throughput;
mod verdict;
mod waits;

use chat_types::{Span, Time};

use self::distribution::Distribution;
use self::groups::{Groups, Measured, Sample};
use self::shares::Shares;
use self::waits::Waits;
use sim_model::history::{ClientEvent, DeliveryPath, Observer, Record, WorldRecord};
use sim_model::messages_in_flight::{MessagesInFlight, Times};
use sim_model::outcome::{Seek, UserWaits, Worst};
use sim_model::plan::Plan;
use sim_model::protocol::{
    Agent, Answer, CallId, InboxEvent, LostRange, Membership, Op, Outcome, Room, StickChange,
    StickLoss,
};

pub(crate) use self::open::{OpenClaim, OpenWait};
pub use self::verdict::judged_by_thresholds;

/// Bytes that frame a message: its room, number, sender and fence.
const MESSAGE_FRAME: u64 = 32;

/// Bytes of the line that tells any other event.
const EVENT_LINE: u64 = 48;

/// Bytes of an answer to `check` besides its events: who and where one is, and what to do next.
const CHECK_ANSWER: u64 = 120;

/// Microseconds in a millisecond, as results are given in milliseconds.
const MICROS: f64 = 1_000.0;

/// Measures the records of one world; those of several seeds are merged.
#[derive(Clone, Debug)]
pub struct Metrics {
    message_latency: Distribution,
    queue_wait: Distribution,
    stick_wait: Distribution,
    request_latency: Distribution,
    commit_latency: Distribution,
    bytes_per_message: Distribution,
    groups: Groups,
    in_flight: MessagesInFlight,
    users: Vec<Waits>,
    merged_users: u64,
    merged_turns: Shares,
    merged_matches: Shares,
    /// The most times that any user was overtaken during one wait in the queue.
    overtaken: u64,
    worst_in_line: Worst,
    worst_claim: Worst,
    queue_waits: UserWaits,
    stick_waits: UserWaits,
    refusals: Vec<(&'static str, u64)>,
    calls: u64,
    retries: u64,
}

impl Observer for Metrics {
    fn observe(&mut self, record: &Record<'_>) {
        match record.what {
            ClientEvent::Received {
                event,
                path,
                first,
                sent_at,
                ..
            } => {
                if first {
                    self.record_event(record, event, sent_at);
                } else if path == DeliveryPath::Check {
                    self.waits(record.agent).bytes += EVENT_LINE;
                }
            }
            ClientEvent::Called { op, intended, .. } => {
                self.record_call(record.agent, op, intended)
            }
            ClientEvent::Answered {
                call,
                op,
                intended,
                outcome,
                ..
            } => self.answered(record, (call, op), intended, outcome),
            ClientEvent::Retried { call, why } => self.record_retry(record.agent, call, why),
            ClientEvent::Abandoned { call, op } => self.record_abandoned(record, call, op),
            ClientEvent::Stuck { waiting_for } => {
                self.ran_out(record.agent, record.at, waiting_for)
            }
            ClientEvent::Forgot { .. } | ClientEvent::Vanished => self.gave_up(record),
            ClientEvent::StreamOpened => self.waits(record.agent).disconnected_at = None,
            ClientEvent::StreamClosed => self.waits(record.agent).disconnect(record.at),
            ClientEvent::AnsweredAgain { .. } | ClientEvent::Finished | ClientEvent::Drained => {}
        }
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        if let WorldRecord::Ended { at } = *record {
            self.end_waits(at);
        }
    }

    fn observe_commit(&mut self, took: Span) {
        self.commit_latency.record(took.0);
    }

    fn observe_arrival(&mut self, agent: Agent, persona: usize) {
        self.groups.arrive(agent, persona);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// No measurements yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            message_latency: Distribution::new(),
            queue_wait: Distribution::new(),
            stick_wait: Distribution::new(),
            request_latency: Distribution::new(),
            commit_latency: Distribution::new(),
            bytes_per_message: Distribution::new(),
            groups: Groups::default(),
            in_flight: MessagesInFlight::default(),
            users: Vec::new(),
            merged_users: 0,
            merged_turns: Shares::default(),
            merged_matches: Shares::default(),
            overtaken: 0,
            worst_in_line: Worst::default(),
            worst_claim: Worst::default(),
            queue_waits: UserWaits::default(),
            stick_waits: UserWaits::default(),
            refusals: Vec::new(),
            calls: 0,
            retries: 0,
        }
    }

    /// No measurements yet of a run of this plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            groups: Groups::of(plan),
            ..Self::new()
        }
    }

    /// The distribution of each duration or size, by metric, with its unit.
    fn distributions(&self) -> [(&'static str, &Distribution, f64); 6] {
        [
            ("message_latency", &self.message_latency, MICROS),
            ("request_latency", &self.request_latency, MICROS),
            ("queue_wait", &self.queue_wait, MICROS),
            ("stick_wait", &self.stick_wait, MICROS),
            ("commit_latency", &self.commit_latency, MICROS),
            ("bytes_per_message", &self.bytes_per_message, 1.0),
        ]
    }

    /// Adds the measurements of another seed's run. Its users count as different users.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.message_latency, &other.message_latency),
            (&mut self.queue_wait, &other.queue_wait),
            (&mut self.stick_wait, &other.stick_wait),
            (&mut self.request_latency, &other.request_latency),
            (&mut self.commit_latency, &other.commit_latency),
            (&mut self.bytes_per_message, &other.bytes_per_message),
        ] {
            mine.merge(theirs);
        }
        self.groups.merge(&other.groups);
        self.merged_users += other.merged_users + other.users.len() as u64;
        self.merged_turns.merge(&other.turns());
        self.merged_matches.merge(&other.matches());
        self.overtaken = self.overtaken.max(other.overtaken);
        self.worst_in_line.take(other.worst_in_line);
        self.worst_claim.take(other.worst_claim);
        self.queue_waits.merge(&other.queue_waits);
        self.stick_waits.merge(&other.stick_waits);
        for &(code, count) in &other.refusals {
            self.refuse(code, count);
        }
        self.calls += other.calls;
        self.retries += other.retries;
    }

    /// The longest wait, or the most times overtaken, of any user.
    #[must_use]
    pub fn worst(&self, of: Seek) -> Worst {
        match of {
            Seek::QueueWait => self.worst_in_line,
            Seek::StickWait => self.worst_claim,
            Seek::Overtaking => Worst {
                figure: self.overtaken,
                user: None,
            },
        }
    }

    fn waits(&mut self, agent: Agent) -> &mut Waits {
        let index = agent.0 as usize;
        if index >= self.users.len() {
            self.users.resize_with(index + 1, Waits::default);
        }
        &mut self.users[index]
    }

    fn record_call(&mut self, agent: Agent, op: &Op, intended: Time) {
        self.calls += 1;
        if let Op::EnterQueue { .. } = op {
            self.waits(agent).in_line_since.get_or_insert(intended);
        } else if let Op::TalkingStick { room, .. } = *op {
            self.waits(agent).record_claim(room, intended);
        } else if let Op::Reset { .. } | Op::LeaveChat { .. } = op {
            self.stop_claiming(agent);
        }
    }

    fn stop_claiming(&mut self, agent: Agent) {
        let waits = self.waits(agent);
        waits.holds = false;
        waits.give_up_claim();
    }

    fn learn(&mut self, room: Room, room_seq: u64, times: Times) {
        let Some(learned) = self.in_flight.learn(room, room_seq, times) else {
            return;
        };
        self.message_latency.record(learned.took);
        self.groups.add(Sample {
            what: Measured::MessageLatency,
            agent: learned.sender,
            room: Some(room),
            since: learned.since,
            took: learned.took,
            open: false,
        });
    }

    fn answered(
        &mut self,
        record: &Record<'_>,
        (call, op): (CallId, &Op),
        intended: Time,
        outcome: &Outcome,
    ) {
        let (at, agent) = (record.at, record.agent);
        let unsure = self.waits(agent).take_unsure(call);
        if matches!(op, Op::Check { .. }) {
            self.waits(agent).bytes += CHECK_ANSWER;
        } else if !matches!(op, Op::Break { .. }) {
            // The answer to a break may be delayed: `breaks_rules` judges by how long.
            self.request_latency.record(at.since(intended).0);
        }
        match outcome {
            Ok(Answer::Waiting { .. }) => self.waits(agent).matches.asked += 1,
            Ok(Answer::Matched { room, .. }) => {
                let waits = self.waits(agent);
                waits.matches.asked += 1;
                // The answer says that this call led to the match.
                waits.in_line_since.get_or_insert(intended);
                if let Some(since) = waits.record_match(*room) {
                    self.waited_in_line(record, since);
                } else {
                    waits.in_line_since = None;
                }
            }
            Ok(Answer::LeftQueue { left: true }) => {
                self.waits(agent).in_line_since = None;
            }
            Ok(Answer::Sent { room, room_seq, .. }) => {
                if matches!(op, Op::Push { .. }) {
                    self.waits(agent).holds = false;
                }
                self.learn(*room, *room_seq, Times::Sent(agent, intended));
            }
            Ok(Answer::Stick {
                room, place, epoch, ..
            }) => {
                let waits = self.waits(agent);
                waits.locate_claim(*room, *epoch);
                if waits.claim.is_some() && !waits.asked {
                    waits.asked = true;
                    waits.turns.asked += 1;
                }
                if *place == 0
                    && let Some(since) = waits.record_grant(*room, *epoch)
                {
                    self.waited_for_stick(record, *room, since);
                }
            }
            Ok(
                Answer::LeftQueue { left: false }
                | Answer::LoggedIn { .. }
                | Answer::LeftChat
                | Answer::Draft { .. }
                | Answer::OnBreak { .. }
                | Answer::Mood { .. }
                | Answer::Done
                | Answer::Read { .. }
                | Answer::History { .. }
                | Answer::Members { .. },
            ) => {}
            Err(refusal) => {
                if !(unsure && refusal.is_retryable()) {
                    self.refuse(refusal.code, 1);
                    self.groups.refuse(agent, op.room().flatten(), intended);
                }
                let waits_on = refusal.code == "already_waiting" && record.user.is_some();
                if matches!(op, Op::EnterQueue { .. }) && !waits_on {
                    self.waits(agent).in_line_since = None;
                }
                if matches!(op, Op::TalkingStick { .. }) && !self.waits(agent).asked {
                    self.waits(agent).give_up_claim();
                }
            }
        }
    }

    fn refuse(&mut self, code: &'static str, times: u64) {
        match self.refusals.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += times,
            None => self.refusals.push((code, times)),
        }
    }

    /// Processes the part of a gap about one room. A wait ends when its user learns of its end.
    fn record_gap(&mut self, record: &Record<'_>, lost: &LostRange) {
        let agent = record.agent;
        if lost.you == Some(Membership::Matched)
            && let Some(since) = self.waits(agent).record_match(lost.room)
        {
            self.waited_in_line(record, since);
        }
        let Some(stick) = lost.stick else { return };
        let (StickLoss::Granted(epoch) | StickLoss::Released(epoch) | StickLoss::Expired(epoch)) =
            stick;
        if let Some(since) = self.waits(agent).record_grant(lost.room, epoch) {
            self.waited_for_stick(record, lost.room, since);
        }
        self.waits(agent).holds = matches!(stick, StickLoss::Granted(_));
    }

    fn record_event(&mut self, record: &Record<'_>, event: &InboxEvent<'_>, sent_at: Time) {
        let (at, agent) = (record.at, record.agent);
        let waits = self.waits(agent);
        match *event {
            InboxEvent::Message {
                room,
                room_seq,
                text,
                ..
            } => {
                let bytes = std::mem::take(&mut waits.bytes) + MESSAGE_FRAME + text.len() as u64;
                self.bytes_per_message.record(bytes);
                self.learn(room, room_seq, Times::Seen(at));
                return;
            }
            InboxEvent::Found { room, .. } => {
                if let Some(since) = waits.record_match(room) {
                    waits.last_in_line = Some((since, sent_at.min(at)));
                    self.waited_in_line(record, since);
                }
            }
            InboxEvent::Stick {
                room, user, change, ..
            } if record.user == Some(user) => self.stick_changed(record, room, change),
            InboxEvent::Member {
                room, user, change, ..
            } if record.user == Some(user) => waits.came_or_went(room, change),
            InboxEvent::Moderation {
                room, user, act, ..
            } => waits.record_moderation(room, act, user.is_some() && user == record.user),
            InboxEvent::Gap { rooms, .. } => {
                for lost in rooms {
                    self.record_gap(record, lost);
                }
            }
            InboxEvent::Stick { .. }
            | InboxEvent::Ended { .. }
            | InboxEvent::PartnerAway { .. }
            | InboxEvent::PartnerBack { .. }
            | InboxEvent::Member { .. } => {}
        }
        self.waits(agent).bytes += EVENT_LINE;
    }

    fn stick_changed(&mut self, record: &Record<'_>, room: Room, change: StickChange) {
        let waits = self.waits(record.agent);
        match change {
            StickChange::Granted { epoch, .. } => {
                if let Some(since) = waits.record_grant(room, epoch) {
                    self.waited_for_stick(record, room, since);
                }
            }
            StickChange::Released { epoch } | StickChange::Expired { epoch } => {
                if waits.granted == Some((room, epoch)) {
                    waits.holds = false;
                }
            }
            StickChange::Claimed { .. } => {}
        }
    }

    /// This user's wait in the queue since then ended in a match.
    fn waited_in_line(&mut self, record: &Record<'_>, since: Time) {
        let (agent, user, took) = (record.agent, record.user, record.at.since(since));
        self.waits(agent).queue.add(took);
        self.queue_wait.record(took.0);
        let figure = took.0;
        self.worst_in_line.take(Worst { figure, user });
        self.groups.add(Sample {
            what: Measured::QueueWait,
            agent,
            room: None,
            since,
            took: took.0,
            open: false,
        });
    }

    /// This user's wait since then ended in a grant of the room's stick.
    fn waited_for_stick(&mut self, record: &Record<'_>, room: Room, since: Time) {
        let (agent, user, took) = (record.agent, record.user, record.at.since(since));
        self.waits(agent).stick.add(took);
        self.stick_wait.record(took.0);
        let figure = took.0;
        self.worst_claim.take(Worst { figure, user });
        self.groups.add(Sample {
            what: Measured::StickWait,
            agent,
            room: Some(room),
            since,
            took: took.0,
            open: false,
        });
    }

    fn gave_up(&mut self, record: &Record<'_>) {
        let agent = record.agent;
        let waits = self.waits(agent);
        waits.disconnect(record.at);
        if let Some((room, epoch)) = waits.granted.filter(|_| waits.holds) {
            waits.left_with = Some((room, epoch, record.user));
        }
        waits.in_line_since = None;
        waits.matched_in = None;
        waits.unsure.clear();
        self.stop_claiming(agent);
    }
}

#[cfg(test)]
mod tests;
