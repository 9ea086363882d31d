//! The virtual world: a clock, an event queue, a server, and clients with a network between.
//!
//! Everything that happens is an event of the queue, ordered by time and then by the order of
//! scheduling. One step handles one event. Only events advance time.
//!
//! `event_queue.rs` holds the clock and the event queue, and `in_flight.rs` the requests, answers and streams
//! between clients and server, in a `slab.rs`. `clients.rs` is the users' side, `traffic.rs` and `streams.rs`
//! are what is between. `network.rs` says what becomes of each packet, and `race_schedule.rs` perturbs their
//! order. `host.rs` drives a node and tells what it does, `server.rs` gives it a disk and service times, and
//! `cluster.rs` has several servers in its place. `faults.rs` performs planned faults, and `mishaps.rs` adds
//! faults after turns of a recipe. `wakers.rs` has the wakers of users that sleep. `script.rs` performs the
//! steps form, `observers.rs` passes on all records, and `branch.rs` rekeys randomness.

pub mod abstraction;
mod branch;
mod clients;
mod cluster;
mod disk;
mod event_queue;
mod faults;
pub mod host;
mod in_flight;
mod mishaps;
mod network;
mod observers;
mod operators;
mod outage;
mod race_schedule;
mod script;
mod server;
mod slab;
mod split;
mod streams;
mod swaps;
mod traffic;
pub mod translate;
mod wakers;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use chat_types::{Span, Time, mix};

use sim_model::draw::{Actor, Draw};
use sim_model::history::{FaultRecord, NetworkRecord, Observer, RunEvent, WorldRecord};
use sim_model::outcome::{Progress, START, Timeline, WorldOutcome};
use sim_model::plan::{Fault, Plan, Workload};
use sim_model::protocol::Agent;
use sim_model::server::ServerRecord;
use sim_user::arrivals::{Arrival, arrivals};
use sim_user::{Script, VirtualUser};

use branch::RandomKey;
use clients::Client;
pub use cluster::applied;
use event_queue::{Event, EventQueue};
use faults::ActiveFaults;
use in_flight::InFlightTable;
use network::Network;
use observers::{Observers, alone};
use server::Server;
pub use split::Split;
use swaps::swap_every;

/// The number of steps between two updates of the live line.
const PROGRESS_STEPS: u64 = 8_192;

/// The longest time in which a waiting user must receive a match (five seconds), or a grant (two
/// seconds after the lease before it).
const OWED_WITHIN: Span = Span::secs(6);

/// The largest number of columns in the timeline of arrivals.
const BUCKETS: u64 = 64;

/// One run of one seed.
#[derive(Clone)]
struct World<'a, 'o> {
    plan: &'a Plan,
    seed: u64,
    random_key: RandomKey,
    events: EventQueue,
    arrivals: std::vec::IntoIter<Arrival>,
    next_arrival: Option<Arrival>,
    clients: Vec<Client>,
    /// The number of clients that are not done.
    busy: u64,
    by_persona: Vec<u64>,
    server: Server,
    in_flight: InFlightTable,
    active_faults: ActiveFaults,
    /// The plan's faults of this seed.
    faults: Arc<[Fault]>,
    /// Faults in addition to those of the plan.
    mishaps: Vec<Fault>,
    network: Network,
    observers: Observers<'o>,
    timeline: Timeline,
    swaps: Draw,
    swap_every: u64,
    next_swap: u64,
    steps: u64,
    hash: u64,
    phase: Phase,
    /// The number of times that all users were asked to drain.
    drains: u32,
    /// The latest end of the run.
    ends_at: Time,
}

/// The phase of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Users arrive and faults occur: safety must hold.
    Safety,
    /// Faults have ended and users drain: liveness must hold.
    Liveness,
    /// The run is over.
    Over,
}

/// One in this many seeds runs with a twin, and the two are compared at every step.
const TWIN_EVERY: u64 = 16;

