//! Planned faults: their beginnings and ends.

use std::sync::Arc;

use chat_core::Address;
use chat_types::{Span, Time};
use sim_model::server::ServerRecord;

use super::{Client, Phase, START, World};
use crate::disk::Unsynced;
use crate::event_queue::Event;
use sim_model::draw::{Actor, Draw};
use sim_model::history::{FaultRecord, WorldRecord};
use sim_model::outcome::Point;
use sim_model::plan::{ClientHarm, Delivery, FaultKind, Milestone, Outage, Reached, Victims};
use sim_model::protocol::User;

/// The least jump of a clock that a server takes for a step, as `server/storage/src/clock.rs` does.
const STEP: Span = Span::secs(1);

/// The active faults.
#[derive(Clone, Debug)]
pub(super) struct ActiveFaults {
    pub(super) draw: Draw,
    /// Faults that wait for their milestones: the fault, the milestone, and its count by then.
    armed: Vec<(u32, Reached, u64)>,
    answer_fault: AnswerFault,
    slow_disk: (Time, u32),
    fail_disk: (Time, Unsynced),
    /// The muted users, the latest last.
    pub(super) muted: Vec<u32>,
    /// The users that were banned or muted, with their names at the time, the latest last.
    pub(super) barred: Vec<(u32, (User, Arc<str>))>,
    /// The users whose addresses were banned or muted, with these addresses, the latest last.
    pub(super) address_banned: Vec<(u32, Address)>,
}

/// How faults affect answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerFault {
    /// Answers arrive.
    None,
    /// All answers of the next turn are lost.
    LoseNextTurn,
    /// An answer of this turn was lost, so that its other answers are lost, too.
    LoseThisTurn,
}

impl ActiveFaults {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            draw: Draw::new(seed, Actor::Faults),
            armed: Vec::new(),
            answer_fault: AnswerFault::None,
            slow_disk: (START, 1),
            fail_disk: (START, Unsynced::Lost),
            muted: Vec::new(),
            barred: Vec::new(),
            address_banned: Vec::new(),
        }
    }

    /// The fate of an answer that leaves now, if a fault decides it.
    pub(super) fn answer_fate(&mut self) -> Option<Delivery> {
        if self.answer_fault == AnswerFault::None {
            return None;
        }
        self.answer_fault = AnswerFault::LoseThisTurn;
        Some(Delivery::Lost)
    }

    /// Marks the end of a turn's answers.
    pub(super) fn end_turn_of_answers(&mut self) {
        if self.answer_fault == AnswerFault::LoseThisTurn {
            self.answer_fault = AnswerFault::None;
        }
    }

    /// The current slowdown of commits.
    pub(super) fn disk_factor(&self, now: Time) -> u32 {
        let (until, factor) = self.slow_disk;
        if now < until { factor } else { 1 }
    }

    /// Whether appends fail at `now`: with nothing written, or with an unknown outcome.
    pub(super) fn disk_fails(&self, now: Time) -> Option<Unsynced> {
        let (until, how) = self.fail_disk;
        (now < until).then_some(how)
    }
}

impl World<'_, '_> {
    /// Starts a fault. A fault with a milestone waits for it.
    pub(super) fn fault_begins(&mut self, index: u32) {
        let Some(Milestone { reached, count }) = self.fault(index).milestone else {
            return self.start_fault(index);
        };
        let due = self.reached(reached) + u64::from(count);
        self.active_faults.armed.push((index, reached, due));
    }

    /// Starts the faults whose milestones are reached.
    pub(super) fn reach_milestones(&mut self) {
        if self.active_faults.armed.is_empty() || self.phase != Phase::Safety {
            return;
        }
        let is_due = |(_, what, count): &(u32, Reached, u64)| self.reached(*what) >= *count;
        // Mostly none is, and then nothing is copied.
        if !self.active_faults.armed.iter().any(is_due) {
            return;
        }
        let armed = self.active_faults.armed.iter().copied();
        let (due, armed): (Vec<_>, Vec<_>) = armed.partition(is_due);
        self.active_faults.armed = armed;
        for (fault, ..) in due {
            self.start_fault(fault);
        }
    }

    /// The number of times that the run has reached the milestone.
    fn reached(&self, what: Reached) -> u64 {
        let tally = &self.observers.points.tally;
        let coverage = &tally.coverage;
        match what {
            Reached::Sometimes(name) => Point::named(name).map_or(0, |point| tally.count(point)),
            Reached::Stick(name) => coverage.stick.get(name).copied().unwrap_or(0),
            Reached::Timer(name) => coverage.timers.get(name).copied().unwrap_or(0),
        }
    }

    fn start_fault(&mut self, index: u32) {
        self.apply_fault(index);
        self.tell_hindrances();
    }

