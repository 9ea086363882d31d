//! Records a run as steps: the calls with their times, and the network's treatment of each request,
//! its answer and the pushes after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat_types::{Span, Time};

pub(crate) use super::attempts::Fidelity;
use super::attempts::{Attempt, capacity};
use super::faults::{named, until_healed};
use super::recorded_call::{left_out, verb, whom};
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::history::{
    ClientEvent, NetworkRecord, Observer, Record, RequestKey, Retry, RunEvent,
};
use sim_model::plan::{
    Argument, Delivery, Fault, Net, Network, Opening, Plan, Schedule, ScriptStep, ScriptUser, Step,
    Text, Verb, Workload,
};
use sim_model::protocol::{Agent, CallId, Op, ReadBy};
use sim_model::recipe::Recipe;

/// An observer that records a run as steps.
#[derive(Clone, Debug)]
pub(crate) struct StepRecorder {
    start: Time,
    /// Whether a step has the name of its call even if that is the client's own name.
    keeps_names: bool,
    users: Vec<ScriptUser>,
    clients: Vec<Client>,
    steps: Vec<ScriptStep>,
    /// The openings of each user's streams, and the network's treatment of them.
    openings: BTreeMap<u32, Vec<(Opening, Attempt)>>,
    /// The network's treatment of each attempt of each step.
    attempts: BTreeMap<(usize, u32), Attempt>,
    /// The step of a call.
    calls: BTreeMap<(Agent, CallId), usize>,
    /// Until when the server may hold the call of a step.
    held_until: BTreeMap<usize, Time>,
    /// The step whose request the server handled last.
    served: Option<usize>,
    /// The checks of clients that only drain their inboxes, as steps.
    drains: BTreeSet<usize>,
    /// Faults that are not in the plan.
    mishaps: Vec<Fault>,
    /// The victims of each fault.
    struck: BTreeMap<usize, Vec<u32>>,
    /// The room that the operator's act of a fault names.
    rooms: BTreeMap<usize, u64>,
    /// The texts sent, each with its first step.
    said: BTreeMap<Arc<str>, usize>,
}

/// One virtual user. If it takes another handle, it is recorded as several users, one after another.
#[derive(Clone, Copy, Debug)]
struct Client {
    user: u32,
    /// It only drains its inbox from here on.
    finished: bool,
}

