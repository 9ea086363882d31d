//! The server's side: requests wait for service, the Node proposes, the disk commits after a delay,
//! and answers leave.

mod commits;

use std::sync::Arc;

use chat_core::{Address, Call, Counters, Earlier, Node, Position, Reject, Ticket};
use chat_types::{Config, Span, Time, mix};
use sim_model::cluster::ClusterFact;
use sim_model::protocol::Refusal;

use super::event_queue::Event;
use super::in_flight::{InFlight, RequestOrigin, RequestStage};
use super::slab::index_of;
use super::{START, World};
use crate::cluster::Cluster;
use crate::disk::Disk;
use crate::host::{Sent, ServerHost};
use crate::observers::Observers;
use sim_model::draw::{Actor, Draw};
use sim_model::history::NetworkRecord;
use sim_model::plan::{Fault, FaultKind, Plan, Workload};

/// How long a stream's writes may stall before the server closes it.
pub(super) const WRITE_STALL: Span = Span::secs(30);

/// The retry delay in refusals when the queue for service is full.
const OVERLOAD_RETRY: Span = Span::millis(250);

/// The server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// The node of a server that is alone; none while it is down.
    pub(super) alone: Option<Node>,
    /// Whether the judges are told of what an archive takes: the events that each entry posts, and the
    /// rooms with what they keep.
    pub(super) tells_posted: bool,
    pub(super) disk: Disk,
    /// Several servers, in place of one with a disk.
    pub(super) cluster: Option<Box<Cluster>>,
    pub(super) draw: Draw,
    /// The number of its life: an append of an earlier life has no effect in a later one.
    pub(super) life: u32,
    /// When the last waiting request will be served.
    pub(super) busy_until: Time,
    /// The number of requests that wait for service.
    pub(super) queued: u32,
    /// Under a race schedule: the waiting requests, and the scheduled turns.
    pub(super) line: Vec<Ticket>,
    pub(super) turns: Vec<Ticket>,
    /// How far its clock is ahead.
    pub(super) clock_ahead: Span,
    pub(super) append_began: Time,
    /// The time of the batch in flight, if the clock has jumped since. Else it has that of its commit.
    pub(super) batch_at: Option<Time>,
    /// The number of appends in all its lives.
    appends: u32,
    pub(super) appending: bool,
    /// Whether the server knows that it does not know the outcome of the append. Half of such
    /// appends turn out lost.
    pub(super) append_is_unknown: bool,
    /// The instant at which `NodeDue` is scheduled.
    pub(super) due_at: Time,
    /// The node's counters at the last look.
    pub(super) counters: Counters,
    /// The last entry that was reported to the judges.
    pub(super) reported: Position,
    /// The downtime after a shutdown in progress.
    pub(super) stopping: Option<Span>,
    /// The configuration of its next start.
    pub(super) config: Arc<Config>,
    /// The time from a refused start to a sound copy of the files.
    pub(super) restore_after: Span,
}

/// Tells the draw of the runs with an archive from others by the same seed.
const ARCHIVED: u64 = 0x0a2c_417e;

/// A journal with fewer entries than this is always kept.
const SHORT_JOURNAL: u32 = 1_000;

impl Server {
    pub(super) fn new(plan: &Plan, seed: u64) -> Self {
        // If snapshots keep the journal short anyway, a mishap may be a crash.
        let is_outage = |fault: &Fault| matches!(fault.kind, FaultKind::Down { .. });
        let is_alone = plan.servers == 1;
        let mut server = Self {
            alone: is_alone.then(|| Node::start(plan.server.clone(), seed)),
            tells_posted: !is_alone || tells_posted(plan, seed),
            cluster: (!is_alone).then(|| Box::new(Cluster::new(plan, seed))),
            disk: Disk::new(plan.capacity.snapshot_every, seed),
            draw: Draw::new(seed, Actor::Server),
            life: 0,
            busy_until: START,
            queued: 0,
            line: Vec::new(),
            turns: Vec::new(),
            clock_ahead: Span::ZERO,
            append_began: START,
            batch_at: None,
            appends: 0,
            appending: false,
            append_is_unknown: false,
            due_at: Time::MAX,
            counters: Counters::default(),
            reported: Position(0),
            stopping: None,
            config: Arc::new(plan.server.clone()),
            restore_after: Span::ZERO,
        };
        server.disk.keeps_entries =
            plan.capacity.snapshot_every < SHORT_JOURNAL || plan.faults.iter().any(is_outage);
        server.collect_posted();
        server
    }

