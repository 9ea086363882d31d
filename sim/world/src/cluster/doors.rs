//! Doors: each client is connected to one server, which passes its calls on to the owner, and repeats
//! them at the next one if the owner does not answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_cluster::{CALL_PATIENCE, Member};
use chat_core::{Address, Call, Earlier, Reject, RequestKey, Ticket};
use chat_types::{Span, Time};
use sim_model::cluster::ClusterFact;
use sim_model::outcome::Point;
use sim_model::plan::{Delivery, OwnerReads};
use sim_model::protocol::{Code, Outcome, Read, Refusal};

use super::Cluster;
use super::chance::Purpose;
use super::turns::Deferred;
use crate::event_queue::Event;
use crate::host;
use crate::in_flight::{InFlight, RequestStage, Stream};
use crate::{START, World};

/// The pause between two attempts of a door.
const PAUSE: Span = Span::millis(100);

/// The delay in a refusal after which the caller may retry.
const RETRY: Span = Span::secs(1);

/// What a door does with a request.
enum Passage {
    /// It passes it on to the owner, which takes this long.
    Open(Span),
    /// It waits until then.
    Later(Time),
    /// There is no door: the server is down.
    Closed,
}

impl World<'_, '_> {
    /// The server that the client is connected to.
    fn door_of(&self, agent: u32) -> usize {
        self.clients[agent as usize].door % self.cluster().sites.len()
    }

    /// The server that decides the client's calls: the owner, unless the client's door takes itself
    /// for it.
    fn target_of(&self, agent: u32) -> Option<usize> {
        let door = self.door_of(agent);
        if self.takes_calls(door) {
            return Some(door);
        }
        self.ready_owner()
    }

    /// The owner, if it takes calls.
    fn ready_owner(&self) -> Option<usize> {
        let owner = self.cluster().owner;
        owner.filter(|owner| self.takes_calls(*owner))
    }

    fn passage(&mut self, agent: u32) -> Passage {
        let now = self.now();
        let door = self.door_of(agent);
        let target = self.target_of(agent);
        let cluster = self.cluster_mut();
        let place = &cluster.sites[door];
        if place.member.is_none() {
            return Passage::Closed;
        }
        if place.paused_until > now {
            return Passage::Later(place.paused_until);
        }
        let is_cut = |site: usize| cluster.sites[site].cut_until() > now;
        let reached = target.filter(|owner| {
            let is_near = *owner == door || !(is_cut(door) || is_cut(*owner));
            is_near && cluster.sites[*owner].paused_until <= now
        });
        match reached {
            Some(owner) if owner == door => Passage::Open(Span::ZERO),
            Some(_) => Passage::Open(cluster.hop(now, (Purpose::Door, agent.into()))),
            None => Passage::Later(now + PAUSE),
        }
    }

    /// A request is at its client's door. Returns the time that it takes to the owner, if it is
    /// passed on.
    pub(crate) fn pass_door(&mut self, ticket: Ticket) -> Option<Span> {
        let now = self.now();
        let request = self.in_flight.request(ticket)?;
        let agent = request.origin.agent();
        request.stage = RequestStage::AtDoor;
        let is_new = request.tried_until.is_none();
        let until = *request.tried_until.get_or_insert_with(|| {
            let wait = request.ask.as_deref().map_or(Span::ZERO, wait_of);
            now + wait + CALL_PATIENCE
        });
        if let Some(cluster) = self.server.cluster.as_mut().filter(|_| is_new)
            && let Some(ask) = &mut request.ask
        {
            cluster.give_key(ask);
        }
        match self.passage(agent) {
            Passage::Open(hop) => return Some(hop),
            Passage::Closed => {
                // The connection is refused, and the client turns to the next server.
                self.lose_request(ticket);
                self.next_door(agent);
            }
            Passage::Later(_) if now >= until => self.refuse_at_door(ticket, None),
            Passage::Later(at) => self.events.schedule(at, Event::AtServer(ticket)),
        }
        None
    }

