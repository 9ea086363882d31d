//! The measurements of a run: durations in microseconds from the intended start, shares, and
//! counts.
//!
//! - `message_latency`: intended start of a send → seen by the first of its recipients, by any path.
//! - `later_latency`: intended start of a send → seen by each of its recipients after the first.
//! - `break_wait`: intended start of a break → answered, with the time for which the answer was held.
//! - `admission_wait`: intended start of a call that registers, by a user that is no participant → its
//!   first answer as one. One that a user gave up is `unserved`.
//! - `queue_wait`, `stick_wait`: intended start of the call → the user learns of the match or the
//!   grant. A wait that is still open when the run ends counts with its length so far, and is
//!   `unfinished`. A wait that ended in another way is `unserved`, and no value: the user left the
//!   queue, reset its claim, left the room, forgot its handle or vanished; an operator removed the
//!   claimant or closed the room; or the user was away, which ends a claim. A refused one is in
//!   `refused`.
//! - `request_latency`: any call but a `check` and a break, intended start → answered. A call without an answer
//!   counts with its length until its client gave it up, or until the end.
//! - `commit_latency`: as the world reports it.
//! - `bytes_per_message`: the bytes that a model must read for each delivered message: its text,
//!   the frame of its line, and the answers and other events that it read since the previous message.
//! - `stick_turns`, `matches`: the number of turns, in each room, or matches of each user who asked
//!   for one.
//! - `unanswered`: calls that had no answer when their client gave them up, or when the run ended.
//! - `left_out`: users that called, and never became participants.

pub mod distribution;
mod groups;
mod open;
mod shares;
mod verdict;

use std::collections::BTreeMap;

use chat_types::Time;

pub(crate) use self::distribution::Measurements;
use self::groups::Groups;
pub(crate) use self::groups::Sample;
use self::open::{OpenCall, Waits};
use self::shares::Shares;
use sim_model::history::{ClientEvent, DeliveryPath, Observer, Record, RunEvent, WorldRecord};
use sim_model::messages_in_flight::{MessagesInFlight, Moment};
use sim_model::outcome::{Counts, LetOffResult, START, Seek, UserWaits, Worst};
use sim_model::plan::{Metric, Plan};
use sim_model::protocol::{
    Agent, Body, CallId, Code, Command, Epoch, Event, InboxEvent, LostRange, Membership, Op,
    OpKind, Outcome, Reply, Response, Room, StickLoss, WasWaiting, Who,
};

pub(crate) use self::open::stuck;
pub(crate) use self::verdict::is_met;
pub use self::verdict::judged_by_thresholds;

/// Bytes that frame a message: its room, number, sender and fence.
const MESSAGE_FRAME: u64 = 32;

/// Bytes of the line that tells any other event.
const EVENT_LINE: u64 = 48;

/// Bytes of an answer to `check` besides its events: who and where one is, and what to do next.
const CHECK_ANSWER: u64 = 120;

/// Microseconds in a millisecond, as results are given in milliseconds.
pub(crate) const MICROS: f64 = 1_000.0;

/// Measures the records of one world; those of several seeds are merged.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    measured: Measurements,
    groups: Groups,
    /// Those since they were last taken, if anyone takes them.
    samples: Option<Vec<Sample>>,
    in_flight: MessagesInFlight,
    users: Vec<Waits>,
    merged_users: u64,
    turns: Shares,
    matches: Shares,
    /// When the run healed, and the calls until then.
    healed: Option<(Time, CallCounts)>,
    /// Users that never got in, by the code of their last refusal, or `unanswered`.
    pub left_out: BTreeMap<&'static str, u64>,
    /// The counts of messages as their senders and receivers observed them. They are of one run.
    pub(crate) counts: Counts,
    /// The most times that any user was overtaken during one wait in the queue.
    overtaken: u64,
    worst_in_line: Worst,
    worst_claim: Worst,
    queue_waits: UserWaits,
    stick_waits: UserWaits,
    refusals: BTreeMap<&'static str, u64>,
    /// The users that did not do all of their flow for a reason that is no fault.
    pub let_off: LetOffResult,
    /// The calls of any kind.
    pub calls: CallCounts,
    /// The number of calls without an answer.
    pub unanswered: u64,
    retries: u64,
}

/// Numbers of calls, without retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls that users intended to make.
    pub offered: u64,
    /// Calls that were answered.
    pub answered: u64,
}

impl Observer for Metrics {
    fn observe(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Client(record) => self.record_client(record),
            RunEvent::World(at, WorldRecord::Ended) => self.end_waits(at),
            RunEvent::World(at, WorldRecord::Healed) => {
                self.healed.get_or_insert((at, self.calls));
            }
            RunEvent::Committed(took) => self.measured.of(Metric::CommitLatency).record(took.0),
            RunEvent::Arrived(agent, persona) => self.groups.arrive(agent, persona),
            RunEvent::World(..)
            | RunEvent::Network(..)
            | RunEvent::Fault(..)
            | RunEvent::Server(..)
            | RunEvent::Cluster(..) => {}
        }
    }
}

