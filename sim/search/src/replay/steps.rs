//! The last calls of a journal as a scenario in the steps form.
//!
//! Each participant becomes a user, each call a step at its instant, each restart a crash, each step of
//! the clock a jump, each act of an operator a fault. Rooms that a participant is in before the first of these calls, and its
//! partner, are entered first. A journal has neither the network nor the reads, so each call takes
//! a millisecond each way. What the steps form cannot say is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat_core::{Hub, RoomId, UserId};
use chat_types::{Address, Config, Span, Time};
use sim_model::history::{ClientEvent, NetworkRecord, Observer as _, Record, RequestKey, RunEvent};
use sim_model::plan::{
    Capacity, Fault, FaultKind, Network, OperatorAct, OperatorVerb, Outage, Plan,
};
use sim_model::protocol::{Agent, CallId, Command, EnterQueue, Op, Refusal, Reply, User};
use sim_model::run_log::RunLog;
use sim_model::server::{Caller, Entry, Implied, Operate, SecretHash};

use crate::shrink::record::{Fidelity, Names, StepWriter, fixed};

/// The time between the last entry before a restart and the crash.
const BEFORE_CRASH: Span = Span::millis(1);

/// The time between two steps that enter a room, and the least time between two calls.
const ENTERING: Span = Span::millis(20);
const APART: Span = Span::micros(50);

/// The time after the last step.
const AFTER: Span = Span::secs(1);

/// Writes the scenario.
#[derive(Default)]
pub(super) struct Steps {
    log: RunLog,
    /// The clients that open a stream, as soon as they can.
    streams: BTreeSet<Agent>,
    /// The server's configuration at the beginning.
    config: Config,
    start: Time,
    last_at: Time,
    agents: BTreeMap<SecretHash, Agent>,
    users: BTreeMap<UserId, Agent>,
    calls: u32,
    /// The addresses of registrations.
    addresses: BTreeSet<Address>,
    /// The keys of calls, each with its caller's handle.
    keys: BTreeSet<(SecretHash, chat_types::RequestKey)>,
    /// How far the clock has stepped.
    ahead: Span,
    /// Since when a user has no stream.
    closed: BTreeMap<Agent, Time>,
    faults: Vec<Fault>,
    /// The numbers of retries and of operators' acts, which have no form in steps.
    retries: u64,
    acts: u64,
}

impl Steps {
    /// Begins before an entry at `at`, whose predecessor left this state; `callers` are the handles
    /// of the calls to come.
    pub(super) fn new(hub: &Hub, at: Time, callers: &BTreeMap<SecretHash, UserId>) -> Self {
        let entered = entered(hub, callers);
        let before = Span(ENTERING.0 * (entered.len() as u64 + 1));
        let start = Time(at.0.saturating_sub(before.0));
        let mut steps = Self {
            config: hub.config().clone(),
            start,
            last_at: start,
            ..Self::default()
        };
        for (handle, user) in callers {
            let agent = steps.agent(*handle);
            steps.users.insert(*user, agent);
        }
        for (number, (user, op)) in entered.into_iter().enumerate() {
            let agent = steps.agent_of(user);
            let at = start + Span(ENTERING.0 * number as u64);
            steps.call(at, agent, &op, RequestKey::Own);
        }
        steps
    }

