//! Hand-made histories that read as examples: who calls, who is answered what, who sees what.
//!
//! Each act takes a millisecond. A user's inbox is numbered by itself, and events carry the time
//! at which they are seen unless the story says otherwise.
#![allow(dead_code, reason = "each test file tells stories of its own kind")]

use std::sync::Arc;

use chat_core::{Config, Span, Time};
use sim::draw::{Quantiles, Ratio, Shape};
use sim::history::{Observer, Path, Record, Retry, What, WorldRecord};
use sim::metrics::Metrics;
use sim::names::PROPERTIES;
use sim::plan::{Capacity, Client, Network, Plan, Schedule, Workload};
use sim::properties::{Judge, Judgement};
use sim::protocol::{Agent, Answer, CallId, Op, Outcome, Presence, ReadBy, Room, Saw, Shown, User};
use sim::sometimes::{Sightings, Tally};

mod words;

pub(crate) use words::*;

/// The pair room of most stories.
pub(crate) const PAIR: Room = Room(1);
/// The named room of most stories.
pub(crate) const LOBBY: Room = Room(9);

/// Users by the order of their first act: `ANN` is `user_1`.
pub(crate) const ANN: Agent = Agent(0);
pub(crate) const BOB: Agent = Agent(1);
pub(crate) const CAT: Agent = Agent(2);
pub(crate) const DAN: Agent = Agent(3);

/// Who an agent is to the server.
pub(crate) fn user(agent: Agent) -> User {
    User(agent.0 + 1)
}

/// A call, to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    agent: Agent,
    id: CallId,
    at: Time,
}

/// One story.
pub(crate) struct Story {
    judge: Judge,
    metrics: Metrics,
    sightings: Sightings,
    now: Time,
    calls: Vec<Vec<Op>>,
    inboxes: Vec<u64>,
}

/// A plan that judges everything, of a server with its defaults and a network without faults.
pub(crate) fn plan() -> Plan {
    let none = Arc::new(Quantiles::new(Shape::Fixed(0)));
    Plan {
        name: "story".into(),
        about: String::new(),
        seed: 1,
        duration: Span::secs(60),
        liveness: Span::secs(60),
        server: Config::default(),
        capacity: Capacity {
            service: none.clone(),
            commit: none.clone(),
            queue: 4_096,
        },
        client: Client {
            timeout: Span::millis(500),
            backoff: 2,
            max: Span::secs(8),
            attempts: 8,
        },
        workload: Workload::Steps {
            users: Vec::new(),
            steps: Vec::new(),
        },
        network: Network {
            latency: none,
            loss: Ratio::NEVER,
            duplicate: Ratio::NEVER,
            stream_break: Ratio::NEVER,
        },
        schedule: Schedule::Plain,
        faults: Vec::new(),
        properties: PROPERTIES.to_vec(),
        expect_sometimes: Vec::new(),
        thresholds: Vec::new(),
    }
}

impl Story {
    /// A story under the default plan.
    pub(crate) fn new() -> Self {
        Self::under(&plan())
    }

    /// A story under a plan that differs.
    pub(crate) fn with(change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = plan();
        change(&mut plan);
        Self::under(&plan)
    }

    pub(crate) fn under(plan: &Plan) -> Self {
        Self {
            judge: Judge::new(plan),
            metrics: Metrics::new(plan),
            sightings: Sightings::default(),
            now: Time(1_000_000),
            calls: Vec::new(),
            inboxes: Vec::new(),
        }
    }

