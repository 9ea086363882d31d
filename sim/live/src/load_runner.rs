//! The load runner, which owns all users of a live run: it wakes them at their times, sends their
//! requests, and passes them the answers.
//!
//! The load is an open loop: users start at planned times, whatever the server does. The runner has
//! one thread. The tasks that talk to the server send it what they read over one channel, in order
//! of arrival.
//!
//! This file has the event queue and the phases of a run. `requests.rs` performs users' requests and
//! passes them the answers, and `faults.rs` has the faults of clients.

mod faults;
mod requests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use chat_types::{Span, Time, mix};

use super::client::Client;
use super::clock::Clock;
use super::driver_metrics::DriverMetrics;
use super::nemesis::Nemesis;
use super::pool::Pool;
use super::watch::Watch;
use sim_model::draw::{Actor, Draw};
use sim_model::history::{Observer as _, RunEvent, WorldRecord};
use sim_model::outcome::{LostTarget, Progress, START, Timeline, WorldOutcome};
use sim_model::plan::{Fault, Plan};
use sim_model::protocol::Agent;
use sim_user::arrivals::{Arrival, arrivals};
use sim_user::{Script, VirtualUser};

/// The number of messages from the network that are handled before the event queue is checked
/// again.
const BATCH: usize = 128;

/// The longest time for which the owner sleeps.
const REST: Duration = Duration::from_millis(100);

/// The time between two users that are asked to drain, and the largest time between the first and
/// the last.
const APART: Span = Span::micros(500);
const ALL_APART: Span = Span::secs(3);

/// The number of columns of the timeline.
const BUCKETS: u64 = 64;

/// An entry of the event queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wakeup {
    /// The next user arrives.
    Arrival,
    /// A fault of the plan begins.
    Fault(usize),
    /// A suspended process goes on.
    Awake(u32),
    /// A step of a script.
    Script(u32),
    /// A user's timer.
    Timer(u32),
    /// The safety phase ends.
    Heal,
    /// This user is asked to drain.
    Drain(u32),
    /// The run ends.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Safety,
    /// The nemesis mends its faults.
    Mending,
    Liveness,
    Over,
}

/// All users of a run, and their requests.
pub(super) struct LoadRunner<'a, 'o> {
    plan: &'a Plan,
    clock: Clock,
    pub(super) pool: Pool,
    pub(super) metrics: DriverMetrics<'o>,
    progress: &'a Progress,
    wakeups: BinaryHeap<Reverse<(Time, Wakeup)>>,
    arrivals: std::vec::IntoIter<Arrival>,
    pub(super) clients: Vec<Client>,
    /// The largest number of users. Each may have a stream and a request at once, and needs a
    /// connection for each.
    most_clients: usize,
    /// What is known of the outcome so far.
    pub(super) ran: WorldOutcome,
    phase: Phase,
    /// The number of clients that are not done, and of those not yet asked to drain in this round.
    busy: usize,
    not_asked: usize,
    rounds: u32,
    /// The last failure of a connection.
    pub(super) last_failure: Option<String>,
    watch: Watch,
    /// The faults of this seed, and the draws of their victims.
    faults: Vec<Fault>,
    fault_draw: Draw,
    pub(super) nemesis: Option<Nemesis>,
    /// The loss of the target, which ended the run.
    pub(super) lost: Option<LostTarget>,
}

impl<'a, 'o> LoadRunner<'a, 'o> {
    pub(super) fn new(
        plan: &'a Plan,
        seed: u64,
        pool: Pool,
        metrics: DriverMetrics<'o>,
        progress: &'a Progress,
        most_clients: usize,
    ) -> Self {
        let arrivals = arrivals(&plan.workload, &mut Draw::new(seed, Actor::Arrivals));
        let mut hash = mix(0, seed);
        for arrival in &arrivals {
            hash = mix(hash, arrival.at.0 ^ ((arrival.persona as u64) << 48));
        }
        let personas = plan.workload.personas().len();
        let clock = pool.net.clock;
        Self {
            plan,
            clock,
            pool,
            metrics,
            progress,
            wakeups: BinaryHeap::new(),
            arrivals: arrivals.into_iter(),
            clients: Vec::new(),
            most_clients,
            ran: WorldOutcome {
                seed,
                trace_hash: hash,
                by_persona: vec![0; personas],
                timeline: Timeline::new(Span((plan.duration.0 / BUCKETS).max(1))),
                ..WorldOutcome::default()
            },
            phase: Phase::Safety,
            busy: 0,
            not_asked: 0,
            rounds: 0,
            last_failure: None,
            watch: Watch::new(clock.now()),
            faults: plan.faults_of(seed),
            fault_draw: Draw::new(seed, Actor::Faults),
            nemesis: None,
            lost: None,
        }
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) {
        self.begin();
        while self.phase != Phase::Over {
            if self.phase == Phase::Safety && self.progress.is_interrupted() {
                self.end_safety(self.clock.now());
            }
            self.wake_all();
            self.receive_all();
            self.look_after();
        }
        if let Some(nemesis) = &mut self.nemesis {
            nemesis.dismiss(&self.clock);
        }
    }