impl StepRecorder {
    pub(crate) fn new(start: Time) -> Self {
        Self {
            start,
            keeps_names: false,
            users: Vec::new(),
            clients: Vec::new(),
            steps: Vec::new(),
            openings: BTreeMap::new(),
            attempts: BTreeMap::new(),
            calls: BTreeMap::new(),
            held_until: BTreeMap::new(),
            drains: BTreeSet::new(),
            mishaps: Vec::new(),
            served: None,
            struck: BTreeMap::new(),
            rooms: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    /// The run as a plan in the steps form, as close to the original plan as possible.
    pub(crate) fn into_plan(mut self, plan: &Plan, to: Fidelity) -> Plan {
        self.write_attempts(to);
        self.write_openings(to);
        self.drop_last_drains();
        self.steps.sort_by_key(|step| step.at);
        let mut faults: Vec<Fault> = Vec::new();
        let mishaps = std::mem::take(&mut self.mishaps);
        for (index, fault) in plan.faults.iter().chain(&mishaps).enumerate() {
            let (struck, room) = (self.struck.remove(&index), self.rooms.remove(&index));
            faults
                .extend(named(fault, struck, room).map(|fault| until_healed(fault, plan.duration)));
        }
        faults.sort_by_key(|fault| fault.at);
        for step in &mut self.steps {
            if let Step::Disconnect(Some(length)) = &mut step.what {
                *length = (*length).min(plan.duration - step.at);
            }
        }
        let last = self.steps.last().map_or(Span::ZERO, |step| step.at);
        let usual = Shape::Fixed(plan.network.latency.usual());
        Plan {
            // No step is taken in the waiting time at the end.
            duration: plan.duration.max(last + Span::millis(1)),
            workload: Workload::Steps {
                users: self.users,
                steps: self.steps,
            },
            network: Network {
                // Of packets without a record.
                latency: Arc::new(Quantiles::new(usual)),
                loss: Ratio::NEVER,
                duplicate: Ratio::NEVER,
                stream_break: Ratio::NEVER,
                addresses: plan.network.addresses,
            },
            schedule: Schedule::Plain,
            // The steps contain what the branches of the recipe decided.
            recipe: Recipe::default(),
            capacity: capacity(&plan.capacity, to),
            faults,
            expect_sometimes: Vec::new(),
            thresholds: Vec::new(),
            ..plan.clone()
        }
    }

    /// Records that the client opens a stream, as soon as it can.
    pub(crate) fn has_stream(&mut self, agent: Agent) {
        let user = self.client(agent).user as usize;
        self.users[user].stream = true;
    }

    fn client(&mut self, agent: Agent) -> &mut Client {
        while self.clients.len() <= agent.0 as usize {
            let (user, finished) = (self.add_user(), false);
            self.clients.push(Client { user, finished });
        }
        &mut self.clients[agent.0 as usize]
    }

    /// Returns this recorder, which then writes the name of each call into its step.
    pub(crate) fn with_names(self) -> Self {
        Self {
            keeps_names: true,
            ..self
        }
    }

    fn add_user(&mut self) -> u32 {
        let index = u32::try_from(self.users.len()).expect("the plan limits users");
        self.users.push(ScriptUser {
            name: format!("u{index}"),
            stream: false,
            stream_by: ReadBy::Handle,
            opens: Vec::new(),
            keeps_handle: false,
        });
        index
    }

    fn step(&mut self, at: Time, agent: Agent, what: Step) -> usize {
        let user = self.client(agent).user;
        self.steps.push(ScriptStep {
            whom: None,
            at: at.since(self.start),
            user,
            what,
            leave_out: Vec::new(),
            net: Net::default(),
        });
        self.steps.len() - 1
    }

    fn record_call(&mut self, record: &Record<'_>, call: CallId, op: &Op, key: RequestKey) {
        let (at, agent) = (record.at, record.agent);
        let own_name = (!self.keeps_names).then_some(record.name);
        let index = self.step(at, agent, Step::Call(verb(op, own_name)));
        if self.client(agent).finished {
            self.drains.insert(index);
        }
        let step = &mut self.steps[index];
        step.leave_out = left_out(op);
        // The numbers in a server's journal, whose clients have no names, are not those of the run.
        step.whom = whom(op).filter(|_| !record.name.is_empty());
        match key {
            RequestKey::None if !op.is_read() => step.leave_out.push(Argument::Key),
            RequestKey::Previous => step.leave_out.push(Argument::FreshKey),
            RequestKey::None | RequestKey::Own => {}
        }
        self.calls.insert((agent, call), index);
        self.held_until.insert(index, at + op.hold());
        let Some(text) = op.text() else { return };
        // Drawn texts are all different, so only their length matters. A text that occurs twice was
        // written in the scenario, and may matter.
        match self.said.get(text) {
            Some(first) => {
                let first = *first;
                for index in [first, index] {
                    if let Step::Call(Verb::Send(words) | Verb::Append(words)) =
                        &mut self.steps[index].what
                    {
                        *words = Text::Words(text.clone());
                    }
                }
            }
            None => {
                self.said.insert(text.clone(), index);
            }
        }
    }

    /// Records that an attempt of a call timed out, and that another follows.
    fn record_timeout(&mut self, at: Time, agent: Agent, call: CallId) {
        let Some(step) = self.calls.get(&(agent, call)) else {
            return;
        };
        let left_out = &mut self.steps[*step].leave_out;
        if at < self.held_until[step] && !left_out.contains(&Argument::Patience) {
            left_out.push(Argument::Patience);
        }
    }

    /// Records the request for a stream.
    fn record_opening(&mut self, at: Time, agent: Agent, opening: Opening, fate: Delivery) {
        let number = self.client(agent).user;
        let openings = self.openings.entry(number).or_default();
        let user = &mut self.users[number as usize];
        user.stream = true;
        if openings.is_empty() {
            user.stream_by = opening.by.unwrap_or_default();
        }
        let usual = Some(user.stream_by);
        let opening = Opening {
            by: opening.by.filter(|_| opening.by != usual),
            ..opening
        };
        openings.push((opening, Attempt::new(at, fate, None)));
    }

    /// Records that the server opened the stream requested last.
    fn record_opened(&mut self, at: Time, agent: Agent, fate: Delivery) {
        let user = self.client(agent).user;
        let openings = self.openings.get_mut(&user);
        if let Some((_, attempt)) = openings.and_then(|openings| openings.last_mut()) {
            attempt.serve(false, at);
            attempt.reply(false, at, fate);
        }
    }

    /// Records a push as an effect of the step that the server handled last.
    fn record_push(&mut self, agent: Agent, fate: Delivery) {
        let user = self.client(agent).user;
        if let Some(step) = self.served {
            let push = &mut self.steps[step].net.push;
            if !push.iter().any(|(to, _)| *to == user) {
                push.push((user, fate));
            }
        }
    }

    /// The attempt of a call, if it belongs to a step.
    fn attempt_mut(&mut self, agent: Agent, call: CallId, attempt: u32) -> Option<&mut Attempt> {
        let step = *self.calls.get(&(agent, call))?;
        self.attempts.get_mut(&(step, attempt))
    }

    /// Drops the drains behind all other steps: every client drains its inbox at the end.
    fn drop_last_drains(&mut self) {
        let drains = std::mem::take(&mut self.drains);
        let others = (0..self.steps.len()).filter(|index| !drains.contains(index));
        let last = others.map(|index| self.steps[index].at).max();
        let mut index = 0..;
        self.steps.retain(|step| {
            let is_drain = index.next().is_some_and(|index| drains.contains(&index));
            !is_drain || Some(step.at) < last
        });
    }

    /// Writes the openings of streams into their users.
    fn write_openings(&mut self, to: Fidelity) {
        for (user, openings) in std::mem::take(&mut self.openings) {
            let written = openings.into_iter().map(|(opening, attempt)| {
                let Net { request, reply, .. } = attempt.net(to, false);
                Opening {
                    request,
                    reply,
                    ..opening
                }
            });
            self.users[user as usize].opens = written.collect();
        }
    }

    /// Writes the network's treatment into the steps.
    fn write_attempts(&mut self, to: Fidelity) {
        // A step's attempts are in order, and pushes belong to the first.
        for ((step, attempt), call_attempt) in std::mem::take(&mut self.attempts) {
            let step = &mut self.steps[step];
            let waits = matches!(step.what, Step::Call(Verb::Check { .. }));
            let net = call_attempt.net(to, waits);
            if attempt == 0 {
                let push = match to {
                    Fidelity::Packets | Fidelity::Order => std::mem::take(&mut step.net.push),
                    // An earlier push changes nothing, because all users' steps are fixed.
                    Fidelity::Service => {
                        step.net.push.retain(|(_, fate)| *fate == Delivery::Lost);
                        std::mem::take(&mut step.net.push)
                    }
                };
                step.net = Net { push, ..net };
            } else {
                step.net.retries.push(net);
            }
        }
    }
}

impl Observer for StepRecorder {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Client(record) = event {
            self.record_client(record);
        } else if let RunEvent::Network(record) = event {
            self.record_network(record);
        }
    }
}

impl StepRecorder {
    fn record_client(&mut self, record: &Record<'_>) {
        let (at, agent) = (record.at, record.agent);
        match record.what {
            ClientEvent::Called { call, op, key, .. } => self.record_call(record, call, op, key),
            ClientEvent::Retried { call, why, .. } => {
                if why == Retry::Silence {
                    self.record_timeout(at, agent, call);
                }
            }
            ClientEvent::Abandoned { call, .. } => {
                if let Some(index) = self.calls.get(&(agent, call)) {
                    let step = &mut self.steps[*index];
                    if !self.attempts.contains_key(&(*index, 1)) {
                        step.leave_out.push(Argument::Retries);
                    }
                }
            }
            ClientEvent::Forgot { returns: true } => {
                let user = self.client(agent).user as usize;
                self.users[user].keeps_handle = true;
            }
            ClientEvent::Forgot { returns: false } => {
                self.step(at, agent, Step::Disconnect(None));
                let user = self.add_user();
                let client = self.client(agent);
                client.user = user;
            }
            ClientEvent::Vanished => {
                self.step(at, agent, Step::Disconnect(None));
            }
            ClientEvent::Finished { .. } => self.client(agent).finished = true,
            ClientEvent::Answered { .. }
            | ClientEvent::AnsweredAgain { .. }
            | ClientEvent::Received { .. }
            | ClientEvent::Drained
            | ClientEvent::StreamOpened
            | ClientEvent::StreamClosed
            | ClientEvent::Stuck { .. } => {}
        }
    }