    /// Time passes.
    pub(crate) fn later(&mut self, span: Span) {
        self.now += span;
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    fn tell(&mut self, agent: Agent, what: What<'_>) {
        self.tell_as(agent, Some(user(agent)), what);
    }

    fn tell_as(&mut self, agent: Agent, user: Option<User>, what: What<'_>) {
        let at = self.now + Span::millis(1);
        // What comes in an answer comes when the answer does, which is the next act.
        if !matches!(
            what,
            What::Received {
                path: Path::Check,
                ..
            }
        ) {
            self.now = at;
        }
        let record = Record {
            at,
            agent,
            user,
            what,
        };
        self.judge.observe(&record);
        self.metrics.observe(&record);
        self.sightings.observe(&record);
    }

    /// Something other than a call, an answer or an event.
    pub(crate) fn does(&mut self, agent: Agent, what: What<'_>) {
        self.tell(agent, what);
    }

    /// The world does something; `record` is given the time.
    pub(crate) fn world(&mut self, record: impl FnOnce(Time) -> WorldRecord<'static>) {
        self.now += Span::millis(1);
        let record = record(self.now);
        self.judge.observe_world(&record);
        self.metrics.observe_world(&record);
        self.sightings.observe_world(&record);
    }

    pub(crate) fn crashes(&mut self) {
        self.world(|at| WorldRecord::Crashed {
            at,
            lose_unsynced: true,
        });
        self.world(|at| WorldRecord::Restarted { at });
    }

    pub(crate) fn heals(&mut self) {
        self.world(|at| WorldRecord::Healed { at });
    }

    /// A call with a request key leaves.
    pub(crate) fn calls(&mut self, agent: Agent, op: Op) -> Call {
        self.call(agent, Some(user(agent)), op, true)
    }

    /// A call with a request key leaves, of somebody without a handle.
    pub(crate) fn calls_as_stranger(&mut self, agent: Agent, op: Op) -> Call {
        self.call(agent, None, op, true)
    }

    /// A call without a request key leaves.
    pub(crate) fn calls_without_key(&mut self, agent: Agent, op: Op) -> Call {
        self.call(agent, Some(user(agent)), op, false)
    }

    fn call(&mut self, agent: Agent, who: Option<User>, op: Op, keyed: bool) -> Call {
        let index = agent.0 as usize;
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, Vec::new);
        }
        self.calls[index].push(op.clone());
        let id = CallId(self.calls[index].iter().skip(1).map(|_| 1).sum());
        let intended = self.now + Span::millis(1);
        self.tell_as(
            agent,
            who,
            What::Called {
                call: id,
                op: &op,
                intended,
                keyed,
            },
        );
        Call {
            agent,
            id,
            at: self.now,
        }
    }

    fn op(&self, call: Call) -> Op {
        self.calls[call.agent.0 as usize][call.id.0 as usize].clone()
    }

    pub(crate) fn retries(&mut self, call: Call) {
        self.retries_because(call, Retry::Silence);
    }

    pub(crate) fn retries_because(&mut self, call: Call, why: Retry) {
        self.tell(call.agent, What::Retried { call: call.id, why });
    }

    pub(crate) fn gives_up(&mut self, call: Call) {
        let op = self.op(call);
        self.tell(
            call.agent,
            What::Abandoned {
                call: call.id,
                op: &op,
            },
        );
    }

    pub(crate) fn answers(&mut self, call: Call, answer: Answer) {
        self.outcome(call, Ok(answer));
    }

    pub(crate) fn refuses(&mut self, call: Call, code: &'static str) {
        self.outcome(call, Err(refusal(code)));
    }

    fn outcome(&mut self, call: Call, outcome: Outcome) {
        let op = self.op(call);
        self.tell(
            call.agent,
            What::Answered {
                call: call.id,
                op: &op,
                called_at: call.at,
                intended: call.at,
                outcome: &outcome,
            },
        );
    }

    pub(crate) fn answers_again(&mut self, call: Call, outcome: Outcome) {
        let op = self.op(call);
        self.tell(
            call.agent,
            What::AnsweredAgain {
                call: call.id,
                op: &op,
                outcome: &outcome,
            },
        );
    }

    /// An event arrives by the stream, as the next of the inbox.
    pub(crate) fn sees(&mut self, agent: Agent, saw: Saw<'_>) {
        let sent_at = self.now;
        self.sees_of(agent, sent_at, saw);
    }

    /// The same event arrives at several, and carries one timestamp.
    pub(crate) fn all_see(&mut self, agents: &[Agent], saw: Saw<'_>) {
        let sent_at = self.now;
        for agent in agents {
            self.sees_of(*agent, sent_at, saw);
        }
    }

    /// An event with this timestamp arrives, as the next of the inbox.
    pub(crate) fn sees_of(&mut self, agent: Agent, sent_at: Time, saw: Saw<'_>) {
        let index = agent.0 as usize;
        if self.inboxes.len() <= index {
            self.inboxes.resize(index + 1, 0);
        }
        self.inboxes[index] += 1;
        let seq = self.inboxes[index];
        self.sees_as(agent, seq, sent_at, saw, true);
    }

    /// An event arrives under this seq, for the first time or again.
    pub(crate) fn sees_as(
        &mut self,
        agent: Agent,
        seq: u64,
        sent_at: Time,
        saw: Saw<'_>,
        first: bool,
    ) {
        self.arrives(agent, (seq, sent_at), &saw, Path::Stream, first);
    }

    /// An event arrives in the answer of a `check`, for the first time.
    pub(crate) fn finds(&mut self, agent: Agent, seq: u64, sent_at: Time, saw: Saw<'_>) {
        self.arrives(agent, (seq, sent_at), &saw, Path::Check, true);
    }

    fn arrives(
        &mut self,
        agent: Agent,
        (seq, sent_at): (u64, Time),
        saw: &Saw<'_>,
        path: Path,
        first: bool,
    ) {
        let index = agent.0 as usize;
        if self.inboxes.len() <= index {
            self.inboxes.resize(index + 1, 0);
        }
        self.inboxes[index] = self.inboxes[index].max(seq);
        self.tell(
            agent,
            What::Received {
                seq,
                sent_at,
                saw,
                path,
                first,
            },
        );
    }

    /// An exact `check` says that nothing is left.
    pub(crate) fn reads_to_the_end(&mut self, agent: Agent) {
        let cursor = self.inboxes.get(agent.0 as usize).copied().unwrap_or(0);
        let call = self.calls(
            agent,
            Op::Check {
                by: ReadBy::Handle,
                after: Some(cursor),
                wait: Span::ZERO,
            },
        );
        self.answers(
            call,
            Answer::Read {
                notices: Box::default(),
                unread: 0,
                cursor,
                more: false,
            },
        );
    }

    pub(crate) fn drains(&mut self, agents: &[Agent]) {
        for agent in agents {
            self.reads_to_the_end(*agent);
            self.tell(*agent, What::Drained);
        }
    }

    /// Asks to stand in line, and is told to wait.
    pub(crate) fn waits_in_line(&mut self, agent: Agent) {
        let call = self.calls(agent, enter_queue(&[]));
        self.answers(call, waiting(agent));
    }

    /// Two are matched: the first was waiting, the second comes.
    pub(crate) fn matches(&mut self, first: Agent, second: Agent, room: Room) {
        self.waits_in_line(first);
        let call = self.calls(second, enter_queue(&[]));
        self.answers(
            call,
            Answer::Matched {
                shown: Shown::default(),
                user: user(second),
                room,
                partner: user(first),
            },
        );
        self.find_each_other(first, second, room);
    }

    /// Two see that they are matched.
    pub(crate) fn find_each_other(&mut self, a: Agent, b: Agent, room: Room) {
        let sent_at = self.now;
        self.sees_of(a, sent_at, found(room, b));
        self.sees_of(b, sent_at, found(room, a));
    }

    /// Joins the lobby as the event of this place; `there` are those who see it, oneself too.
    pub(crate) fn joins(&mut self, agent: Agent, room_seq: u64, there: &[Agent]) {
        let call = self.calls(
            agent,
            Op::Login {
                username: "somebody".into(),
                room: "lobby".into(),
            },
        );
        self.answers(
            call,
            Answer::LoggedIn {
                user: user(agent),
                room: LOBBY,
            },
        );
        self.all_see(there, member(room_seq, agent, Presence::Joined));
    }

    /// Two in the lobby, whose places 1 and 2 are their joins.
    pub(crate) fn two_in_lobby() -> Self {
        Self::two_in_lobby_with(|_| {})
    }

    pub(crate) fn two_in_lobby_with(change: impl FnOnce(&mut Plan)) -> Self {
        let mut story = Self::with(change);
        story.joins(ANN, 1, &[ANN]);
        story.joins(BOB, 2, &[ANN, BOB]);
        story
    }

    /// Says something, and is told where it stands.
    pub(crate) fn says(&mut self, agent: Agent, room: Room, room_seq: u64, text: &'static str) {
        let call = self.calls(agent, send(room, text));
        self.answers(call, sent(room, room_seq));
    }

    /// Claims the lobby's stick, and is granted it at once: the event of this place.
    pub(crate) fn takes_stick(&mut self, agent: Agent, room_seq: u64, epoch: u64, there: &[Agent]) {
        let call = self.calls(agent, talking_stick());
        self.answers(call, stick(0, epoch));
        self.all_see(there, granted(room_seq, agent, epoch));
    }

    pub(crate) fn violated(&self) -> bool {
        self.judge.violated()
    }

    pub(crate) fn ends(self) -> Judgement {
        self.ends_with_figures().0
    }

    pub(crate) fn ends_with_figures(mut self) -> (Judgement, Metrics, Tally) {
        let judgement = self.judge.finish(self.now);
        self.metrics.add_overtaken(judgement.overtaken);
        (judgement, self.metrics, self.sightings.into_tally())
    }

    /// The story breaks these properties and no others.
    pub(crate) fn breaks(self, properties: &[&str]) {
        let judgement = self.ends();
        assert_eq!(broken(&judgement), properties, "{:?}", judgement.violations);
    }

    /// The story breaks nothing, and exercised the property.
    pub(crate) fn holds(self, property: &str) {
        let judgement = self.ends();
        assert!(
            judgement.violations.is_empty(),
            "{:?}",
            judgement.violations
        );
        let result = judgement.properties[property];
        assert_eq!(result.held, Some(true), "{property} was not exercised");
    }
}

/// The properties broken, in alphabetical order.
pub(crate) fn broken(judgement: &Judgement) -> Vec<&'static str> {
    judgement
        .properties
        .iter()
        .filter(|(_, result)| result.held == Some(false))
        .map(|(name, _)| *name)
        .collect()
}