    fn apply_fault(&mut self, index: u32) {
        let kind = &self.fault(index).kind.clone();
        let now = self.now();
        let (at, label) = (now.since(START), kind.row().label);
        self.timeline.mark(at, label, Some(index as usize));
        let until = now + kind.length();
        match kind {
            FaultKind::Down { down_for, how } if *how == Outage::Stop => self.stop(*down_for),
            FaultKind::Down { down_for, how } => self.crash(*how, *down_for),
            FaultKind::Configure(config) => self.server.config = Arc::from(config.clone()),
            FaultKind::ClockJump { by } => self.jump_clock(*by),
            FaultKind::DamageDisk {
                what,
                of,
                restore_after,
            } => {
                self.server.restore_after = *restore_after;
                self.damage_disk(*what, *of);
            }
            FaultKind::Member {
                what,
                which,
                duration,
                percent,
            } => self.strike_member((*what, *percent), *which, *duration),
            FaultKind::Log { what, duration } => self.strike_log(*what, *duration),
            FaultKind::LoseReplies => self.active_faults.answer_fault = AnswerFault::LoseNextTurn,
            FaultKind::Operator(act) => self.operate(index, act),
            FaultKind::Clients { what, victims, .. } => {
                self.strike_clients(index, *what, victims, until);
            }
            FaultKind::SlowDisk { factor, .. } => self.active_faults.slow_disk = (until, *factor),
            FaultKind::FailDisk { unknown, .. } => {
                let how = match unknown {
                    true => Unsynced::Written,
                    false => Unsynced::Lost,
                };
                self.active_faults.fail_disk = (until, how);
            }
        }
        // The ends of the others are events of their own.
        match kind {
            FaultKind::Log { .. }
            | FaultKind::Clients { .. }
            | FaultKind::SlowDisk { .. }
            | FaultKind::FailDisk { .. } => self.events.schedule(until, Event::FaultEnds(index)),
            FaultKind::Down { .. }
            | FaultKind::Configure(_)
            | FaultKind::ClockJump { .. }
            | FaultKind::DamageDisk { .. }
            | FaultKind::Member { .. }
            | FaultKind::LoseReplies
            | FaultKind::Operator(_) => {}
        }
    }

    fn strike_clients(&mut self, fault: u32, what: ClientHarm, victims: &Victims, until: Time) {
        for agent in self.victims(fault, victims) {
            match what {
                ClientHarm::Partition => self.cut(agent, until),
                ClientHarm::SlowReaders => {
                    let client = &mut self.clients[agent as usize];
                    client.slow_until = client.slow_until.max(until);
                }
                ClientHarm::Suspend => self.suspend(agent, until),
            }
        }
    }

    /// What the node decided before the clock is set leaves with the old time.
    pub(super) fn jump_clock(&mut self, by: Span) {
        if self.jump_after_turn(by) {
            return;
        }
        self.hand_out();
        if self.server.appending {
            // The batch in flight has the time of before, which the server wrote with it.
            let before = self.server_now();
            self.server.batch_at.get_or_insert(before);
        }
        self.server.clock_ahead = self.server.clock_ahead + by;
        self.tell_world(&WorldRecord::ClockJumped { by });
        self.tell_server(&ServerRecord::Excused);
        if by >= STEP
            && let Some(node) = self.server.node_mut()
        {
            node.clock_stepped();
            self.tell_server(&ServerRecord::ClockStepped);
        }
        match self.server.cluster {
            Some(_) => self.wake_owner(),
            None => self.node_due(),
        }
    }

    /// Ends a fault. Most faults end by the clock alone; the others need an action.
    pub(super) fn fault_ends(&mut self, index: u32) {
        let kind = &self.fault(index).kind;
        if let FaultKind::Clients { what, .. } = kind
            && *what == ClientHarm::SlowReaders
        {
            self.resume_all_readers();
        } else if let FaultKind::FailDisk { .. } = kind {
            self.resolve_unknown_append();
        } else if let FaultKind::Log { what, .. } = *kind {
            self.heal_log(what);
        }
    }

    fn resume_all_readers(&mut self) {
        let now = self.now();
        for agent in 0..self.client_count() {
            if self.clients[agent as usize].slow_until <= now {
                self.resume_reader(agent);
            }
        }
    }

    /// Ends all faults.
    pub(super) fn end_all_faults(&mut self) {
        let now = self.now();
        self.active_faults.armed.clear();
        self.active_faults.answer_fault = AnswerFault::None;
        self.active_faults.slow_disk = (now, 1);
        self.active_faults.fail_disk.0 = now;
        self.server.disk.restore();
        self.network.heal(now);
        for client in &mut self.clients {
            client.slow_until = client.slow_until.min(now);
        }
        self.restart();
        self.heal_cluster();
        self.resolve_unknown_append();
        self.resume_all_readers();
    }

    /// A bit for each kind of trouble: the server is down, the disk is slow, it fails, a client is cut
    /// off, suspended or reads slowly, faults are over, a server is paused, several have trouble.
    pub(super) fn wrong(&self) -> u64 {
        let now = self.now();
        let any = |is: &dyn Fn(&Client) -> bool| self.clients.iter().any(is);
        let cluster = self.server.cluster.as_ref();
        let active = [
            self.server.node().is_none(),
            self.active_faults.disk_factor(now) > 1,
            self.active_faults.disk_fails(now).is_some(),
            self.network.is_any_cut(now),
            any(&|client| client.asleep_until > now),
            any(&|client| client.slow_until > now),
            self.phase != Phase::Safety,
            self.server.is_paused(now),
            cluster.is_some_and(|cluster| cluster.has_trouble(now)),
        ];
        let bits = (0..).zip(active);
        bits.fold(0, |bits, (place, is)| bits | (u64::from(is) << place))
    }

    /// The victims of the fault, in order.
    fn victims(&mut self, fault: u32, victims: &Victims) -> Vec<u32> {
        let clients = (0..).zip(&self.clients);
        let there = clients.filter(|(_, client)| client.is_there());
        let there = there.map(|(agent, _)| agent);
        let struck = victims.strike(there, &mut self.active_faults.draw);
        self.record_victims(fault, &struck);
        struck
    }

    pub(super) fn record_victims(&mut self, fault: u32, victims: &[u32]) {
        let (fault, victims) = (fault as usize, victims.to_vec());
        self.tell_fault(&FaultRecord::Applied { fault, victims });
    }
}