/// Runs one seed of a plan to its end, and passes all events to the observer, which does not change
/// the run, and returns it. An interrupted run ends at any step, and its outcome is to be discarded.
///
/// # Panics
/// If an invariant of the core is broken, or if one seed has two histories. Both are bugs, which
/// the runner reports as violations.
pub fn run<O: Observer>(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    observer: O,
) -> (WorldOutcome, O) {
    let observer = Rc::new(RefCell::new(observer));
    let observers = Observers::new(Some(observer.clone()));
    let mut world = World::new(plan, seed, observers, Actor::Swaps);
    let sampled = mix(0, seed).is_multiple_of(TWIN_EVERY);
    let mut twin = sampled.then(|| World::new(plan, seed, Observers::new(None), Actor::TwinSwaps));
    world.begin();
    if let Some(twin) = &mut twin {
        twin.begin();
    }
    let (mut told_steps, mut told_users) = (0, 0);
    let mut tell = |world: &World<'_, '_>| {
        let (steps, users) = (world.steps, world.clients.len() as u64);
        let time = world.now().since(START);
        progress.advance(time, users - told_users, steps - told_steps);
        (told_steps, told_users) = (steps, users);
    };
    while world.phase != Phase::Over {
        world.step();
        if let Some(twin) = &mut twin {
            twin.step();
            world.compare(twin);
        }
        if world.steps.is_multiple_of(PROGRESS_STEPS) {
            tell(&world);
            if progress.is_interrupted() {
                break;
            }
        }
    }
    tell(&world);
    (world.ran(), alone(observer))
}

impl<'a, 'o> World<'a, 'o> {
    fn new(plan: &'a Plan, seed: u64, observers: Observers<'o>, swaps: Actor) -> Self {
        let arrivals = arrivals(&plan.workload, &mut Draw::new(seed, Actor::Arrivals));
        let bucket = Span((plan.duration.0 / BUCKETS).max(1));
        let personas = plan.workload.personas().len();
        Self {
            plan,
            seed,
            random_key: RandomKey::new(seed, &plan.recipe),
            events: EventQueue::new(START),
            clients: Vec::with_capacity(arrivals.len()),
            arrivals: arrivals.into_iter(),
            next_arrival: None,
            busy: 0,
            by_persona: vec![0; personas],
            server: Server::new(plan, seed),
            in_flight: InFlightTable::new(),
            active_faults: ActiveFaults::new(seed),
            faults: plan.faults_of(seed).into(),
            mishaps: Vec::new(),
            network: Network::new(plan, seed),
            observers,
            timeline: Timeline::new(bucket),
            swaps: Draw::new(seed, swaps),
            swap_every: swap_every(plan),
            next_swap: swap_every(plan) / 4,
            steps: 0,
            hash: mix(0, seed),
            phase: Phase::Safety,
            drains: 0,
            ends_at: START + plan.duration + plan.liveness,
        }
    }

    /// Schedules the first events.
    fn begin(&mut self) {
        for (index, fault) in (0..).zip(&*self.faults) {
            let begins = Event::FaultBegins(index);
            self.events.schedule(START + fault.at, begins);
        }
        let healed_at = START + self.plan.duration;
        self.events.schedule(healed_at, Event::Heal);
        self.events.schedule(self.ends_at, Event::End);
        self.begin_script();
        self.schedule_arrival();
        self.begin_cluster();
        self.pump();
        self.take_turn();
    }

    /// Handles the next event.
    fn step(&mut self) {
        let Some((at, event)) = self.events.pop() else {
            return self.end();
        };
        if self.is_stale(at, event) {
            return;
        }
        self.steps += 1;
        self.hash = mix(self.hash, at.0 ^ event.hash_word());
        self.handle(event);
        self.reach_milestones();
        if self.steps >= self.next_swap {
            self.swap();
        }
        self.take_turn();
    }