    fn begin(&mut self) {
        self.at(START + self.plan.duration, Wakeup::Heal);
        let workload = &self.plan.workload;
        for user in workload.users() {
            let script = Script::Manual(user.clone().into());
            self.add(script, user.name.as_str(), START);
        }
        for (index, step) in (0..).zip(workload.steps()) {
            self.at(START + step.at, Wakeup::Script(index));
        }
        self.plan_faults();
        self.metrics.starts.planned += self.arrivals.len() as u64;
        self.schedule_arrival();
    }

    fn at(&mut self, at: Time, wake: Wakeup) {
        self.wakeups.push(Reverse((at, wake)));
    }

    /// Handles what is due.
    fn wake_all(&mut self) {
        for _ in 0..BATCH {
            let now = self.clock.now();
            match self.wakeups.peek() {
                Some(Reverse((due, _))) if *due <= now => {}
                Some(_) | None => return,
            }
            if let Some(Reverse((due, wake))) = self.wakeups.pop() {
                self.wake(due, wake);
            }
            if self.phase == Phase::Over {
                return;
            }
        }
    }

    fn wake(&mut self, due: Time, wake: Wakeup) {
        let now = self.clock.now();
        match wake {
            Wakeup::Timer(agent) => {
                if !self.timer_is_due(agent, due) {
                    return;
                }
                self.metrics.record_delay(due, now);
                let user = &mut self.clients[agent as usize].user;
                user.handle_timeout(now, &mut self.metrics);
                self.settle(agent);
            }
            Wakeup::Arrival => self.arrive(due, now),
            Wakeup::Fault(index) => self.start_fault(index, now),
            Wakeup::Awake(agent) => self.awake(agent, now),
            Wakeup::Script(index) => {
                self.metrics.record_delay(due, now);
                self.perform(index, now);
            }
            // An interrupt has healed it before.
            Wakeup::Heal if self.phase != Phase::Safety => {}
            Wakeup::Heal => self.end_safety(now),
            Wakeup::Drain(agent) => self.drain(agent, now),
            Wakeup::End => self.end(now),
        }
        self.ran.steps += 1;
    }

    /// Handles messages from the network, or sleeps until something is due.
    fn receive_all(&mut self) {
        let rest = match self.wakeups.peek() {
            Some(Reverse((due, _))) => self.clock.until(*due).min(REST),
            None => REST,
        };
        let mut first = self.pool.messages.recv_timeout(rest).ok();
        for _ in 0..=BATCH {
            let next = || self.pool.messages.try_recv().ok();
            match first.take().or_else(next) {
                Some(message) => self.receive(message),
                None => return,
            }
        }
    }

    /// Measures the driver, asks a silent target, and shows the progress.
    fn look_after(&mut self) {
        let now = self.clock.now();
        self.look_after_nemesis(now);
        self.metrics.load.end_window(now);
        if self.watch.begins_to_ask(now) {
            self.pool.ask_target();
        }
        if let Some(live) = self.metrics.progress(now) {
            self.progress
                .tell_live(now.since(START), self.busy as u64, live);
        }
    }

    fn schedule_arrival(&mut self) {
        if let Some(arrival) = self.arrivals.as_slice().first() {
            self.at(START + arrival.at, Wakeup::Arrival);
        }
    }

