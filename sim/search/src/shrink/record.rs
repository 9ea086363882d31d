//! Writes the log of a run as steps: the calls with their times, and the network's treatment of each request,
//! its answer and the pushes after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat_types::{Span, Time};

pub(crate) use super::attempts::{Fidelity, fixed};
use super::attempts::{capacity, net};
use super::recorded_call::{left_out, verb};
use sim_model::draw::Ratio;
use sim_model::history::{FaultRecord, NetworkRecord, RequestKey, Retry};
use sim_model::plan::{
    Argument, Delivery, Fault, FaultKind, Net, Network, Opening, Plan, Schedule, ScriptStep,
    ScriptUser, Step, Strikes, Text, Verb, Victims, Workload,
};
use sim_model::protocol::{Agent, CallId};
use sim_model::recipe::Recipe;
use sim_model::run_log::{Call, Entry, Logged, RunLog};

/// Writes a run as steps.
#[derive(Debug)]
pub(crate) struct StepWriter<'l> {
    log: &'l RunLog,
    start: Time,
    to: Fidelity,
    names: Names,
    users: Vec<ScriptUser>,
    clients: Vec<Client>,
    steps: Vec<ScriptStep>,
    /// The step of each call.
    calls: BTreeMap<(Agent, CallId), usize>,
    /// The step whose request the server handled last.
    served: Option<usize>,
    /// The checks of clients that only drain their inboxes, as steps.
    drains: BTreeSet<usize>,
    /// Faults that are not in the plan.
    mishaps: Vec<Fault>,
    /// The victims of each fault, and the room that it names as an operator's act.
    struck: BTreeMap<usize, (Vec<u32>, Option<u64>)>,
    /// The texts sent, each with its first step.
    said: BTreeMap<Arc<str>, usize>,
}

/// The names that steps have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Those that are not the client's own.
    Others,
    /// That of each call.
    All,
}

/// One virtual user. If it takes another handle, it is recorded as several users, one after another.
#[derive(Clone, Copy, Debug)]
struct Client {
    user: u32,
    /// It only drains its inbox from here on.
    finished: bool,
}

impl<'l> StepWriter<'l> {
    /// Reads the log of a run that began at `start`.
    pub(crate) fn read(log: &'l RunLog, start: Time, names: Names, to: Fidelity) -> Self {
        let mut writer = Self {
            log,
            start,
            names,
            to,
            users: Vec::new(),
            clients: Vec::new(),
            steps: Vec::new(),
            calls: BTreeMap::new(),
            served: None,
            drains: BTreeSet::new(),
            mishaps: Vec::new(),
            struck: BTreeMap::new(),
            said: BTreeMap::new(),
        };
        for entry in &log.entries {
            writer.read_entry(entry);
        }
        writer
    }

    /// The run as a plan in the steps form, as close to the original plan as possible.
    pub(crate) fn into_plan(mut self, plan: &Plan) -> Plan {
        self.drop_last_drains();
        self.steps.sort_by_key(|step| step.at);
        let mut faults: Vec<Fault> = Vec::new();
        let mishaps = std::mem::take(&mut self.mishaps);
        for (index, fault) in plan.faults.iter().chain(&mishaps).enumerate() {
            let struck = self.struck.remove(&index).unwrap_or_default();
            faults.extend(named(fault, struck));
        }
        for fault in &mut faults {
            // In the steps form, the safety phase continues after the heal.
            fault.shorten(plan.duration - fault.at);
        }
        faults.sort_by_key(|fault| fault.at);
        for step in &mut self.steps {
            // An earlier push changes nothing where all users' steps are fixed.
            if self.to == Fidelity::Service {
                step.net.push.retain(|(_, fate)| *fate == Delivery::Lost);
            }
            if let Step::Disconnect(Some(length)) = &mut step.what {
                *length = (*length).min(plan.duration - step.at);
            }
        }
        let last = self.steps.last().map_or(Span::ZERO, |step| step.at);
        Plan {
            // No step is taken in the waiting time at the end.
            duration: plan.duration.max(last + Span::millis(1)),
            workload: Workload::Steps {
                users: self.users,
                steps: self.steps,
            },
            network: Network {
                // Of packets without a record.
                latency: fixed(plan.network.latency.usual()),
                loss: Ratio::NEVER,
                duplicate: Ratio::NEVER,
                stream_break: Ratio::NEVER,
                addresses: plan.network.addresses,
            },
            schedule: Schedule::Plain,
            // The steps contain what the branches of the recipe decided.
            recipe: Recipe::default(),
            capacity: capacity(&plan.capacity, self.to),
            faults,
            expect_sometimes: Vec::new(),
            thresholds: Vec::new(),
            ..plan.clone()
        }
    }

