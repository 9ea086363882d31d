//! Operators' acts.

use std::sync::Arc;

use chat_core::{Address, Call, Operate};
use sim_model::history::{FaultRecord, Observer as _, RunEvent, WorldRecord};
use sim_model::plan::{OperatorAct, OperatorVerb};
use sim_model::protocol::{Room, User};

use super::World;
use super::in_flight::InFlight;

/// The reason that simulated operators give.
const REASON: &str = "simulated";
/// The largest number of a room that an operator names by mistake.
const STRAY_ROOMS: u64 = 8;

impl World<'_, '_> {
    /// Submits an operator's call directly, without a network. The user is drawn unless it is
    /// named.
    pub(super) fn operate(&mut self, index: u32, act: &OperatorAct) {
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
        self.record_room(index, act, room);
        let reason = act.reason.clone().unwrap_or_else(|| REASON.into());
        let operate = match act.verb {
            OperatorVerb::Mute => {
                self.active_faults.muted.push(agent);
                self.active_faults
                    .barred
                    .extend(name.map(|name| (agent, user, name)));
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
                let address = self.address_of(agent);
                self.active_faults.address_banned.push((agent, address));
                Operate::MuteAddress { address, reason }
            }
            OperatorVerb::BanAddress | OperatorVerb::UnbanAddress => {
                let address = self.address_of(agent);
                self.active_faults.address_banned.push((agent, address));
                Operate::BanAddress { address, reason }
            }
            OperatorVerb::Ban | OperatorVerb::Unban => {
                self.active_faults
                    .barred
                    .extend(name.map(|name| (agent, user, name)));
                Operate::BanUser { user, reason }
            }
        };
        self.submit_act((act.verb.name(), Some(user), room), operate);
    }

    /// The room of an act: the written one, or one of the user's, drawn if there are several.
    /// Sometimes an act names by mistake a room that the user is not in, or that is over.
    fn room_of_act(&mut self, act: &OperatorAct, agent: u32, rooms: &[Room]) -> Option<Room> {
        if act.room.is_some() {
            return act.room.map(Room);
        }
        if act.verb.names_room() && act.user.is_none() && self.active_faults.draw.below(3) == 0 {
            let draw = &mut self.active_faults.draw;
            if draw.below(2) == 0 {
                let known = self.clients[agent as usize].user.any_room(draw);
                return known;
            }
            return Some(Room(draw.below(STRAY_ROOMS) + 1));
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

    fn record_room(&mut self, index: u32, act: &OperatorAct, room: Option<Room>) {
        if let Some(room) = room.filter(|_| act.verb.names_room()) {
            let fault = index as usize;
            let (now, named) = (self.now(), FaultRecord::RoomNamed { fault, room });
            self.observers.observe(RunEvent::Fault(now, &named));
        }
    }

    /// Lifts the ban or the mute of the named user, or the latest one, by the name at that time.
    fn unban(&mut self, index: u32, named: Option<u32>) {
        let barred = &mut self.active_faults.barred;
        let place = match named {
            Some(agent) => barred.iter().rposition(|(of, ..)| *of == agent),
            None => barred.len().checked_sub(1),
        };
        let Some(place) = place else {
            return;
        };
        let (agent, user, name) = barred.remove(place);
        self.record_victims(index, &[agent]);
        self.submit_act(("unban", Some(user), None), Operate::Unban { name });
    }

    /// Lifts the measure against the address of the named user, or the latest one.
    fn unban_address(&mut self, index: u32, named: Option<u32>) {
        let banned = &mut self.active_faults.address_banned;
        let place = match named {
            Some(agent) => banned.iter().rposition(|(of, _)| *of == agent),
            None => banned.len().checked_sub(1),
        };
        let banned = place.map(|place| banned.remove(place));
        let unbanned = banned.or_else(|| named.map(|agent| (agent, self.address_of(agent))));
        let Some((agent, address)) = unbanned else {
            return;
        };
        self.record_victims(index, &[agent]);
        let act = Operate::UnbanAddress { address };
        self.submit_act(("unban_address", None, None), act);
    }

    fn submit_act(
        &mut self,
        (verb, user, room): (&'static str, Option<User>, Option<Room>),
        act: Operate,
    ) {
        if self.server.node().is_none() {
            return;
        }
        let slot = self
            .in_flight
            .insert(InFlight::Operator { verb, user, room });
        let call = Call::Operate {
            operator: "operator".into(),
            act,
        };
        self.submit(slot, Address(u64::MAX), &Arc::new(call));
    }

    /// Draws a registered user to whom the act can apply. One act in four is against the user that
    /// was muted or banned last.
    fn draw_present_user(&mut self, act: &OperatorAct) -> Option<u32> {
        let node = self.server.node()?;
        let needs_room = act.verb.names_room();
        if let Some((again, ..)) = self.active_faults.barred.last()
            && !needs_room
            && self.active_faults.draw.below(4) == 0
        {
            return Some(*again);
        }
        let fits = |agent: &u32| {
            let client = &self.clients[*agent as usize];
            client.user.identity().is_some_and(|user| {
                client.is_there() && (!needs_room || !node.hub().rooms_of(user).is_empty())
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
        user: Option<User>,
        room: Option<Room>,
    ) {
        self.record_act(verb, user, room);
        if verb == "mute" {
            // If a user may be muted again, nothing certain can be recorded, except that it may
            // speak.
            self.record_act("unmute", user, room);
        }
    }

    /// Records that an operator's act took effect.
    pub(super) fn record_act(
        &mut self,
        verb: &'static str,
        user: Option<User>,
        room: Option<Room>,
    ) {
        let at = self.now();
        self.observers.observe_world(&WorldRecord::Operated {
            at,
            verb,
            user,
            room,
        });
    }
}
