//! Planned faults: their beginnings and ends.

use std::sync::Arc;

use chat_core::{Address, Call, Operate, RoomId, UserId};
use chat_types::Time;
use sim_model::server::ServerRecord;

use super::slots::Thing;
use super::{Phase, START, World};
use crate::agenda::Event;
use crate::disk::Unsynced;
use sim_model::draw::{Actor, Draw};
use sim_model::history::{Observer, Wire, WorldRecord};
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
pub(super) struct Weather {
    draw: Draw,
    /// Faults that wait for their milestones.
    armed: Vec<Armed>,
    replies: Replies,
    slow_disk: (Time, u32),
    fail_disk: (Time, Unsynced),
    /// The muted users, the latest last.
    muted: Vec<u32>,
    /// The banned users with their names at the time, the latest last.
    banned: Vec<(u32, User, Arc<str>)>,
    /// The users whose addresses were banned, the latest last.
    shut_out: Vec<u32>,
}

/// A fault that waits for its milestone.
#[derive(Clone, Copy, Debug)]
struct Armed {
    fault: u32,
    milestone: Milestone,
    /// The count of the milestone when the wait began.
    before: u64,
}

/// How faults affect answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replies {
    Arrive,
    /// The answers of the next turn are lost.
    GetLost,
    /// An answer of this turn was lost, and the turn's other answers are lost, too.
    Getting,
}