    /// Records that the client opens a stream, as soon as it can.
    pub(crate) fn has_stream(&mut self, agent: Agent) {
        let user = self.client(agent).user as usize;
        self.users[user].stream.get_or_insert_default();
    }

    fn client(&mut self, agent: Agent) -> &mut Client {
        while self.clients.len() <= agent.0 as usize {
            let (user, finished) = (self.add_user(), false);
            self.clients.push(Client { user, finished });
        }
        &mut self.clients[agent.0 as usize]
    }

    fn add_user(&mut self) -> u32 {
        let index = u32::try_from(self.users.len()).expect("the plan limits users");
        self.users.push(ScriptUser {
            name: format!("u{index}"),
            ..ScriptUser::default()
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

    fn record_call(&mut self, call: &'l Call) {
        let (at, agent, op) = (call.at, call.agent, &call.op);
        let name = &*self.log.clients[&agent].name;
        let own_name = (self.names == Names::Others).then_some(name);
        let index = self.step(at, agent, Step::Call(verb(op, own_name)));
        if self.client(agent).finished {
            self.drains.insert(index);
        }
        let step = &mut self.steps[index];
        step.leave_out = left_out(op);
        // The numbers in a server's journal, whose clients have no names, are not those of the run.
        let whom = op.about().filter(|_| !name.is_empty());
        step.whom = whom.map(|user| user.0);
        match call.key {
            RequestKey::None if !op.is_read() => step.leave_out.push(Argument::Key),
            RequestKey::Previous => step.leave_out.push(Argument::FreshKey),
            RequestKey::None | RequestKey::Own => {}
        }
        let waits = matches!(step.what, Step::Call(Verb::Check { .. }));
        for (attempt, sent) in &call.sent {
            let net = net(self.log, &self.log.entries[*sent], self.to, waits);
            match attempt {
                0 => step.net = net,
                _ => step.net.retries.push(net),
            }
        }
        self.calls.insert((agent, call.id), index);
        let Some(text) = op.text() else { return };
        // Drawn texts are all different, so only their length matters. A text that occurs twice was
        // written in the scenario, and may matter.
        let first = *self.said.entry(text.clone()).or_insert(index);
        if first != index {
            for step in [first, index] {
                let what = &mut self.steps[step].what;
                if let Step::Call(Verb::Send(words) | Verb::Speak(words) | Verb::Append(words)) =
                    what
                {
                    *words = Text::Words(text.clone());
                }
            }
        }
    }

    /// The step of a call.
    fn step_of(&mut self, call: &Call) -> &mut ScriptStep {
        &mut self.steps[self.calls[&(call.agent, call.id)]]
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

    fn read_entry(&mut self, entry: &'l Entry) {
        let (at, log) = (entry.at, self.log);
        if let Logged::Called(call) = &entry.what {
            self.record_call(&log.calls[*call]);
        } else if let Logged::Retried(call, Retry::Silence) = &entry.what {
            // An attempt of the call timed out, and another follows.
            let call = &log.calls[*call];
            let left_out = &mut self.step_of(call).leave_out;
            if at < call.at + call.op.hold() && !left_out.contains(&Argument::Patience) {
                left_out.push(Argument::Patience);
            }
        } else if let Logged::Abandoned(call) = &entry.what {
            let call = &log.calls[*call];
            if !call.sent.contains_key(&1) {
                self.step_of(call).leave_out.push(Argument::Retries);
            }
        } else if let Logged::Fault(record) = &entry.what {
            self.record_fault(record);
        } else if let (Some(agent), Logged::Network(record)) = (entry.agent, &entry.what) {
            self.record_traffic(agent, entry, record);
        } else if let Some(agent) = entry.agent {
            self.record_end(at, agent, &entry.what);
        }
    }

    fn record_fault(&mut self, record: &FaultRecord) {
        match record {
            FaultRecord::Mishap(fault) => self.mishaps.push((**fault).clone()),
            FaultRecord::Applied { fault, victims } => {
                let users = victims.iter();
                let users = users.map(|agent| self.client(Agent(*agent)).user).collect();
                self.struck.entry(*fault).or_default().0 = users;
            }
            FaultRecord::RoomNamed { fault, room } => {
                self.struck.entry(*fault).or_default().1 = Some(room.0);
            }
        }
    }

    fn record_traffic(&mut self, agent: Agent, entry: &Entry, record: &NetworkRecord) {
        let user = self.client(agent).user;
        if let NetworkRecord::Served {
            call, attempt: 0, ..
        } = *record
        {
            self.served = self.calls.get(&(agent, call)).copied();
        } else if let NetworkRecord::Opening { opening, .. } = *record {
            let Net { request, reply, .. } = net(self.log, entry, self.to, false);
            let user = &mut self.users[user as usize];
            if user.opens.is_empty() {
                user.stream = Some(opening.by.unwrap_or_default());
            }
            let usual = user.stream;
            let reply = reply.and_then(|reply| match reply {
                Delivery::After(length) => Some(length),
                Delivery::Lost => None,
            });
            user.opens.push(Opening {
                by: opening.by.filter(|_| opening.by != usual),
                request,
                reply,
                ..opening
            });
        } else if let NetworkRecord::Pushed { fate, .. } = *record {
            // A push is an effect of the step that the server handled last.
            if let Some(step) = self.served {
                let push = &mut self.steps[step].net.push;
                if !push.iter().any(|(to, _)| *to == user) {
                    push.push((user, fate));
                }
            }
        } else if let NetworkRecord::Disconnected {
            length: Some(length),
        } = *record
        {
            self.step(entry.at, agent, Step::Disconnect(Some(length)));
        }
    }

    /// Records an entry if it says that the client forgot its participant, vanished, or finished its
    /// flow.
    fn record_end(&mut self, at: Time, agent: Agent, what: &Logged) {
        if let Logged::Forgot { returns: true } = what {
            let user = self.client(agent).user as usize;
            self.users[user].keeps_handle = true;
        } else if let Logged::Finished = what {
            self.client(agent).finished = true;
        } else if let Logged::Vanished | Logged::Forgot { .. } = what {
            self.step(at, agent, Step::Disconnect(None));
            if let Logged::Forgot { .. } = what {
                let user = self.add_user();
                self.client(agent).user = user;
            }
        }
    }
}

/// The fault with named victims; none if it had none, or if recorded packets state it. An operator
/// named this room.
fn named(fault: &Fault, (struck, room): (Vec<u32>, Option<u64>)) -> Option<Fault> {
    let mut fault = fault.clone();
    if let Some(victims) = fault.kind.victims_mut() {
        struck.first()?;
        *victims = Victims::Users(struck);
    } else if let FaultKind::Operator(act) = &mut fault.kind {
        act.user = Some(*struck.first()?);
        act.room = room;
    }
    (fault.kind.row().strikes != Strikes::Packets).then_some(fault)
}