    /// Adds an entry with its outcome.
    pub(super) fn entry(&mut self, at: Time, entry: &Entry, said: Result<&Reply, Refusal>) {
        let before = self.last_at;
        let at = Time(at.0.saturating_sub(self.ahead.0)).max(before + APART);
        match entry {
            Entry::Call {
                caller,
                key,
                command,
            } => {
                let handle = caller.handle();
                let agent = self.agent(handle);
                if let Caller::New { from, .. } = caller {
                    self.addresses.insert(*from);
                }
                if let Some(User(user)) = said.ok().and_then(Reply::caller) {
                    self.users.insert(UserId(user), agent);
                }
                if key.is_some_and(|key| !self.keys.insert((handle, key))) {
                    self.retries += 1;
                    return;
                }
                let key = key.map_or(RequestKey::None, |_| RequestKey::Own);
                self.call(at, agent, &Op::Command(command.clone()), key);
            }
            Entry::Implied { user, implied } => match implied {
                Implied::OpenStream => self.opens(at, *user),
                Implied::CloseStream => {
                    let agent = self.agent_of(*user);
                    self.closed.entry(agent).or_insert(at);
                }
                Implied::Seen { .. } | Implied::Read { .. } => return,
            },
            Entry::Operate { act, .. } => self.operates(at, act),
            Entry::Resumed { config, .. } => self.restarts(before, at, config),
            Entry::Stepped => return self.steps_clock(before, at),
            Entry::Started { config, .. } => self.config = (**config).clone(),
            Entry::Tick => return,
        }
        self.last_at = at;
    }

    /// The scenario, and a sentence for each kind of entry that it lacks.
    pub(super) fn into_plan(mut self, base: &Plan) -> (Plan, Vec<String>) {
        let end = self.last_at + AFTER;
        for (agent, since) in std::mem::take(&mut self.closed) {
            self.record_disconnect(agent, since, end);
        }
        let at_once = fixed(1);
        let plan = Plan {
            duration: end.since(self.start),
            server: self.config,
            network: Network {
                // Which client has which address cannot be said, but that they share one.
                addresses: (self.addresses.len() == 1).then_some(1),
                ..base.network.clone()
            },
            capacity: Capacity {
                service: Arc::clone(&at_once),
                commit: at_once,
                ..base.capacity.clone()
            },
            ..base.clone()
        };
        let counted = [
            (self.retries, "calls repeated an earlier one with its key"),
            (self.acts, "acts of operators have no form in steps"),
        ];
        let left_out = counted.iter().filter(|(times, _)| *times > 0);
        let notes = left_out.map(|(times, what)| format!("Left out: {times} {what}."));
        let notes = notes.collect();
        let mut steps = StepWriter::read(&self.log, self.start, Names::Others, Fidelity::Packets);
        for agent in self.streams {
            steps.has_stream(agent);
        }
        let mut plan = steps.into_plan(&plan);
        plan.faults = self.faults;
        (plan, notes)
    }

    fn agent(&mut self, handle: SecretHash) -> Agent {
        let next = Agent(u32::try_from(self.agents.len()).expect("the core limits participants"));
        *self.agents.entry(handle).or_insert(next)
    }

    /// The client of a participant. One whose handle is unknown makes no call.
    fn agent_of(&mut self, user: UserId) -> Agent {
        if let Some(agent) = self.users.get(&user) {
            return *agent;
        }
        let mut unknown = [u8::MAX; 16];
        unknown[..8].copy_from_slice(&user.0.to_le_bytes());
        let agent = self.agent(SecretHash(unknown));
        self.users.insert(user, agent);
        agent
    }

    fn call(&mut self, at: Time, agent: Agent, op: &Op, key: RequestKey) {
        let (call, op) = (CallId(self.calls), plain(op, self.calls));
        self.calls += 1;
        self.log.observe(RunEvent::Client(&Record {
            at,
            agent,
            name: "",
            user: None,
            what: ClientEvent::Called {
                call,
                op: &op,
                intended: at,
                key,
            },
        }));
    }

    fn opens(&mut self, at: Time, user: UserId) {
        let agent = self.agent_of(user);
        if let Some(since) = self.closed.remove(&agent) {
            self.record_disconnect(agent, since, at);
        }
        self.streams.insert(agent);
    }

    fn record_disconnect(&mut self, agent: Agent, since: Time, until: Time) {
        let length = Some(until.since(since));
        let dropped = NetworkRecord::Disconnected { length };
        self.log.observe_network(since, agent, &dropped);
    }

    fn fault(&mut self, at: Time, kind: FaultKind) {
        let at = at.since(self.start);
        self.faults.push(Fault::once(at, kind));
    }