impl Weather {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            draw: Draw::new(seed, Actor::Faults),
            armed: Vec::new(),
            replies: Replies::Arrive,
            slow_disk: (START, 1),
            fail_disk: (START, Unsynced::Lost),
            muted: Vec::new(),
            banned: Vec::new(),
            shut_out: Vec::new(),
        }
    }

    /// Draws victims from another generator from here on.
    pub(super) fn key_again(&mut self, draw: Draw) {
        self.draw = draw;
    }

    /// The fate of an answer that leaves now, if a fault decides it.
    pub(super) fn reply(&mut self) -> Option<Delivery> {
        if self.replies == Replies::Arrive {
            return None;
        }
        self.replies = Replies::Getting;
        Some(Delivery::Lost)
    }

    /// Marks the end of a turn's answers.
    pub(super) fn replies_left(&mut self) {
        if self.replies == Replies::Getting {
            self.replies = Replies::Arrive;
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
            None => self.strike(index),
            Some(milestone) => {
                let before = self.reached(milestone.reached);
                self.weather.armed.push(Armed {
                    fault: index,
                    milestone,
                    before,
                });
            }
        }
    }

    /// Starts the faults whose milestones are reached.
    pub(super) fn reach_milestones(&mut self) {
        if self.weather.armed.is_empty() || self.phase != Phase::Safety {
            return;
        }
        let is_reached = |one: &Armed| {
            self.reached(one.milestone.reached) >= one.before + u64::from(one.milestone.count)
        };
        let armed = self.weather.armed.iter().copied();
        let (due, armed): (Vec<Armed>, Vec<Armed>) = armed.partition(is_reached);
        self.weather.armed = armed;
        for one in due {
            self.strike(one.fault);
        }
    }

    /// The number of times that the run has reached the milestone.
    fn reached(&self, what: Reached) -> u64 {
        let tally = self.watch.sightings.tally();
        let coverage = tally.coverage();
        match what {
            Reached::Sometimes(name) => {
                Point::from_name(name).map_or(0, |point| tally.count(point))
            }
            Reached::Stick(name) => coverage.stick.get(name).copied().unwrap_or(0),
            Reached::Timer(name) => coverage.timers.get(name).copied().unwrap_or(0),
        }
    }

    fn strike(&mut self, index: u32) {
        let kind = &self.fault(index).kind.clone();
        let now = self.now();
        self.timeline.mark(now.since(START), label(kind));
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
                // Outputs that the node decided before the clock jump leave with the old time.
                self.hand_out();
                self.server.clock_ahead = self.server.clock_ahead + *by;
                self.watch
                    .observe_world(&WorldRecord::ClockJumped { at: now, by: *by });
                let at = self.server_now();
                self.watch
                    .observe_server(&ServerRecord::ClockJumped { at, by: *by });
                self.node_due();
                return;
            }
            FaultKind::LoseReplies => {
                self.weather.replies = Replies::GetLost;
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
                self.weather.slow_disk = (now + *duration, *factor);
                *duration
            }
            FaultKind::FailDisk { duration, unknown } => {
                let how = if *unknown {
                    Unsynced::Written
                } else {
                    Unsynced::Lost
                };
                self.weather.fail_disk = (now + *duration, how);
                *duration
            }
        };
        self.agenda.at(now + lasting, Event::FaultEnds(index));
    }

    /// Ends a fault. Most faults end by the clock alone; here are those whose end needs an action.
    pub(super) fn fault_ends(&mut self, index: u32) {
        match self.fault(index).kind {
            FaultKind::SlowReaders { .. } => self.all_read_on(),
            FaultKind::FailDisk { .. } => self.fate_known(),
            FaultKind::Down { .. }
            | FaultKind::Configure(_)
            | FaultKind::Partition { .. }
            | FaultKind::SlowDisk { .. }
            | FaultKind::Suspend { .. }
            | FaultKind::ClockJump { .. }
            | FaultKind::LoseReplies
            | FaultKind::Operator(_) => {}
        }
    }

    fn all_read_on(&mut self) {
        let now = self.now();
        for agent in 0..self.client_count() {
            if self.clients[agent as usize].slow_until <= now {
                self.read_on(agent);
            }
        }
    }

    /// Ends all faults.
    pub(super) fn end_all_faults(&mut self) {
        let now = self.now();
        self.weather.armed.clear();
        self.weather.replies = Replies::Arrive;
        self.weather.slow_disk = (now, 1);
        self.weather.fail_disk.0 = now;
        for client in &mut self.clients {
            client.cut_until = client.cut_until.min(now);
            client.slow_until = client.slow_until.min(now);
        }
        self.restart();
        self.fate_known();
        self.all_read_on();
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
                    if self.clients[agent as usize].is_there() && self.weather.draw.chance(*share) {
                        struck.push(agent);
                    }
                }
                struck
            }
        };
        self.struck(fault, &struck);
        struck
    }

    fn struck(&mut self, fault: u32, victims: &[u32]) {
        let (at, fault) = (self.now(), fault as usize);
        self.watch
            .observe_wire(&Wire::Struck { at, fault, victims });
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
        let muted = was_muted.then(|| self.weather.muted.pop()).flatten();
        let Some(agent) = act.user.or(muted).or_else(|| self.one_of_those_there(act)) else {
            return;
        };
        let Some(User(number)) = self.clients[agent as usize].user.identity() else {
            return;
        };
        self.struck(index, &[agent]);
        let Some(node) = self.server.node.as_ref() else {
            return;
        };
        let user = UserId(number);
        let rooms = node.hub().rooms_of(user).to_vec();
        let name = node.hub().who_is(user).map(|who| (*who.name).into());
        let room = self.room_of_act(act, &rooms);
        let reason: Arc<str> = REASON.into();
        let operate = match act.verb {
            OperatorVerb::Mute => {
                self.weather.muted.push(agent);
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
                self.weather.shut_out.push(agent);
                Operate::MuteAddress {
                    address: self.address_of(agent),
                    reason,
                }
            }
            OperatorVerb::BanAddress | OperatorVerb::UnbanAddress => {
                self.weather.shut_out.push(agent);
                Operate::BanAddress {
                    address: self.address_of(agent),
                    reason,
                }
            }
            OperatorVerb::Ban | OperatorVerb::Unban => {
                if let Some(name) = name {
                    self.weather.banned.push((agent, User(number), name));
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
        if needs_room && act.user.is_none() && self.weather.draw.below(3) == 0 {
            let number = self.weather.draw.below(STRAY_ROOMS) + 1;
            return u32::try_from(number).ok().map(RoomId);
        }
        match rooms {
            [] => None,
            [room] => Some(*room),
            many => {
                let index = self.weather.draw.below(many.len() as u64);
                many.get(usize::try_from(index).ok()?).copied()
            }
        }
    }

    /// Lifts the ban of the named user, or the latest ban.
    fn unban(&mut self, index: u32, named: Option<u32>) {
        let banned = &mut self.weather.banned;
        let place = match named {
            Some(agent) => banned.iter().rposition(|(of, ..)| *of == agent),
            None => banned.len().checked_sub(1),
        };
        let Some(place) = place else {
            return;
        };
        let (agent, User(number), name) = banned.remove(place);
        self.struck(index, &[agent]);
        self.submit_act(("unban", Some(number), None), Operate::Unban { name });
    }

    /// Lifts the measure against the address of the named user, or the latest one.
    fn unban_address(&mut self, index: u32, named: Option<u32>) {
        let Some(agent) = named.or_else(|| self.weather.shut_out.pop()) else {
            return;
        };
        self.struck(index, &[agent]);
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
        if self.server.node.is_none() {
            return;
        }
        let slot = self.slots.put(Thing::Operator { verb, user, room });
        let call = Call::Operate {
            operator: "operator".into(),
            act,
        };
        self.submit(now, slot, Address(u64::MAX), call);
    }

    /// Draws a registered user to whom the act can apply.
    fn one_of_those_there(&mut self, act: OperatorAct) -> Option<u32> {
        let node = self.server.node.as_ref()?;
        let needs_room = matches!(act.verb, OperatorVerb::Kick | OperatorVerb::Close);
        let fits = |agent: &u32| {
            let client = &self.clients[*agent as usize];
            client.user.identity().is_some_and(|User(number)| {
                client.is_there()
                    && (!needs_room || !node.hub().rooms_of(UserId(number)).is_empty())
            })
        };
        let those: Vec<u32> = (0..self.client_count()).filter(fits).collect();
        let index = self.weather.draw.below(those.len() as u64);
        those.get(usize::try_from(index).ok()?).copied()
    }

    /// Records that an operator's act may have taken effect, because a crash took its answer.
    pub(super) fn perhaps_operated(
        &mut self,
        verb: &'static str,
        user: Option<u32>,
        room: Option<u32>,
    ) {
        self.operated(verb, user, room);
        if verb == "mute" {
            // If a user may be muted again, nothing certain can be recorded, except that it may
            // speak.
            self.operated("unmute", user, room);
        }
    }

    /// Records that an operator's act took effect.
    pub(super) fn operated(&mut self, verb: &'static str, user: Option<u32>, room: Option<u32>) {
        let at = self.now();
        let (user, room) = (user.map(User), room.map(Room));
        self.watch.observe_world(&WorldRecord::Operated {
            at,
            verb,
            user,
            room,
        });
    }
}

fn label(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::Down {
            how: Outage::Stop, ..
        } => "stop",
        FaultKind::Down { .. } => "crash",
        FaultKind::Configure(_) => "configure",
        FaultKind::Partition { .. } => "partition",
        FaultKind::SlowReaders { .. } => "slow",
        FaultKind::SlowDisk { .. } => "slow disk",
        FaultKind::FailDisk { .. } => "disk fails",
        FaultKind::Suspend { .. } => "suspend",
        FaultKind::ClockJump { .. } => "clock jump",
        FaultKind::LoseReplies => "replies lost",
        FaultKind::Operator(_) => "operator",
    }
}
