//! Planned faults: their beginnings and ends.

use std::sync::Arc;

use chat_core::{Address, Call, Operate, RoomId, UserId};
use chat_types::{Span, Time};
use sim_model::server::ServerRecord;

use super::in_flight::InFlight;
use super::{Phase, START, World};
use crate::disk::Unsynced;
use crate::event_queue::Event;
use crate::translate;
use sim_model::draw::{Actor, Draw};
use sim_model::history::{NetworkRecord, Observer, WorldRecord};
use sim_model::outcome::Point;
use sim_model::plan::{
    Delivery, FaultKind, Milestone, OperatorAct, OperatorVerb, Outage, Reached, Victims,
};
use sim_model::protocol::{Room, User};

/// The reason that simulated operators give.
const REASON: &str = "simulated";
/// The largest number of a room that an operator names by mistake.
const STRAY_ROOMS: u64 = 8;

/// The active faults.
#[derive(Clone, Debug)]
pub(super) struct ActiveFaults {
    draw: Draw,
    /// Faults that wait for their milestones.
    armed: Vec<ArmedFault>,
    answer_fault: AnswerFault,
    slow_disk: (Time, u32),
    fail_disk: (Time, Unsynced),
    /// The muted users, the latest last.
    muted: Vec<u32>,
    /// The banned users with their names at the time, the latest last.
    banned: Vec<(u32, User, Arc<str>)>,
    /// The users whose addresses were banned, the latest last.
    address_banned: Vec<u32>,
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
            banned: Vec::new(),
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
        let tally = self.observers.points.tally();
        let coverage = tally.coverage();
        match what {
            Reached::Sometimes(name) => {
                Point::from_name(name).map_or(0, |point| tally.count(point))
            }
            Reached::Stick(name) => coverage.stick.get(name).copied().unwrap_or(0),
            Reached::Timer(name) => coverage.timers.get(name).copied().unwrap_or(0),
        }
    }

    fn start_fault(&mut self, index: u32) {
        let kind = &self.fault(index).kind.clone();
        let now = self.now();
        self.timeline.mark(now.since(START), kind.label());
        let lasting = match kind {
            FaultKind::Down { down_for, how } => {
                match how {
                    Outage::Stop => self.stop(*down_for),
                    Outage::Crash | Outage::CrashUnsynced => self.crash(*how, *down_for),
                }
                return;
            }
            FaultKind::Configure(config) => {
                self.server.config = Some(config.clone());
                return;
            }
            FaultKind::ClockJump { by } => {
                self.jump_clock(*by);
                return;
            }
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
            } => {
                self.strike_member(*what, *which, *duration);
                return;
            }
            FaultKind::Log { what, duration } => {
                self.strike_log(*what, *duration);
                *duration
            }
            FaultKind::LoseReplies => {
                self.active_faults.answer_fault = AnswerFault::LoseNextTurn;
                return;
            }
            FaultKind::Operator(act) => {
                self.operate(index, *act);
                return;
            }
            FaultKind::Partition { victims, duration } => {
                for agent in self.victims(index, victims) {
                    self.cut(agent, now + *duration);
                }
                *duration
            }
            FaultKind::SlowReaders { victims, duration } => {
                for agent in self.victims(index, victims) {
                    let client = &mut self.clients[agent as usize];
                    client.slow_until = client.slow_until.max(now + *duration);
                }
                *duration
            }
            FaultKind::Suspend { victims, duration } => {
                for agent in self.victims(index, victims) {
                    self.suspend(agent, now + *duration);
                }
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

    fn jump_clock(&mut self, by: Span) {
        // Outputs that the node decided before the clock jump leave with the old time.
        self.hand_out();
        self.server.clock_ahead = self.server.clock_ahead + by;
        let at = self.now();
        self.observers
            .observe_world(&WorldRecord::ClockJumped { at, by });
        let at = self.server_now();
        self.observers
            .observe_server(&ServerRecord::ClockJumped { at, by });
        match self.server.cluster {
            Some(_) => self.wake_owner(),
            None => self.node_due(),
        }
    }

    /// Ends a fault. Most faults end by the clock alone; the others need an action.
    pub(super) fn fault_ends(&mut self, index: u32) {
        match self.fault(index).kind {
            FaultKind::SlowReaders { .. } => self.resume_all_readers(),
            FaultKind::FailDisk { .. } => self.resolve_unknown_append(),
            FaultKind::Log { what, .. } => self.heal_log(what),
            FaultKind::Down { .. }
            | FaultKind::Configure(_)
            | FaultKind::Partition { .. }
            | FaultKind::SlowDisk { .. }
            | FaultKind::DamageDisk { .. }
            | FaultKind::Member { .. }
            | FaultKind::Suspend { .. }
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
        for client in &mut self.clients {
            client.cut_until = client.cut_until.min(now);
            client.slow_until = client.slow_until.min(now);
        }
        self.restart();
        self.heal_cluster();
        self.resolve_unknown_append();
        self.resume_all_readers();
    }

    fn client_count(&self) -> u32 {
        u32::try_from(self.clients.len()).unwrap_or(u32::MAX)
    }

    /// The victims of the fault, in order.
    fn victims(&mut self, fault: u32, victims: &Victims) -> Vec<u32> {
        let struck = match victims {
            Victims::Users(users) => users.clone(),
            Victims::Share(share) => {
                let mut struck = Vec::new();
                for agent in 0..self.client_count() {
                    if self.clients[agent as usize].is_there()
                        && self.active_faults.draw.chance(*share)
                    {
                        struck.push(agent);
                    }
                }
                struck
            }
        };
        self.record_victims(fault, &struck);
        struck
    }

    fn record_victims(&mut self, fault: u32, victims: &[u32]) {
        let (at, fault) = (self.now(), fault as usize);
        self.observers
            .observe_network(&NetworkRecord::FaultApplied { at, fault, victims });
    }

    /// Submits an operator's call directly, without a network. The user is drawn unless it is
    /// named.
    fn operate(&mut self, index: u32, act: OperatorAct) {
        match act.verb {
            OperatorVerb::Unban => return self.unban(index, act.user),
            OperatorVerb::UnbanAddress => return self.unban_address(index, act.user),
            OperatorVerb::Mute
            | OperatorVerb::Unmute
            | OperatorVerb::Kick
            | OperatorVerb::Close
            | OperatorVerb::Ban
            | OperatorVerb::MuteAddress
            | OperatorVerb::BanAddress => {}
        }
        let was_muted = act.verb == OperatorVerb::Unmute;
        let muted = was_muted.then(|| self.active_faults.muted.pop()).flatten();
        let Some(agent) = act.user.or(muted).or_else(|| self.draw_present_user(act)) else {
            return;
        };
        let Some(User(number)) = self.clients[agent as usize].user.identity() else {
            return;
        };
        self.record_victims(index, &[agent]);
        let Some(node) = self.server.node() else {
            return;
        };
        let user = UserId(number);
        let rooms = node.hub().rooms_of(user).to_vec();
        let name = node.hub().who_is(user).map(|who| (*who.name).into());
        let room = self.room_of_act(act, &rooms);
        let reason: Arc<str> = REASON.into();
        let operate = match act.verb {
            OperatorVerb::Mute => {
                self.active_faults.muted.push(agent);
                Operate::Mute { user, reason }
            }
            OperatorVerb::Unmute => Operate::Unmute { user },
            OperatorVerb::Kick => Operate::Kick {
                user,
                room: room.unwrap_or_default(),
                reason,
            },
            OperatorVerb::Close => Operate::Close {
                room: room.unwrap_or_default(),
                reason,
            },
            OperatorVerb::MuteAddress => {
                self.active_faults.address_banned.push(agent);
                Operate::MuteAddress {
                    address: self.address_of(agent),
                    reason,
                }
            }
            OperatorVerb::BanAddress | OperatorVerb::UnbanAddress => {
                self.active_faults.address_banned.push(agent);
                Operate::BanAddress {
                    address: self.address_of(agent),
                    reason,
                }
            }
            OperatorVerb::Ban | OperatorVerb::Unban => {
                if let Some(name) = name {
                    self.active_faults.banned.push((agent, User(number), name));
                }
                Operate::BanUser { user, reason }
            }
        };
        let room = room.map(|RoomId(room)| room);
        self.submit_act((act.verb.name(), Some(number), room), operate);
    }

    /// The room of an act: one of the user's, drawn if there are several. Sometimes an act names by
    /// mistake a room that the user is not in, or that is over.
    fn room_of_act(&mut self, act: OperatorAct, rooms: &[RoomId]) -> Option<RoomId> {
        let needs_room = matches!(act.verb, OperatorVerb::Kick | OperatorVerb::Close);
        if needs_room && act.user.is_none() && self.active_faults.draw.below(3) == 0 {
            let number = self.active_faults.draw.below(STRAY_ROOMS) + 1;
            return u32::try_from(number).ok().map(RoomId);
        }
        match rooms {
            [] => None,
            [room] => Some(*room),
            many => {
                let index = self.active_faults.draw.below(many.len() as u64);
                many.get(usize::try_from(index).ok()?).copied()
            }
        }
    }

    /// Lifts the ban of the named user, or the latest ban.
    fn unban(&mut self, index: u32, named: Option<u32>) {
        let banned = &mut self.active_faults.banned;
        let place = match named {
            Some(agent) => banned.iter().rposition(|(of, ..)| *of == agent),
            None => banned.len().checked_sub(1),
        };
        let Some(place) = place else {
            return;
        };
        let (agent, User(number), name) = banned.remove(place);
        self.record_victims(index, &[agent]);
        self.submit_act(("unban", Some(number), None), Operate::Unban { name });
    }

    /// Lifts the measure against the address of the named user, or the latest one.
    fn unban_address(&mut self, index: u32, named: Option<u32>) {
        let Some(agent) = named.or_else(|| self.active_faults.address_banned.pop()) else {
            return;
        };
        self.record_victims(index, &[agent]);
        let address = self.address_of(agent);
        let act = Operate::UnbanAddress { address };
        self.submit_act(("unban_address", None, None), act);
    }

    fn submit_act(
        &mut self,
        (verb, user, room): (&'static str, Option<u32>, Option<u32>),
        act: Operate,
    ) {
        let now = self.server_now();
        if self.server.node().is_none() {
            return;
        }
        let slot = self
            .in_flight
            .insert(InFlight::Operator { verb, user, room });
        let ask = translate::operate(&act);
        let call = Call::Operate {
            operator: "operator".into(),
            act,
        };
        self.submit(now, slot, Address(u64::MAX), call, &ask);
    }

    /// Draws a registered user to whom the act can apply.
    fn draw_present_user(&mut self, act: OperatorAct) -> Option<u32> {
        let node = self.server.node()?;
        let needs_room = matches!(act.verb, OperatorVerb::Kick | OperatorVerb::Close);
        let fits = |agent: &u32| {
            let client = &self.clients[*agent as usize];
            client.user.identity().is_some_and(|User(number)| {
                client.is_there()
                    && (!needs_room || !node.hub().rooms_of(UserId(number)).is_empty())
            })
        };
        let those: Vec<u32> = (0..self.client_count()).filter(fits).collect();
        let index = self.active_faults.draw.below(those.len() as u64);
        those.get(usize::try_from(index).ok()?).copied()
    }

    /// Records that an operator's act may have taken effect, because a crash took its answer.
    pub(super) fn record_possible_act(
        &mut self,
        verb: &'static str,
        user: Option<u32>,
        room: Option<u32>,
    ) {
        self.record_act(verb, user, room);
        if verb == "mute" {
            // If a user may be muted again, nothing certain can be recorded, except that it may
            // speak.
            self.record_act("unmute", user, room);
        }
    }

    /// Records that an operator's act took effect.
    pub(super) fn record_act(&mut self, verb: &'static str, user: Option<u32>, room: Option<u32>) {
        let at = self.now();
        let (user, room) = (user.map(User), room.map(Room));
        self.observers.observe_world(&WorldRecord::Operated {
            at,
            verb,
            user,
            room,
        });
    }
}