    fn handle(&mut self, event: Event) {
        if event.is_of_server()
            && let Some(until) = self.server.paused_until(self.events.now())
        {
            // A suspended process reads it later.
            return self.events.schedule(until, event);
        }
        match event {
            Event::Arrival => self.arrive(),
            Event::Timer(agent) => self.user_timer(agent),
            Event::AtServer(ticket) => self.request_arrives(ticket),
            Event::Served(ticket) => self.request_served(ticket),
            Event::AtClient(ticket) => self.answer_arrives(ticket),
            Event::StreamUp(ticket) => self.stream_up(ticket),
            Event::Pushed(ticket) => self.push_arrives(ticket),
            Event::StreamDown { agent, stream } => self.stream_down(agent, stream),
            Event::GoneAtServer(ticket) => self.gone_at_server(ticket),
            Event::Stalled(ticket) => self.handle_stall(ticket),
            Event::Committed { append, .. } => self.handle_commit(append),
            Event::NodeDue => self.node_due(),
            Event::FaultBegins(index) => self.fault_begins(index),
            Event::FaultEnds(index) => self.fault_ends(index),
            Event::Awake(agent) => self.awake(agent),
            Event::WakerDue(agent) => self.waker_due(agent),
            Event::Knock(agent) => self.knock_arrives(agent),
            Event::Restart => self.restart(),
            Event::Packet(ticket) => self.packet_arrives(ticket),
            Event::MemberDue(server) => self.member_due(server),
            Event::MemberStarts(server) => self.member_starts(server),
            Event::MemberContinues(server) => self.member_continues(server),
            Event::Script(index) => self.perform(index),
            Event::Heal => self.heal(),
            Event::DrainAgain => self.drain_all(),
            Event::End => self.end(),
        }
    }

    /// Compares this world with its twin, which swaps its Hub at other steps and must otherwise be
    /// equal.
    ///
    /// # Panics
    /// At the first step at which it is not.
    fn compare(&self, twin: &World<'_, '_>) {
        let here = (self.steps, self.now().since(START), self.hash);
        let there = (twin.steps, twin.now().since(START), twin.hash);
        assert!(
            here == there,
            "seed {} has two histories: step {} at {} here, step {} at {} there",
            self.seed,
            here.0,
            here.1,
            there.0,
            there.1,
        );
    }

    /// Whether a timer was moved after it was scheduled, so that the event is void.
    fn is_stale(&mut self, at: Time, event: Event) -> bool {
        if let Event::Timer(agent) = event {
            return self.timer_is_stale(agent, at);
        }
        if let Event::WakerDue(agent) = event {
            let waker = self.clients[agent as usize].waker.as_ref();
            return waker.is_none_or(|waker| waker.due_is_stale(at));
        }
        if let Event::MemberDue(server) = event {
            return self.member_due_is_stale(server, at);
        }
        let is_early = event == Event::End && at < self.ends_at;
        is_early || event == Event::NodeDue && self.server.due_is_stale(at)
    }

    fn now(&self) -> Time {
        self.events.now()
    }

    /// Schedules an event this long after now.
    fn schedule_in(&mut self, time: Span, event: Event) {
        self.events.schedule(self.now() + time, event);
    }

    /// Reports an act of the server at the present instant of its clock.
    fn tell_server(&mut self, record: &ServerRecord<'_>) {
        let now = self.server_now();
        self.observers.observe_server(now, record);
    }

    /// Reports what the world does at the present instant.
    fn tell_world(&mut self, record: &WorldRecord<'_>) {
        let now = self.now();
        self.observers.observe_world(now, record);
    }

    /// Reports traffic of a client at the present instant.
    fn tell_traffic(&mut self, agent: u32, record: NetworkRecord) {
        if self.observers.sees_traffic {
            let now = self.now();
            self.observers.observe_network(now, Agent(agent), &record);
        }
    }

    /// Reports what a fault does at the present instant.
    fn tell_fault(&mut self, record: &FaultRecord) {
        let now = self.now();
        self.observers.observe(RunEvent::Fault(now, record));
    }

    fn schedule_arrival(&mut self) {
        self.next_arrival = self.arrivals.next();
        if let Some(arrival) = &self.next_arrival {
            self.events.schedule(START + arrival.at, Event::Arrival);
        }
    }