    fn arrive(&mut self, due: Time, now: Time) {
        let Some(arrival) = self.arrivals.next() else {
            return;
        };
        self.schedule_arrival();
        if self.phase != Phase::Safety || self.clients.len() >= self.most_clients {
            self.metrics.starts.dropped += 1;
            return;
        }
        self.metrics.record_delay(due, now);
        self.metrics.record_start(due, now);
        let persona = Arc::clone(&self.plan.workload.personas()[arrival.persona]);
        self.ran.by_persona[arrival.persona] += 1;
        let agent = self.next_agent();
        let arrived = RunEvent::Arrived(Agent(agent), arrival.persona);
        self.metrics.observe(arrived);
        let name = format!("{}#{agent}", persona.name);
        self.add(Script::Flow(persona), &name, due);
    }

    fn next_agent(&self) -> u32 {
        u32::try_from(self.clients.len()).expect("the plan limits users")
    }

    fn add(&mut self, script: Script, name: &str, meant: Time) {
        let now = self.clock.now();
        let agent = self.next_agent();
        self.ran.timeline.arrive(meant.since(START));
        let given = self.pool.net.writer.names.of_run(name).into();
        let user = VirtualUser::new(Agent(agent), script, self.plan.client, self.ran.seed, given);
        let user = user.known_as(name.into());
        let door = agent as usize % self.pool.net.connector.doors();
        self.clients.push(Client::new(user, door));
        self.busy += 1;
        let user = &mut self.clients[agent as usize].user;
        user.start(now, meant, &mut self.metrics);
        self.settle(agent);
    }

    fn perform(&mut self, index: u32, now: Time) {
        if let Some(step) = self.plan.workload.steps().get(index as usize) {
            let user = &mut self.clients[step.user as usize].user;
            user.manual(now, &step.what, &step.leave_out, None, &mut self.metrics);
            self.settle(step.user);
        }
    }

    /// Ends the safety phase at its time, by an interrupt or by a failure of the nemesis: arrivals
    /// stop, and the nemesis mends its faults first.
    fn end_safety(&mut self, now: Time) {
        match &mut self.nemesis {
            Some(nemesis) => {
                self.phase = Phase::Mending;
                nemesis.end(now);
            }
            None => self.heal(now),
        }
    }

    /// Begins the liveness phase, without faults: all users drain.
    fn heal(&mut self, now: Time) {
        self.phase = Phase::Liveness;
        self.at(now + self.plan.liveness, Wakeup::End);
        self.end_faults();
        self.ran.timeline.healed_at = Some(now.since(START));
        self.metrics.observe_world(now, &WorldRecord::Healed);
        self.drain_all(now);
    }

    /// Lets every user finish and drain its inbox, one after another: many departures at once would
    /// be unplanned load.
    fn drain_all(&mut self, now: Time) {
        self.rounds += 1;
        self.not_asked = self.clients.len();
        let users = self.not_asked.max(1) as u64;
        let apart = Span(APART.0.min(ALL_APART.0 / users));
        for agent in 0..u32::try_from(self.not_asked).unwrap_or(u32::MAX) {
            self.at(now + apart.times(u64::from(agent)), Wakeup::Drain(agent));
        }
        self.end_if_quiet(now);
    }

    fn drain(&mut self, agent: u32, now: Time) {
        self.not_asked -= 1;
        let client = &mut self.clients[agent as usize];
        client.user.begin_drain(now, &mut self.metrics);
        let was = std::mem::replace(&mut client.done, client.user.is_done());
        self.busy = self.busy + usize::from(was) - usize::from(client.done);
        self.settle(agent);
        self.end_if_quiet(now);
    }

    fn end_if_quiet(&mut self, now: Time) {
        if self.phase != Phase::Liveness || self.busy > 0 || self.not_asked > 0 {
            return;
        }
        // Users that drained early have not received what others sent while they finished.
        if self.rounds < 2 {
            self.drain_all(now);
        } else {
            self.ran.timeline.quiet_at.get_or_insert(now.since(START));
            self.end(now);
        }
    }

    fn end(&mut self, now: Time) {
        if self.phase != Phase::Over {
            self.phase = Phase::Over;
            self.ran.timeline.ended_at = now.since(START);
            self.metrics.observe_world(now, &WorldRecord::Ended);
        }
    }
}