    fn record_network(&mut self, record: &NetworkRecord<'_>) {
        match *record {
            NetworkRecord::Sent {
                at,
                agent,
                call,
                attempt,
                fate,
                copy,
            } => {
                if let Some(step) = self.calls.get(&(agent, call)) {
                    let call_attempt = Attempt::new(at, fate, copy);
                    self.attempts.insert((*step, attempt), call_attempt);
                }
            }
            NetworkRecord::Served {
                at,
                agent,
                call,
                attempt,
                copy,
            } => {
                if attempt == 0 {
                    self.served = self.calls.get(&(agent, call)).copied();
                }
                if let Some(call_attempt) = self.attempt_mut(agent, call, attempt) {
                    call_attempt.serve(copy, at);
                }
            }
            NetworkRecord::Replied {
                at,
                agent,
                call,
                attempt,
                copy,
                fate,
                ..
            } => {
                if let Some(call_attempt) = self.attempt_mut(agent, call, attempt) {
                    call_attempt.reply(copy, at, fate);
                }
            }
            NetworkRecord::Opening {
                at,
                agent,
                opening,
                fate,
            } => self.record_opening(at, agent, opening, fate),
            NetworkRecord::Opened { at, agent, fate } => self.record_opened(at, agent, fate),
            NetworkRecord::Pushed { agent, fate, .. } => self.record_push(agent, fate),
            NetworkRecord::Disconnected {
                at,
                agent,
                length: Some(length),
            } => {
                self.step(at, agent, Step::Disconnect(Some(length)));
            }
            NetworkRecord::Mishap { fault, .. } => self.mishaps.push(fault.clone()),
            NetworkRecord::FaultApplied { fault, victims, .. } => {
                let users: Vec<u32> = victims
                    .iter()
                    .map(|agent| self.client(Agent(*agent)).user)
                    .collect();
                self.struck.insert(fault, users);
            }
            NetworkRecord::RoomNamed { fault, room } => {
                self.rooms.insert(fault, room.0);
            }
            NetworkRecord::StreamBroke { .. }
            | NetworkRecord::Disconnected { length: None, .. } => {}
        }
    }
}
