//! The virtual world: a clock, an agenda of events, a server, and clients with a network between.
//!
//! Everything that happens is an event of the agenda, ordered by time and then by the order in which
//! events were scheduled. One event handled is one step. Nothing else moves time.
//!
//! `agenda.rs` is the clock and the agenda, `clients.rs` is the users' side, `network.rs` and `streams.rs` are what lies between, `race.rs` perturbs the order of what is
//! under way, `server.rs` is the Node with its disk and the time it takes, `faults.rs` makes things
//! go wrong, `mishaps.rs` some more behind turns of a recipe, `script.rs` performs the steps form, `watch.rs` is told of it all, and `branch.rs`
//! draws chance anew.

pub mod abstraction;
mod agenda;
mod branch;
mod clients;
mod disk;
mod faults;
mod mishaps;
mod network;
mod outage;
mod race;
mod script;
mod server;
mod slots;
mod split;
mod streams;
pub mod translate;
mod watch;
mod worked;

use std::sync::Arc;

use chat_types::{Span, Time, mix};

use sim_model::draw::{Actor, Draw};
use sim_model::history::{Observer, WorldRecord};
use sim_model::outcome::{Point, Progress, Ran, RanUser, START, Timeline};
use sim_model::plan::{Fault, Plan, Workload};
use sim_user::arrivals::{Arrival, arrivals};
use sim_user::{Script, VirtualUser};

use agenda::{Agenda, Event};
use branch::Chance;
use clients::Client;
use faults::Weather;
use race::Racing;
use server::Server;
use slots::Slots;
pub use split::Split;
pub use watch::Onlooker;
use watch::Watch;

/// How many steps pass before the live line hears of them.
const PROGRESS_STEPS: u64 = 8_192;

/// The same in a short script, which is over before the thousandth step: what a snapshot lacks is
/// to show in a scenario that a person can read.
const SHORT_SWAP_STEPS: u64 = 16;

/// How often the Hub is swapped at least, as long as it is small: the oftener, the oftener the plan
/// has snapshots.
fn swap_every(plan: &Plan) -> u64 {
    match &plan.workload {
        Workload::Steps { .. } => SHORT_SWAP_STEPS,
        Workload::Phases { .. } => {
            let snapshots = u64::from(plan.capacity.snapshot_every).saturating_mul(STEPS_OF_ENTRY);
            snapshots.clamp(SHORT_SWAP_STEPS, SWAP_STEPS)
        }
    }
}

/// Steps for each entry of the journal, about.
const STEPS_OF_ENTRY: u64 = 5;

/// A step of a short script for so many bytes of a snapshot: then a large state, which costs as
/// much as many steps, does not take up all the time that shrinking has.
const SWAP_BYTES: u64 = 32;

/// A match within five seconds, or a grant two seconds after the lease before it: what is owed to
/// those who wait has come by then.
const OWED_WITHIN: Span = Span::secs(6);

/// How many columns the timeline of arrivals has at most.
const BUCKETS: u64 = 64;

/// The least steps between two swaps of the Hub for its restored snapshot, on average.
const SWAP_STEPS: u64 = 20_000;

/// One run of one seed.
struct World<'a, 'o> {
    plan: &'a Plan,
    seed: u64,
    chance: Chance,
    agenda: Agenda,
    arrivals: std::vec::IntoIter<Arrival>,
    next_arrival: Option<Arrival>,
    clients: Vec<Client>,
    /// Clients that are not done.
    busy: u64,
    by_persona: Vec<u64>,
    server: Server,
    slots: Slots,
    weather: Weather,
    /// Faults beside those of the plan.
    mishaps: Vec<Fault>,
    race: Option<Racing>,
    watch: Watch<'o>,
    timeline: Timeline,
    swaps: Draw,
    swap_every: u64,
    next_swap: u64,
    steps: u64,
    hash: u64,
    phase: Phase,
    /// How often all users were told to drain.
    drains: u32,
    /// When the run is over at the latest.
    ends_at: Time,
}

/// What the run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Users arrive, faults strike: nothing bad may happen.
    Safety,
    /// Faults have ended, users drain: good things must happen.
    Liveness,
    /// It is over.
    Over,
}

/// One in so many seeds is run twice at once, and compared step by step.
const TWIN_EVERY: u64 = 16;