impl Metrics {
    fn record_client(&mut self, record: &Record<'_>) {
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
            ClientEvent::Called {
                call, op, intended, ..
            } => self.record_call(record, (call, op), intended),
            ClientEvent::Answered {
                call,
                op,
                intended,
                outcome,
                ..
            } => self.answered(record, (call, op), intended, outcome),
            ClientEvent::Retried { call, why, .. } => self.record_retry(record.agent, call, why),
            ClientEvent::Abandoned { call, op } => self.record_abandoned(record, call, op),
            ClientEvent::Stuck { waiting_for } => {
                self.ran_out(record.agent, record.at, waiting_for)
            }
            ClientEvent::Forgot { .. } => self.gave_up(record),
            ClientEvent::Vanished => {
                self.gave_up(record);
                self.waits(record.agent).is_done = true;
            }
            ClientEvent::Finished { cut_short } => {
                self.waits(record.agent).is_done = !cut_short;
                self.let_off.cut_short += u64::from(cut_short);
            }
            ClientEvent::StreamOpened => self.waits(record.agent).disconnected_at = None,
            ClientEvent::StreamClosed => {
                let waits = self.waits(record.agent);
                waits.disconnected_at.get_or_insert(record.at);
            }
            ClientEvent::AnsweredAgain { .. } | ClientEvent::Drained => {}
        }
    }

    /// No measurements yet of a run of this plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            groups: Groups::of(plan),
            ..Self::default()
        }
    }

    /// No measurements yet; each is kept until [`Metrics::take_samples`].
    pub(crate) fn sampled() -> Self {
        Self {
            samples: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Offered and answered calls per second while users arrived, which is until the heal; over the
    /// whole run until `now` if it never healed. They are of one run.
    #[must_use]
    pub fn calls_each_second(&self, now: Time) -> (f64, f64) {
        let (ended, calls) = self.healed.unwrap_or((now, self.calls));
        let each_second = |n: u64| n as f64 * 1e6 / ended.since(START).0.max(1) as f64;
        (each_second(calls.offered), each_second(calls.answered))
    }

    /// The number of refused calls so far.
    pub(crate) fn refused(&self) -> u64 {
        self.refusals.values().sum()
    }

    /// The measurements since the last call.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        let samples = self.samples.as_mut();
        samples.map(std::mem::take).unwrap_or_default()
    }

    fn measure(&mut self, sample: Sample) {
        self.measured.add(sample);
        self.groups.add(sample);
        if let Some(samples) = &mut self.samples {
            samples.push(sample);
        }
    }

    /// Adds the measurements of another seed's run. Its users count as different users.
    pub fn merge(&mut self, other: &Self) {
        self.measured.merge(&other.measured);
        self.groups.merge(&other.groups);
        self.merged_users += other.merged_users + other.users.len() as u64;
        self.turns.merge(&other.turns);
        self.matches.merge(&other.matches);
        for (mine, theirs) in [
            (&mut self.left_out, &other.left_out),
            (&mut self.refusals, &other.refusals),
        ] {
            for (why, times) in theirs {
                *mine.entry(why).or_default() += times;
            }
        }
        self.overtaken = self.overtaken.max(other.overtaken);
        self.worst_in_line.take(other.worst_in_line);
        self.worst_claim.take(other.worst_claim);
        self.queue_waits.merge(&other.queue_waits);
        self.stick_waits.merge(&other.stick_waits);
        self.let_off.alone += other.let_off.alone;
        self.let_off.cut_short += other.let_off.cut_short;
        self.calls.offered += other.calls.offered;
        self.calls.answered += other.calls.answered;
        self.unanswered += other.unanswered;
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
        agent.item_of(&mut self.users)
    }

    fn record_call(&mut self, record: &Record<'_>, (call, op): (CallId, &Op), intended: Time) {
        self.calls.offered += 1;
        self.counts.attempted += u64::from(speaks(op));
        let waits = self.waits(record.agent);
        waits.called = true;
        waits.calls.push(OpenCall::of(call, op, intended));
        if record.user.is_none() && op.kind().registers() {
            waits.at_door_since.get_or_insert(intended);
        }
        if let Op::Command(Command::EnterQueue { .. }) = op {
            waits.in_line_since.get_or_insert(intended);
        } else if let Op::Command(
            Command::TalkingStick { room, .. } | Command::Speak { room, .. },
        ) = *op
        {
            let ended = waits.record_claim(room, intended);
            self.count_unserved(Metric::StickWait, ended, record.at);
        } else if let OpKind::Reset | OpKind::LeaveChat = op.kind() {
            self.stop_claiming(record);
        }
    }

    fn stop_claiming(&mut self, record: &Record<'_>) {
        let waits = self.waits(record.agent);
        waits.holds = false;
        let ended = waits.give_up_claim();
        self.count_unserved(Metric::StickWait, ended, record.at);
    }

    /// The number of users.
    pub(crate) fn users(&self) -> u64 {
        self.merged_users + self.users.len() as u64
    }

    /// The sender meant to send a message then, as its answer says now.
    fn sent(&mut self, room: Room, room_seq: u64, by: Moment) {
        let early = self.in_flight.sent(room, room_seq, by);
        for (index, reader) in early.into_iter().enumerate() {
            self.delivered(room, by, reader, index == 0);
        }
    }

    /// A recipient saw a message.
    fn seen(&mut self, room: Room, room_seq: u64, by: Moment) {
        if let Some((sent, is_first)) = self.in_flight.seen(room, room_seq, by) {
            self.delivered(room, sent, by, is_first);
        }
    }

    fn delivered(&mut self, room: Room, sent: Moment, (reader, at): Moment, is_first: bool) {
        let (agent, since) = sent;
        let what = match is_first {
            true => Metric::MessageLatency,
            false => Metric::LaterLatency,
        };
        self.measure(Sample {
            recipient: Some(reader),
            room: Some(room),
            ..Sample::of(what, agent, (since, at))
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
        self.calls.answered += 1;
        let is_unsure = self.end_call(record, call, outcome);
        if op.kind() == OpKind::Check {
            self.waits(agent).bytes += CHECK_ANSWER;
        }
        match outcome {
            Ok(Response::Done(Reply::Waiting { .. })) => self.waits(agent).matches.ask(intended),
            Ok(Response::Done(Reply::Matched { room, .. })) => {
                let waits = self.waits(agent);
                waits.matches.ask(intended);
                // The answer says that this call led to the match.
                waits.in_line_since.get_or_insert(intended);
                self.matched(record, *room);
                self.waits(agent).in_line_since = None;
            }
            Ok(Response::Done(Reply::LeftQueue {
                left: WasWaiting::Yes,
            })) => {
                let since = self.waits(agent).in_line_since.take();
                self.count_unserved(Metric::QueueWait, since, at);
            }
            Ok(Response::Done(Reply::Sent { room, room_seq, .. })) => {
                if op.kind() == OpKind::Push {
                    self.waits(agent).holds = false;
                }
                self.counts.accepted += 1;
                self.sent(*room, room_seq.0, (agent, intended));
            }
            Ok(Response::Done(Reply::Stick {
                room, place, epoch, ..
            })) => {
                let waits = self.waits(agent);
                waits.locate_claim(*room, epoch.0);
                if waits.claim.is_some_and(|(of, _)| of == *room) && !waits.asked {
                    waits.asked = true;
                    waits.turns_in(*room).ask(intended);
                }
                if op.kind() == OpKind::Speak {
                    // It is tried when its turn comes.
                    waits.message_waits_in = Some(*room);
                    self.counts.attempted -= 1;
                } else if *place == 0 {
                    self.granted(record, *room, *epoch);
                }
            }
            Ok(Response::Done(_) | Response::Read(_) | Response::Streaming) => {}
            Err(refusal) => {
                // The last attempt was refused as retryable; an earlier one may have been accepted.
                if !(is_unsure && refusal.is_retryable()) {
                    self.counts.refused += u64::from(speaks(op));
                    *self.refusals.entry(refusal.code).or_default() += 1;
                    self.groups.refuse(agent, op.room().flatten(), intended);
                }
                let waits_on = refusal.is(Code::AlreadyWaiting) && record.user.is_some();
                if op.kind() == OpKind::EnterQueue && !waits_on {
                    self.waits(agent).in_line_since = None;
                }
                let claims = matches!(op.kind(), OpKind::TalkingStick | OpKind::Speak);
                if claims && !self.waits(agent).asked {
                    self.waits(agent).give_up_claim();
                }
            }
        }
    }

    /// A match in this room was reported. Returns since when the user waited, if this ended a wait.
    fn matched(&mut self, record: &Record<'_>, room: Room) -> Option<Time> {
        let since = self.waits(record.agent).record_match(room)?;
        self.waited(record, None, since);
        Some(since)
    }

    /// A grant of the room's stick was reported, which may have ended a wait.
    fn granted(&mut self, record: &Record<'_>, room: Room, epoch: Epoch) {
        if let Some(since) = self.waits(record.agent).record_grant(room, epoch.0) {
            self.waited(record, Some(room), since);
        }
    }

    /// This user's wait since then ended: in the queue, or for the stick of a room.
    fn waited(&mut self, record: &Record<'_>, room: Option<Room>, since: Time) {
        let took = record.at.since(since);
        let waits = &mut self.users[record.agent.0 as usize];
        let (what, waited, worst) = match room {
            None => (Metric::QueueWait, &mut waits.queue, &mut self.worst_in_line),
            Some(_) => (Metric::StickWait, &mut waits.stick, &mut self.worst_claim),
        };
        waited.add(took);
        worst.take(Worst {
            figure: took.0,
            user: record.user,
        });
        self.measure(Sample {
            room,
            ..Sample::of(what, record.agent, (since, record.at))
        });
    }

    fn gave_up(&mut self, record: &Record<'_>) {
        let agent = record.agent;
        let waits = self.waits(agent);
        waits.disconnected_at.get_or_insert(record.at);
        if let Some((room, epoch)) = waits.granted.filter(|_| waits.holds) {
            waits.left_with = Some((room, epoch, record.user));
        }
        waits.excuse_claim();
        let since = waits.in_line_since.take();
        if since.is_some() && waits.matches.asked > waits.matches.had {
            waits.matches.asked -= 1;
        }
        waits.matched_in = None;
        self.count_unserved(Metric::QueueWait, since, record.at);
        let since = self.waits(agent).at_door_since.take();
        self.count_unserved(Metric::AdmissionWait, since, record.at);
        self.stop_claiming(record);
    }

    /// Processes the part of a gap about one room. A wait ends when its user learns of its end.
    fn record_gap(&mut self, record: &Record<'_>, lost: &LostRange) {
        if lost.you == Some(Membership::Matched) {
            self.matched(record, lost.room);
        }
        let Some(stick) = lost.stick else { return };
        let (StickLoss::Granted(epoch) | StickLoss::Released(epoch) | StickLoss::Expired(epoch)) =
            stick;
        self.granted(record, lost.room, epoch);
        self.waits(record.agent).holds = matches!(stick, StickLoss::Granted(_));
    }

    fn record_event(&mut self, record: &Record<'_>, event: InboxEvent<'_>, sent_at: Time) {
        let (at, agent) = (record.at, record.agent);
        if let InboxEvent::Event(event) = event
            && let Body::Message { text, .. } = &event.body
        {
            let framed = MESSAGE_FRAME + text.len() as u64;
            let bytes = std::mem::take(&mut self.waits(agent).bytes) + framed;
            self.measured.of(Metric::BytesPerMessage).record(bytes);
            self.counts.delivered += 1;
            return self.seen(event.room, event.room_seq.0, (agent, at));
        }
        self.waits(agent).bytes += EVENT_LINE;
        match event {
            InboxEvent::Gap(gap) => {
                for lost in &gap.rooms {
                    self.counts.gapped += lost.messages;
                    self.record_gap(record, lost);
                }
            }
            InboxEvent::Event(event) => self.record_change(record, event, sent_at),
        }
    }

    /// Processes an event that is no message.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other event ends a wait")]
    fn record_change(&mut self, record: &Record<'_>, event: &Event, sent_at: Time) {
        let (at, room, waits) = (record.at, event.room, self.waits(record.agent));
        let mine = |user: &Who| record.user == Some(user.id);
        match &event.body {
            Body::Found(_) => {
                if let Some(since) = self.matched(record, room) {
                    self.waits(record.agent).last_in_line = Some((since, sent_at.min(at)));
                }
            }
            Body::StickGranted { user, epoch, .. } if mine(user) => {
                // The message follows its grant.
                if waits.message_waits_in.take_if(|of| *of == room).is_some() {
                    self.counts.attempted += 1;
                    self.counts.accepted += 1;
                    self.sent(room, event.room_seq.0 + 1, (record.agent, event.at));
                }
                self.granted(record, room, *epoch);
            }
            Body::StickReleased { user, epoch } | Body::StickExpired { user, epoch }
                if mine(user) =>
            {
                waits.holds &= waits.granted != Some((room, epoch.0));
            }
            Body::Away(user) | Body::Back(user) if mine(user) => waits.lost_claim(room),
            Body::Muted { user, .. } | Body::Kicked { user, .. } if mine(user) => {
                self.claim_ended(record, room);
            }
            Body::Closed { .. } => self.claim_ended(record, room),
            _ => {}
        }
    }

    /// An operator ended the claim of the user in this room, if there is one.
    fn claim_ended(&mut self, record: &Record<'_>, room: Room) {
        let ended = self.waits(record.agent).end_claim(room);
        self.count_unserved(Metric::StickWait, ended, record.at);
    }
}

/// Whether the call sends a message.
pub(crate) const fn speaks(op: &Op) -> bool {
    matches!(op.kind(), OpKind::Send | OpKind::Speak | OpKind::Push)
}

#[cfg(test)]
pub(crate) mod tests;