    fn arrive(&mut self) {
        let Some(arrival) = self.next_arrival.take() else {
            return;
        };
        self.schedule_arrival();
        if self.phase != Phase::Safety {
            return;
        }
        if let Workload::Phases { personas, .. } = &self.plan.workload {
            let persona = Arc::clone(&personas[arrival.persona]);
            self.by_persona[arrival.persona] += 1;
            let agent = Agent(self.client_count());
            let arrived = RunEvent::Arrived(agent, arrival.persona);
            self.observers.observe(arrived);
            let name = format!("{}#{}", persona.name, agent.0).into();
            self.add_client(Script::Flow(persona), name);
        }
    }

    fn add_client(&mut self, script: Script, name: Arc<str>) {
        let now = self.now();
        let (agent, key) = (self.client_count(), self.random_key.key);
        self.timeline.arrive(now.since(START));
        self.network.connect(Draw::new(key, Actor::Link(agent)));
        let mut user = VirtualUser::new(Agent(agent), script, self.plan.client, key, name);
        user.start(now, now, &mut self.observers);
        self.clients.push(Client::new(user, agent as usize));
        self.busy += 1;
        self.settle(agent);
    }

    /// Ends the safety phase: arrivals, faults and losses stop, and all users drain.
    fn heal(&mut self) {
        self.phase = Phase::Liveness;
        self.timeline.healed_at = Some(self.now().since(START));
        self.end_all_faults();
        self.tell_world(&WorldRecord::Healed);
        self.drain_all();
    }

    /// Lets every user finish and drain its inbox.
    fn drain_all(&mut self) {
        self.drains += 1;
        let now = self.now();
        self.busy = 0;
        for client in &mut self.clients {
            client.user.begin_drain(now, &mut self.observers);
            self.busy += u64::from(client.update_done());
        }
        for agent in 0..self.client_count() {
            self.settle(agent);
        }
        self.end_if_quiet();
    }

    fn end_if_quiet(&mut self) {
        if self.phase != Phase::Liveness || self.busy > 0 {
            return;
        }
        let scripted = matches!(self.plan.workload, Workload::Steps { .. });
        match self.drains {
            // Users that drained early have not received what others sent while they finished.
            0 | 1 => self.drain_all(),
            // In the steps form no user waits by itself. A user in the queue or with a claim gets
            // the time in which it must be served. Then all drain again, for as long as the first
            // time.
            2 if scripted && self.timeline.quiet_at.is_none() => {
                self.timeline.quiet_at = Some(self.now().since(START));
                let wait = self.plan.server.stick_lease + self.plan.server.interest_patience;
                let latest = Time(self.ends_at.0.saturating_sub(Span::secs(1).0));
                let at = (self.now() + wait + OWED_WITHIN).min(latest);
                self.events.schedule(at, Event::DrainAgain);
                self.ends_at = at + self.plan.liveness;
                self.events.schedule(self.ends_at, Event::End);
            }
            2 if scripted => {}
            _ => {
                self.timeline
                    .quiet_at
                    .get_or_insert(self.now().since(START));
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if self.phase == Phase::Over {
            return;
        }
        self.phase = Phase::Over;
        self.report_collections();
        self.end_cluster();
        self.timeline.ended_at = self.now().since(START);
        if let Some(node) = self.server.node()
            && let Err(broken) = node.hub().validate()
        {
            panic!("broken invariant: {broken}");
        }
        self.tell_world(&WorldRecord::Ended);
    }

    fn client_count(&self) -> u32 {
        u32::try_from(self.clients.len()).expect("the plan limits users")
    }

    /// The results of the run, which is over.
    fn ran(self) -> WorldOutcome {
        let users = self.clients.iter().map(|client| client.user.outcome());
        let skipped = self.clients.iter().map(|client| client.user.skipped());
        WorldOutcome {
            seed: self.seed,
            trace_hash: self.hash,
            ended_at: self.events.now(),
            users: users.collect(),
            by_persona: self.by_persona,
            skipped: skipped.sum(),
            steps: self.steps,
            tally: self.observers.points.into_tally(),
            timeline: self.timeline,
        }
    }
}

#[cfg(test)]
mod tests;