    /// The node, while the server is up.
    pub(super) fn node(&self) -> Option<&Node> {
        match &self.cluster {
            Some(cluster) => cluster.node(),
            None => self.alone.as_ref(),
        }
    }

    /// The node, while the server is up.
    pub(super) fn node_mut(&mut self) -> Option<&mut Node> {
        match &mut self.cluster {
            Some(cluster) => cluster.node_mut(),
            None => self.alone.as_mut(),
        }
    }

    /// The end of the suspension of the server's process, if it is suspended at `now`.
    pub(super) fn paused_until(&self, now: Time) -> Option<Time> {
        self.cluster.as_ref()?.owner_paused_until(now)
    }

    pub(super) fn is_paused(&self, now: Time) -> bool {
        self.paused_until(now).is_some()
    }

    /// Lets the state collect the events of all rooms, if the judges are told of them.
    pub(super) fn collect_posted(&mut self) {
        if let Some(node) = self.alone.as_mut().filter(|_| self.tells_posted) {
            node.collect_posted();
        }
    }

    /// Whether the server could recover from a crash.
    pub(super) fn can_crash(&self) -> bool {
        self.cluster.is_some() || self.disk.keeps_entries
    }

    /// The number of its lives, capped at the classes of facets.
    pub(super) fn lives(&self) -> u64 {
        u64::from(self.life.min(3))
    }

    /// All that waits for service is lost.
    pub(super) fn lose_queue(&mut self, now: Time) {
        self.queued = 0;
        self.line.clear();
        self.turns.clear();
        self.busy_until = now;
    }

    /// Whether the node's timer has moved since it was scheduled. It is scheduled again whenever it
    /// moves earlier.
    pub(super) fn due_is_stale(&mut self, at: Time) -> bool {
        if self.due_at != at || self.alone.is_none() {
            return true;
        }
        self.due_at = Time::MAX;
        false
    }
}

/// Whether the judges are told of the events that each entry posts, as an archive takes them. They are
/// in every script, which is short, and in one of four other runs: what they cost is a few percent.
fn tells_posted(plan: &Plan, seed: u64) -> bool {
    match plan.workload {
        Workload::Steps { .. } => true,
        Workload::Phases { .. } => mix(seed, ARCHIVED).is_multiple_of(4),
    }
}