    fn restarts(&mut self, before: Time, at: Time, config: &Config) {
        let down_at = (before + BEFORE_CRASH).min(at);
        if *config != self.config {
            self.fault(down_at, FaultKind::Configure(Box::new(config.clone())));
        }
        let (down_for, how) = (at.since(down_at), Outage::Crash);
        self.fault(down_at, FaultKind::Down { down_for, how });
        // Clients open their streams again by themselves.
        self.closed.clear();
    }

    /// The clock steps right after the entry before, which is the last that the journal tells of it.
    fn steps_clock(&mut self, before: Time, at: Time) {
        self.last_at = before + BEFORE_CRASH;
        let by = at.since(self.last_at);
        self.fault(self.last_at, FaultKind::ClockJump { by });
        self.ahead = self.ahead + by;
    }

    fn operates(&mut self, at: Time, act: &Operate) {
        let (verb, user) = match act {
            Operate::Mute { user, .. } => (OperatorVerb::Mute, user),
            Operate::Unmute { user } => (OperatorVerb::Unmute, user),
            Operate::Kick { user, .. } => (OperatorVerb::Kick, user),
            Operate::BanUser { user, .. } => (OperatorVerb::Ban, user),
            Operate::Close { .. }
            | Operate::Unban { .. }
            | Operate::MuteAddress { .. }
            | Operate::BanAddress { .. }
            | Operate::UnbanAddress { .. } => return self.acts += 1,
        };
        let Some(Agent(user)) = self.users.get(user).copied() else {
            return self.acts += 1;
        };
        let act = OperatorAct {
            user: Some(user),
            ..OperatorAct::drawn(verb)
        };
        self.fault(at, FaultKind::Operator(act));
    }
}

/// The calls by which these participants come where they are: into named rooms, to partners, and
/// into the queue.
fn entered(hub: &Hub, callers: &BTreeMap<SecretHash, UserId>) -> Vec<(UserId, Op)> {
    let mut calls = Vec::new();
    let mut rooms: BTreeMap<RoomId, Vec<UserId>> = BTreeMap::new();
    for user in callers.values() {
        for room in hub.rooms_of(*user) {
            rooms.entry(*room).or_default().push(*user);
        }
    }
    let enter = Op::Command(Command::EnterQueue(EnterQueue {
        user_id: None,
        display_name: None,
        interests: Arc::default(),
    }));
    for (room, users) in rooms {
        match hub.room_name(room) {
            Some(name) => calls.extend(users.into_iter().map(|user| {
                let login = Op::Command(Command::Login {
                    username: hub.who_is(user).map_or("", |who| &*who.name).into(),
                    room: name.into(),
                });
                (user, login)
            })),
            None => calls.extend(hub.members_of(room).map(|user| (user, enter.clone()))),
        }
    }
    let waiting = callers.values().filter(|user| {
        let view = hub.participant_view(**user);
        view.is_some_and(|view| view.waiting_since.is_some())
    });
    calls.extend(waiting.map(|user| (*user, enter.clone())));
    calls
}

/// The call without people's words: a text of the same length, no excuse and no reason.
fn plain(op: &Op, number: u32) -> Op {
    let text = |text: &Arc<str>| -> Arc<str> {
        let letter = if text.is_ascii() { 'x' } else { 'ä' };
        let number = number.to_string();
        let letters = number.chars().chain(std::iter::repeat(letter));
        let length = text.chars().count().max(1);
        letters.take(length).collect::<String>().into()
    };
    let mut op = op.clone();
    if let Op::Command(
        Command::SendMessage { text: said, .. }
        | Command::Speak { text: said, .. }
        | Command::Append { text: said, .. },
    ) = &mut op
    {
        *said = text(said);
    } else if let Op::Command(Command::ReportUser { reason, .. }) = &mut op {
        *reason = text(reason);
    } else if let Op::Command(Command::TakeBreak { excuse, .. }) = &mut op {
        *excuse = None;
    }
    op
}
