//! Operators' acts.

use std::sync::Arc;

use chat_core::{Address, Call, Operate};
use sim_model::history::{FaultRecord, WorldRecord};
use sim_model::plan::{OperatorAct, OperatorVerb};
use sim_model::protocol::Room;

use super::World;
use super::in_flight::{Act, InFlight};

/// The reason that simulated operators give.
const REASON: &str = "simulated";
/// The largest number of a room that an operator names by mistake.
const STRAY_ROOMS: u64 = 8;

/// Removes what was done to the named user, or what was done last.
fn take_done<T>(done: &mut Vec<(u32, T)>, named: Option<u32>) -> Option<(u32, T)> {
    let place = match named {
        Some(agent) => done.iter().rposition(|(of, _)| *of == agent),
        None => done.len().checked_sub(1),
    };
    place.map(|place| done.remove(place))
}

impl World<'_, '_> {
    /// Submits an operator's call directly, without a network. The user is drawn unless it is
    /// named.
    pub(super) fn operate(&mut self, index: u32, act: &OperatorAct) {
        let verb = act.verb;
        if verb == OperatorVerb::Unban {
            return self.unban(index, act.user);
        }
        if verb == OperatorVerb::UnbanAddress {
            return self.unban_address(index, act.user);
        }
        let was_muted = verb == OperatorVerb::Unmute;
        let muted = was_muted.then(|| self.active_faults.muted.pop()).flatten();
        let Some(agent) = act.user.or(muted).or_else(|| self.draw_present_user(act)) else {
            return;
        };
        let Some(user) = self.clients[agent as usize].user.identity() else {
            return;
        };
        self.record_victims(index, &[agent]);
        let Some(node) = self.server.node() else {
            return;
        };
        let rooms = node.hub().rooms_of(user).to_vec();
        let name = node.hub().who_is(user).map(|who| (*who.name).into());
        let room = self.room_of_act(act, agent, &rooms);
        if let Some(room) = room.filter(|_| verb.names_room()) {
            let fault = index as usize;
            self.tell_fault(&FaultRecord::RoomNamed { fault, room });
        }
        let reason = act.reason.clone().unwrap_or_else(|| REASON.into());
        let (named, address) = (room.unwrap_or_default(), self.address_of(agent));
        let done = &mut self.active_faults;
        if matches!(verb, OperatorVerb::Mute | OperatorVerb::Ban) {
            done.barred.extend(name.map(|name| (agent, (user, name))));
        } else if matches!(verb, OperatorVerb::MuteAddress | OperatorVerb::BanAddress) {
            done.address_banned.push((agent, address));
        }
        let operate = match verb {
            OperatorVerb::Mute => {
                done.muted.push(agent);
                Operate::Mute { user, reason }
            }
            OperatorVerb::Unmute => Operate::Unmute { user },
            OperatorVerb::Kick => Operate::Kick {
                user,
                room: named,
                reason,
            },
            OperatorVerb::Close => Operate::Close {
                room: named,
                reason,
            },
            OperatorVerb::MuteAddress => Operate::MuteAddress { address, reason },
            OperatorVerb::BanAddress | OperatorVerb::UnbanAddress => {
                Operate::BanAddress { address, reason }
            }
            OperatorVerb::Ban | OperatorVerb::Unban => Operate::BanUser { user, reason },
        };
        self.submit_act((verb.name(), Some(user), room), operate);
    }

    /// The room of an act: the written one, or one of the user's, drawn if there are several.
    /// Sometimes an act names by mistake a room that the user is not in, or that is over.
    fn room_of_act(&mut self, act: &OperatorAct, agent: u32, rooms: &[Room]) -> Option<Room> {
        if act.room.is_some() {
            return act.room.map(Room);
        }
        let draw = &mut self.active_faults.draw;
        if act.verb.names_room() && act.user.is_none() && draw.below(3) == 0 {
            if draw.below(2) == 0 {
                return self.clients[agent as usize].user.any_room(draw);
            }
            return Some(Room(draw.below(STRAY_ROOMS) + 1));
        }
        match rooms {
            [] => None,
            [room] => Some(*room),
            many => draw.pick(many),
        }
    }

    /// Lifts the ban or the mute of the named user, or the latest one, by the name at that time.
    fn unban(&mut self, index: u32, named: Option<u32>) {
        if let Some((agent, (user, name))) = take_done(&mut self.active_faults.barred, named) {
            self.record_victims(index, &[agent]);
            self.submit_act(("unban", Some(user), None), Operate::Unban { name });
        }
    }

    /// Lifts the measure against the address of the named user, or the latest one.
    fn unban_address(&mut self, index: u32, named: Option<u32>) {
        let banned = take_done(&mut self.active_faults.address_banned, named);
        let unbanned = banned.or_else(|| named.map(|agent| (agent, self.address_of(agent))));
        if let Some((agent, address)) = unbanned {
            self.record_victims(index, &[agent]);
            let act = Operate::UnbanAddress { address };
            self.submit_act(("unban_address", None, None), act);
        }
    }

    fn submit_act(&mut self, what: Act, act: Operate) {
        if self.server.node().is_none() {
            return;
        }
        let ticket = self.in_flight.insert(InFlight::Operator(what));
        let operator = "operator".into();
        let call = Arc::new(Call::Operate { operator, act });
        self.submit(ticket, Address(u64::MAX), &call);
    }

    /// Draws a registered user to whom the act can apply. One act in four is against the user that
    /// was muted or banned last.
    fn draw_present_user(&mut self, act: &OperatorAct) -> Option<u32> {
        let node = self.server.node()?;
        let needs_room = act.verb.names_room();
        let draw = &mut self.active_faults.draw;
        if let Some((again, _)) = self.active_faults.barred.last()
            && !needs_room
            && draw.below(4) == 0
        {
            return Some(*again);
        }
        let fits = |client: &super::Client| {
            client.user.identity().is_some_and(|user| {
                client.is_there() && (!needs_room || !node.hub().rooms_of(user).is_empty())
            })
        };
        let clients = (0..).zip(&self.clients);
        let those = clients.filter(|(_, client)| fits(client));
        let those: Vec<u32> = those.map(|(agent, _)| agent).collect();
        draw.pick(&those)
    }

    /// Records that an operator's act may have taken effect, because a crash took its answer.
    pub(super) fn record_possible_act(&mut self, act: Act) {
        self.record_act(act);
        if let ("mute", user, room) = act {
            // If a user may be muted again, nothing certain can be recorded, except that it may
            // speak.
            self.record_act(("unmute", user, room));
        }
    }

    /// Records that an operator's act took effect.
    pub(super) fn record_act(&mut self, (verb, user, room): Act) {
        self.tell_world(&WorldRecord::Operated { verb, user, room });
    }
}