impl<'o> World<'_, 'o> {
    /// The time of the server's clock.
    pub(super) fn server_now(&self) -> Time {
        self.now() + self.server.clock_ahead
    }

    pub(super) fn request_arrives(&mut self, ticket: Ticket) {
        let mut hop = Span::ZERO;
        if self.server.cluster.is_some() {
            match self.pass_door(ticket) {
                Some(took) => hop = took,
                None => return,
            }
        }
        if self.server.node().is_none() {
            // The server is down: the client will time out.
            if let Some(InFlight::Request(request)) = self.in_flight.remove(ticket) {
                self.time_out(request.origin);
            }
            return;
        }
        if self.server.queued >= self.plan.capacity.queue {
            // The call is refused unread, so nothing is known of its earlier attempts.
            let request = self.in_flight.request(ticket);
            let reject = Reject::Overloaded {
                retry_after: OVERLOAD_RETRY,
                earlier: request.map_or(Earlier::Unasked, |request| request.unasked()),
            };
            return self.answer(ticket, Err(Refusal::from(&reject)));
        }
        if let Some(request) = self.in_flight.request(ticket) {
            request.stage = RequestStage::AtServer;
        }
        let took = Span(self.plan.capacity.service.draw(&mut self.server.draw));
        self.server.busy_until = self.server.busy_until.max(self.now() + hop) + took;
        self.server.queued += 1;
        if self.network.races() {
            self.server.line.push(ticket);
            self.server.turns.push(ticket);
        }
        let served_at = self.server.busy_until;
        self.events.schedule(served_at, Event::Served(ticket));
    }

    /// The request to serve at the end of this turn: under a race schedule, any waiting one.
    fn whose_turn(&mut self, ticket: Ticket) -> Option<Ticket> {
        if !self.network.races() {
            return Some(ticket);
        }
        let server = &mut self.server;
        // A crash removes the turns of waiting requests.
        let turn = server.turns.iter().position(|turn| *turn == ticket)?;
        server.turns.remove(turn);
        let chosen = self.network.next_of(server.line.len())?;
        let next = server.line.remove(chosen);
        self.hash = chat_types::mix(self.hash, u64::from(index_of(next)));
        Some(next)
    }

    pub(super) fn request_served(&mut self, ticket: Ticket) {
        let Some(ticket) = self.whose_turn(ticket) else {
            return;
        };
        let Some(request) = self.in_flight.request(ticket) else {
            return; // a crash took it
        };
        // A door may have to repeat the call.
        let ask = match self.server.cluster {
            Some(_) => request.ask.clone(),
            None => request.ask.take(),
        };
        let origin = request.origin;
        for (agent, delivery) in request.net.iter_mut().flat_map(|net| net.push.drain(..)) {
            self.clients[agent as usize].next_push = Some(delivery);
        }
        if let RequestOrigin::Call(it) = origin {
            let served = NetworkRecord::Served {
                call: it.call,
                attempt: it.attempt,
                copy: it.copy,
            };
            self.tell_traffic(it.agent, served);
        }
        self.server.queued = self.server.queued.saturating_sub(1);
        let from = self.address_of(origin.agent());
        if let Some(ask) = ask {
            self.submit(ticket, from, &ask);
        }
    }

    /// The address that the agent's client calls from.
    pub(super) fn address_of(&self, agent: u32) -> Address {
        let moves = self.clients[agent as usize].moves;
        Address(self.plan.network.address_of(agent, moves))
    }

    /// Submits a call to the node.
    pub(super) fn submit(&mut self, ticket: Ticket, from: Address, ask: &Arc<Call>) {
        if self.server.cluster.is_some() {
            return self.submit_to_owner(ticket, from, ask);
        }
        if let Some(mut host) = self.host() {
            host.submit(ticket, from, ask);
            self.pump();
        }
    }

    /// The node at the present instant, with its observers, while the server is up.
    pub(super) fn host(&mut self) -> Option<ServerHost<'_, Observers<'o>>> {
        let at = self.server_now();
        let node = self.server.node_mut()?;
        let observer = &mut self.observers;
        Some(ServerHost { node, observer, at })
    }

    /// Handles a dropped connection at the server.
    pub(super) fn gone_at_server(&mut self, ticket: Ticket) {
        if self.in_flight.is_at(ticket, RequestStage::AtDoor) {
            self.in_flight.remove(ticket);
            return;
        }
        if let Some(mut host) = self.host() {
            host.gone(ticket);
        }
        if self.in_flight.stream(ticket).is_some() {
            self.in_flight.remove(ticket);
            if let Some(node) = self.server.node_mut() {
                node.close_stream(ticket);
            }
        } else if self.in_flight.request(ticket).is_none() {
            return;
        } else if let Some(cluster) = &mut self.server.cluster {
            cluster.cancel(ticket);
            self.tell_fact(&ClusterFact::CallerGone(ticket.0));
        } else if let Some(node) = self.server.node_mut() {
            node.cancel(ticket);
        }
        self.pump();
    }

    /// Sends the node's outputs to its clients.
    pub(super) fn hand_out(&mut self) {
        while let Some(sent) = self.host().and_then(|mut host| host.poll()) {
            self.hand_out_one(sent);
        }
    }

    /// Sends an output of the node to its client.
    pub(super) fn hand_out_one(&mut self, sent: Sent) {
        match sent {
            Sent::Answer(ticket, outcome) => self.answer(ticket, outcome),
            Sent::Ready(ticket) => self.push(ticket),
            Sent::End(ticket) => self.break_stream(ticket),
            Sent::Notice => {}
        }
    }

    /// Handles the node's timers and outputs, and starts the next append if entries wait.
    pub(super) fn pump(&mut self) {
        if self.server.cluster.is_some() {
            return self.wake_owner();
        }
        self.hand_out();
        self.active_faults.end_turn_of_answers();
        self.append();
        self.finish_stopping();
        let ahead = self.server.clock_ahead;
        let Some(node) = self.server.alone.as_mut() else {
            return;
        };
        if let Some(due) = node.poll_timeout() {
            let due = Time(due.0.saturating_sub(ahead.0)).max(self.events.now());
            if due < self.server.due_at {
                self.server.due_at = due;
                self.events.schedule(due, Event::NodeDue);
            }
        }
    }
}