/// Runs one seed of a plan to its end, and tells the observer of everything. It changes nothing.
///
/// # Panics
/// When an invariant of the core is broken, or when one seed has two histories: bugs, both, which
/// the runner reports as violations.
pub fn run(plan: &Plan, seed: u64, progress: &Progress, observer: Option<Onlooker<'_>>) -> Ran {
    let mut world = World::new(plan, seed, Watch::new(observer), Actor::Swaps);
    let sampled = mix(0, seed).is_multiple_of(TWIN_EVERY);
    let mut twin = sampled.then(|| World::new(plan, seed, Watch::new(None), Actor::TwinSwaps));
    world.begin();
    if let Some(twin) = &mut twin {
        twin.begin();
    }
    let (mut told_steps, mut told_users) = (0, 0);
    while world.phase != Phase::Over {
        world.step();
        if let Some(twin) = &mut twin {
            twin.step();
            world.compare(twin);
        }
        if world.steps - told_steps >= PROGRESS_STEPS {
            let users = world.clients.len() as u64;
            let steps = world.steps - told_steps;
            progress.advance(world.agenda.now().since(START), users - told_users, steps);
            (told_steps, told_users) = (world.steps, users);
        }
    }
    let users = world.clients.len() as u64;
    progress.advance(
        world.agenda.now().since(START),
        users - told_users,
        world.steps - told_steps,
    );
    world.ran()
}

