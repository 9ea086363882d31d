//! Planned faults: their beginnings and ends.

use std::sync::Arc;

use chat_core::Address;
use chat_types::{Span, Time};
use sim_model::server::ServerRecord;

use super::{Phase, START, World};
use crate::disk::Unsynced;
use crate::event_queue::Event;
use sim_model::draw::{Actor, Draw};
use sim_model::history::{FaultRecord, Observer, RunEvent, WorldRecord};
use sim_model::outcome::Point;
use sim_model::plan::{ClientHarm, Delivery, FaultKind, Milestone, Outage, Reached, Victims};
use sim_model::protocol::User;

/// The least jump of a clock that a server takes for a step, as `server/storage/src/clock.rs` does.
const STEP: Span = Span::secs(1);

/// The active faults.
#[derive(Clone, Debug)]
pub(super) struct ActiveFaults {
    pub(super) draw: Draw,
    /// Faults that wait for their milestones.
    armed: Vec<ArmedFault>,
    answer_fault: AnswerFault,
    slow_disk: (Time, u32),
    fail_disk: (Time, Unsynced),
    /// The muted users, the latest last.
    pub(super) muted: Vec<u32>,
    /// The users that were banned or muted, with their names at the time, the latest last.
    pub(super) barred: Vec<(u32, User, Arc<str>)>,
    /// The users whose addresses were banned or muted, with these addresses, the latest last.
    pub(super) address_banned: Vec<(u32, Address)>,
}

/// A fault that waits for its milestone.
#[derive(Clone, Copy, Debug)]
struct ArmedFault {
    fault: u32,
    milestone: Milestone,
    /// The count of the milestone when the wait began.
    before: u64,
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

    /// Draws victims from another generator from here on.
    pub(super) fn rekey(&mut self, draw: Draw) {
        self.draw = draw;
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

    /// Which of the faults that are known here alone are active at `now`.
    pub(super) fn active(&self, now: Time) -> [bool; 2] {
        [self.disk_factor(now) > 1, self.disk_fails(now).is_some()]
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
        match self.fault(index).milestone {
            None => self.start_fault(index),
            Some(milestone) => {
                let before = self.reached(milestone.reached);
                self.active_faults.armed.push(ArmedFault {
                    fault: index,
                    milestone,
                    before,
                });
            }
        }
    }

    /// Starts the faults whose milestones are reached.
    pub(super) fn reach_milestones(&mut self) {
        if self.active_faults.armed.is_empty() || self.phase != Phase::Safety {
            return;
        }
        let is_reached = |one: &ArmedFault| {
            self.reached(one.milestone.reached) >= one.before + u64::from(one.milestone.count)
        };
        let armed = self.active_faults.armed.iter().copied();
        let (due, armed): (Vec<ArmedFault>, Vec<ArmedFault>) = armed.partition(is_reached);
        self.active_faults.armed = armed;
        for one in due {
            self.start_fault(one.fault);
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
        self.timeline
            .mark(now.since(START), kind.row().label, Some(index as usize));
        let lasting = match kind {
            FaultKind::Down { down_for, how } => {
                return match how {
                    Outage::Stop => self.stop(*down_for),
                    Outage::Crash | Outage::CrashUnsynced => self.crash(*how, *down_for),
                };
            }
            FaultKind::Configure(config) => {
                self.server.config = Some(config.clone());
                return;
            }
            FaultKind::ClockJump { by } => return self.jump_clock(*by),
            FaultKind::DamageDisk {
                what,
                of,
                restore_after,
            } => {
                self.server.restore_after = *restore_after;
                self.damage_disk(*what, *of);
                return;
            }
            FaultKind::Member {
                what,
                which,
                duration,
                percent,
            } => return self.strike_member((*what, *percent), *which, *duration),
            FaultKind::Log { what, duration } => {
                self.strike_log(*what, *duration);
                *duration
            }
            FaultKind::LoseReplies => {
                self.active_faults.answer_fault = AnswerFault::LoseNextTurn;
                return;
            }
            FaultKind::Operator(act) => return self.operate(index, act),
            FaultKind::Clients {
                what,
                victims,
                duration,
            } => {
                self.strike_clients(index, *what, victims, now + *duration);
                *duration
            }
            FaultKind::SlowDisk { factor, duration } => {
                self.active_faults.slow_disk = (now + *duration, *factor);
                *duration
            }
            FaultKind::FailDisk { duration, unknown } => {
                let how = if *unknown {
                    Unsynced::Written
                } else {
                    Unsynced::Lost
                };
                self.active_faults.fail_disk = (now + *duration, how);
                *duration
            }
        };
        self.events.schedule(now + lasting, Event::FaultEnds(index));
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
        let at = self.now();
        self.observers
            .observe_world(&WorldRecord::ClockJumped { at, by });
        let at = self.server_now();
        self.observers.observe_server(&ServerRecord::Excused { at });
        if by >= STEP
            && let Some(node) = self.server.node_mut()
        {
            node.clock_stepped();
            self.observers
                .observe_server(&ServerRecord::ClockStepped { at });
        }
        match self.server.cluster {
            Some(_) => self.wake_owner(),
            None => self.node_due(),
        }
    }

    /// Ends a fault. Most faults end by the clock alone; the others need an action.
    pub(super) fn fault_ends(&mut self, index: u32) {
        match self.fault(index).kind {
            FaultKind::Clients {
                what: ClientHarm::SlowReaders,
                ..
            } => self.resume_all_readers(),
            FaultKind::FailDisk { .. } => self.resolve_unknown_append(),
            FaultKind::Log { what, .. } => self.heal_log(what),
            FaultKind::Down { .. }
            | FaultKind::Configure(_)
            | FaultKind::Clients { .. }
            | FaultKind::SlowDisk { .. }
            | FaultKind::DamageDisk { .. }
            | FaultKind::Member { .. }
            | FaultKind::ClockJump { .. }
            | FaultKind::LoseReplies
            | FaultKind::Operator(_) => {}
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

    pub(super) fn client_count(&self) -> u32 {
        u32::try_from(self.clients.len()).unwrap_or(u32::MAX)
    }

    /// The victims of the fault, in order.
    fn victims(&mut self, fault: u32, victims: &Victims) -> Vec<u32> {
        let there = (0..)
            .zip(&self.clients)
            .filter(|(_, client)| client.is_there());
        let there = there.map(|(agent, _)| agent);
        let struck = victims.strike(there, &mut self.active_faults.draw);
        self.record_victims(fault, &struck);
        struck
    }

    pub(super) fn record_victims(&mut self, fault: u32, victims: &[u32]) {
        let (fault, victims) = (fault as usize, victims.to_vec());
        let (now, applied) = (self.now(), FaultRecord::Applied { fault, victims });
        self.observers.observe(RunEvent::Fault(now, &applied));
    }
}