    /// The client connects to the next server from here on.
    fn next_door(&mut self, agent: u32) {
        let door = self.door_of(agent) + 1;
        self.clients[agent as usize].door = door % self.cluster().sites.len();
    }

    fn refuse_at_door(&mut self, ticket: Ticket, known: Option<Earlier>) {
        let Some(request) = self.in_flight.request(ticket) else {
            return;
        };
        let known = known.or(request.earlier);
        let reject = Reject::StorageUnavailable {
            retry_after: RETRY,
            earlier: known.unwrap_or_else(|| request.unasked()),
        };
        self.answer(ticket, Err(Refusal::from(&reject)));
    }

    /// Submits a call to the owner, or lets its door try again.
    pub(crate) fn submit_to_owner(&mut self, ticket: Ticket, from: Address, ask: &Arc<Call>) {
        if self.cluster().is_turning {
            let deferred = Deferred::Submit(ticket, from, Arc::clone(ask));
            return self.cluster_mut().deferred.push_back(deferred);
        }
        let agent = self.in_flight.request(ticket).map(|it| it.origin.agent());
        let target = match agent {
            Some(agent) => self.target_of(agent),
            None => self.ready_owner(),
        };
        let Some(target) = target else {
            return self.back_to_door(ticket, Earlier::Unasked);
        };
        if let Some(request) = self.in_flight.request(ticket) {
            request.stage = RequestStage::Submitted;
        }
        let at = self.server_now();
        if self.cluster().owner == Some(target) {
            host::asked(&mut self.observers, at, ticket, from, ask);
        } else {
            self.observers.reach(Point::FormerOwnerAsked);
        }
        self.tell_fact(&ClusterFact::Asked {
            member: target as u64,
            call: ticket.0,
        });
        self.member_turn(target, |member: &mut Member, now| {
            member.submit(now, ticket, from, Call::clone(ask));
        });
        let is_read = matches!(**ask, Call::Read { .. });
        let waits = self.in_flight.is_at(ticket, RequestStage::Submitted);
        if is_read && self.plan.reads == OwnerReads::Strict && waits {
            self.observers.reach(Point::ReadWaited);
        }
    }

    /// A call was not answered by the owner: its door repeats it as a new request, or refuses it if it
    /// may have taken effect and cannot be repeated.
    pub(crate) fn back_to_door(&mut self, ticket: Ticket, known: Earlier) {
        if let Some(request) = self.in_flight.request(ticket)
            && known == Earlier::Unknown
        {
            request.earlier = Some(known);
            if !request.ask.as_deref().is_some_and(can_repeat) {
                return self.refuse_at_door(ticket, Some(known));
            }
        }
        // An operator's act is not repeated.
        let Some(InFlight::Request(mut request)) = self.in_flight.remove(ticket) else {
            return;
        };
        let at = self.now() + PAUSE;
        if let Some(ask) = &mut request.ask
            && let Call::Read { read, .. } = Arc::make_mut(ask)
            && let Read::Check { wait, .. } = read
        {
            let until = request.tried_until;
            let left = until.map_or(*wait, |until| until.since(at + CALL_PATIENCE));
            *wait = left.min(*wait);
        }
        self.observers.reach(Point::CallRepeated);
        request.stage = RequestStage::AtDoor;
        let agent = request.origin.agent();
        let new = self.in_flight.insert(InFlight::Request(request));
        let client = &mut self.clients[agent as usize];
        let calls = client.in_flight.iter_mut().map(|entry| &mut entry.2);
        let older = client.older.iter_mut().map(|entry| &mut entry.1);
        for known in calls.chain(older).chain(&mut client.stream_ticket) {
            if *known == ticket {
                *known = new;
            }
        }
        self.events.schedule(at, Event::AtServer(new));
    }

    /// Whether the owner refuses the request because it is about to hand over.
    pub(crate) fn is_for_next_owner(&mut self, ticket: Ticket, outcome: &Outcome) -> bool {
        let is_closing = matches!(outcome, Err(refusal) if refusal.is(Code::ShuttingDown));
        self.server.cluster.is_some() && is_closing && self.in_flight.request(ticket).is_some()
    }