impl<'a, 'o> World<'a, 'o> {
    fn new(plan: &'a Plan, seed: u64, watch: Watch<'o>, swaps: Actor) -> Self {
        let arrivals = arrivals(plan, &mut Draw::new(seed, Actor::Arrivals));
        let bucket = Span((plan.duration.0 / BUCKETS).max(1));
        let personas = match &plan.workload {
            Workload::Phases { personas, .. } => personas.len(),
            Workload::Steps { .. } => 0,
        };
        Self {
            plan,
            seed,
            chance: Chance::new(seed, &plan.recipe),
            agenda: Agenda::new(START),
            clients: Vec::with_capacity(arrivals.len()),
            arrivals: arrivals.into_iter(),
            next_arrival: None,
            busy: 0,
            by_persona: vec![0; personas],
            server: Server::new(plan, seed),
            slots: Slots::default(),
            weather: Weather::new(seed),
            mishaps: Vec::new(),
            race: Racing::new(plan, seed),
            watch,
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

    /// Writes the first events into the agenda.
    fn begin(&mut self) {
        for (index, fault) in self.plan.faults.iter().enumerate() {
            let index = u32::try_from(index).expect("a scenario has few faults");
            self.agenda.at(START + fault.at, Event::FaultBegins(index));
        }
        self.agenda.at(START + self.plan.duration, Event::Heal);
        self.agenda.at(self.ends_at, Event::End);
        self.begin_script();
        self.schedule_arrival();
        self.pump();
        self.take_turn();
    }

    /// Takes the next event from the agenda and handles it.
    fn step(&mut self) {
        let Some((at, event)) = self.agenda.next() else {
            self.end();
            return;
        };
        if self.is_stale(at, event) {
            return;
        }
        self.steps += 1;
        self.hash = mix(self.hash, at.0 ^ event.word());
        self.handle(event);
        self.reach_milestones();
        if self.steps >= self.next_swap {
            self.swap();
        }
        self.take_turn();
    }

    fn handle(&mut self, event: Event) {
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
            Event::Stalled(ticket) => self.stalled(ticket),
            Event::Committed { append, .. } => self.committed(append),
            Event::NodeDue => self.node_due(),
            Event::FaultBegins(index) => self.fault_begins(index),
            Event::FaultEnds(index) => self.fault_ends(index),
            Event::Awake(agent) => self.awake(agent),
            Event::Restart => self.restart(),
            Event::Script(index) => self.perform(index),
            Event::Heal => self.heal(),
            Event::DrainAgain => self.drain_all(),
            Event::End => self.end(),
        }
    }

    /// The twin swaps its Hub at other steps, and is the same in all else.
    ///
    /// # Panics
    /// At the first step at which it is not.
    fn compare(&self, twin: &World<'_, '_>) {
        let (here, there) = (
            (self.steps, self.now(), self.hash),
            (twin.steps, twin.now(), twin.hash),
        );
        assert!(
            here == there,
            "seed {} has two histories: step {} at {} here, step {} at {} there",
            self.seed,
            here.0,
            here.1.since(START),
            there.0,
            there.1.since(START),
        );
    }

    /// Whether a timer was moved after it was written down: then nothing happens at it.
    fn is_stale(&mut self, at: Time, event: Event) -> bool {
        if let Event::Timer(agent) = event {
            return self.timer_is_stale(agent, at);
        }
        let is_early = event == Event::End && at < self.ends_at;
        is_early || event == Event::NodeDue && self.server.due_is_stale(at)
    }

    fn now(&self) -> Time {
        self.agenda.now()
    }

    fn schedule_arrival(&mut self) {
        self.next_arrival = self.arrivals.next();
        if let Some(arrival) = &self.next_arrival {
            self.agenda.at(START + arrival.at, Event::Arrival);
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
            let name = format!("{}#{}", persona.name, self.clients.len()).into();
            self.add_client(Script::Flow(persona), name);
        }
    }

    fn add_client(&mut self, script: Script, name: Arc<str>) {
        let now = self.now();
        let agent = u32::try_from(self.clients.len()).expect("the plan limits users");
        self.timeline.arrive(now.since(START));
        let agent_id = sim_model::protocol::Agent(agent);
        let link = Draw::new(self.chance.key(), Actor::Link(agent));
        let user = VirtualUser::new(agent_id, script, self.plan.client, self.chance.key(), name);
        self.clients.push(Client::new(user, link));
        self.busy += 1;
        self.clients[agent as usize]
            .user
            .start(now, &mut self.watch);
        self.settle(agent);
    }

    /// Swaps the Hub for its restored snapshot: a state that lacks something shows itself soon.
    /// The larger the state, the rarer, so that the run does not slow down as the state grows.
    ///
    /// # Panics
    /// When the state breaks an invariant or does not survive the way: bugs, which the runner
    /// reports as violations.
    fn swap(&mut self) {
        self.report_sizes();
        let mut gap = self.swap_every;
        if let Some(node) = self.server.node.as_mut() {
            if let Err(broken) = node.hub().validate() {
                panic!("broken invariant: {broken}");
            }
            let size = node.swap_for_restored() as u64;
            gap = gap.max(if gap == SWAP_STEPS {
                size
            } else {
                size / SWAP_BYTES
            });
            self.watch.reach(Point::Swapped);
        }
        self.next_swap = self.steps + gap / 2 + self.swaps.below(gap);
    }

    /// Shows the judges how large every collection is.
    fn report_sizes(&mut self) {
        let at = self.now();
        let Some(node) = self.server.node.as_ref() else {
            return;
        };
        let sizes: Vec<_> = node
            .sizes()
            .iter()
            .map(|s| (s.name, s.size, s.limit))
            .collect();
        self.watch
            .observe_world(&WorldRecord::Sizes { at, sizes: &sizes });
    }

    /// The safety phase is over: nobody comes any more, faults and losses end, all drain.
    fn heal(&mut self) {
        let now = self.now();
        self.phase = Phase::Liveness;
        self.timeline.healed_at = Some(now.since(START));
        self.end_all_faults();
        self.watch.observe_world(&WorldRecord::Healed { at: now });
        self.drain_all();
    }

    /// Lets every user finish, and read its inbox to the end.
    fn drain_all(&mut self) {
        self.drains += 1;
        let now = self.now();
        self.busy = 0;
        for client in &mut self.clients {
            client.user.begin_drain(now, &mut self.watch);
            self.busy += u64::from(client.look_whether_done());
        }
        for agent in 0..u32::try_from(self.clients.len()).unwrap_or(u32::MAX) {
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
            // One that drained early has not had what others said while they finished.
            0 | 1 => self.drain_all(),
            // In the steps form nobody waits for anything by itself: what somebody in line or with
            // a claim is owed is given its time, and then looked for, for as long as the first time.
            2 if scripted && self.timeline.quiet_at.is_none() => {
                self.timeline.quiet_at = Some(self.now().since(START));
                let wait = self.plan.server.stick_lease + self.plan.server.interest_patience;
                let latest = Time(self.ends_at.0.saturating_sub(Span::secs(1).0));
                let at = (self.now() + wait + OWED_WITHIN).min(latest);
                self.agenda.at(at, Event::DrainAgain);
                self.ends_at = at + self.plan.liveness;
                self.agenda.at(self.ends_at, Event::End);
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
        self.report_sizes();
        let now = self.now();
        self.timeline.ended_at = now.since(START);
        if let Some(node) = self.server.node.as_ref()
            && let Err(broken) = node.hub().validate()
        {
            panic!("broken invariant: {broken}");
        }
        self.watch.observe_world(&WorldRecord::Ended { at: now });
    }

    /// What the run was, which is over.
    fn ran(self) -> Ran {
        let users = self.clients.iter().map(|client| RanUser {
            name: Arc::clone(client.user.given_name()),
            waiting: client.user.stuck().or_else(|| client.user.pending()),
        });
        let left_out = self.clients.iter().map(|client| client.user.left_out());
        Ran {
            seed: self.seed,
            trace_hash: self.hash,
            ended_at: self.agenda.now(),
            users: users.collect(),
            by_persona: self.by_persona,
            left_out: left_out.sum(),
            steps: self.steps,
            tally: self.watch.finish(),
            timeline: self.timeline,
        }
    }
}

#[cfg(test)]
mod tests;