    /// The fate of an answer that its client's door passes on.
    pub(crate) fn through_door(&self, agent: u32, fate: Delivery) -> Delivery {
        let Some(cluster) = &self.server.cluster else {
            return fate;
        };
        let (owner, door) = (cluster.owner, self.door_of(agent));
        let is_there = cluster.sites[door].member.is_some();
        match fate {
            Delivery::After(_) if !is_there => Delivery::Lost,
            Delivery::After(latency) if owner != Some(door) => {
                let hop = cluster.hop(self.now(), (Purpose::Door, agent.into()));
                Delivery::After(latency + hop)
            }
            fate @ (Delivery::After(_) | Delivery::Lost) => fate,
        }
    }

    /// The owner is lost: streams end, and the calls that it had go back to their doors. `moved` is
    /// what it said of them.
    pub(super) fn lose_connections(&mut self, moved: &BTreeMap<Ticket, Earlier>) {
        self.break_streams(|_| true);
        let held = [RequestStage::AtServer, RequestStage::Submitted];
        for ticket in self.in_flight.requests_at(&held) {
            let Some(request) = self.in_flight.request(ticket) else {
                continue;
            };
            let agent = request.origin.agent();
            let unanswered = match request.stage == RequestStage::Submitted {
                true => Earlier::Unknown,
                false => Earlier::Unasked,
            };
            if self.cluster().sites[self.door_of(agent)].member.is_none() {
                self.lose_request(ticket);
                self.next_door(agent);
                continue;
            }
            let known = moved.get(&ticket).copied().unwrap_or(unanswered);
            self.back_to_door(ticket, known);
        }
        self.lose_acts();
    }

    /// A server is gone, and with it the connections of its clients.
    pub(super) fn close_door(&mut self, site: usize) {
        let servers = self.cluster().sites.len();
        self.break_streams(|door| door % servers == site);
        let held = [RequestStage::AtServer, RequestStage::Submitted];
        let there = [RequestStage::AtDoor, held[0], held[1]];
        for ticket in self.in_flight.requests_at(&there) {
            let Some(request) = self.in_flight.request(ticket) else {
                continue;
            };
            let (agent, stage) = (request.origin.agent(), request.stage);
            if self.door_of(agent) != site {
                continue;
            }
            if held.contains(&stage) {
                // The owner notices that its caller is gone.
                self.gone_at_server(ticket);
            }
            self.lose_request(ticket);
            self.next_door(agent);
        }
    }

    /// Breaks the streams of clients with such doors.
    fn break_streams(&mut self, is_lost: impl Fn(usize) -> bool) {
        let has_owner = self.cluster().owner.is_some();
        for ticket in self.in_flight.streams() {
            let Some(&mut Stream { agent, .. }) = self.in_flight.stream(ticket) else {
                continue;
            };
            if is_lost(self.clients[agent as usize].door) {
                self.break_stream(ticket);
                if !has_owner {
                    self.in_flight.remove(ticket);
                }
            }
        }
    }
}

impl Cluster {
    /// Gives a command without a request key one, so that its door can repeat it.
    fn give_key(&mut self, ask: &mut Arc<Call>) {
        if let Call::Command { key: None, .. } = ask.as_ref()
            && let Call::Command { key, .. } = Arc::make_mut(ask)
        {
            self.keys_given += 1;
            let secret = self.bits(START, (Purpose::Keys, 0));
            let key_of_its_own = (u128::from(secret) << 64) | u128::from(self.keys_given);
            *key = Some(RequestKey(key_of_its_own));
        }
    }
}

const fn wait_of(ask: &Call) -> Span {
    if let Call::Read { read, .. } = ask
        && let Read::Check { wait, .. } = read
    {
        return *wait;
    }
    Span::ZERO
}

/// Whether a repetition has no second effect.
const fn can_repeat(ask: &Call) -> bool {
    match ask {
        Call::Command { key, .. } => key.is_some(),
        Call::Read { .. } | Call::OpenStream { .. } => true,
        Call::Operate { .. } => false,
    }
}
