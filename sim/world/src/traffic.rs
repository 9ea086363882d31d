//! Requests and answers on their way through the network.

use std::sync::Arc;

use chat_core::{Earlier, Ticket};
use chat_types::{Span, Time};

use super::World;
use super::event_queue::Event;
use super::in_flight::{InFlight, Request, RequestOrigin, RequestStage};
use super::network::Network;
use super::race_schedule::{Direction, Leg};
use sim_model::history::NetworkRecord;
use sim_model::outcome::Point;
use sim_model::plan::{Delivery, Net};
use sim_model::protocol::Outcome;
use sim_model::server::Call;

impl World<'_, '_> {
    /// The network, a packet that leaves now, and the next deadline where it goes.
    fn leg(
        &mut self,
        agent: u32,
        direction: Direction,
    ) -> (&mut Network, Leg, impl FnOnce() -> Option<Time>) {
        let at = self.events.now();
        let (server, user) = (&mut self.server, &self.clients[agent as usize].user);
        let due = move || match direction {
            Direction::Server => {
                let ahead = server.clock_ahead;
                let due = server.node_mut()?.poll_timeout()?;
                Some(Time(due.0.saturating_sub(ahead.0)))
            }
            Direction::Client => user.poll_timeout(),
        };
        let leg = Leg {
            agent,
            direction,
            at,
        };
        (&mut self.network, leg, due)
    }

    /// How long the client's next packet takes.
    pub(super) fn latency(&mut self, agent: u32, direction: Direction) -> Span {
        let (network, leg, due) = self.leg(agent, direction);
        network.delay(leg, due)
    }

    /// What becomes of the client's next packet.
    pub(super) fn fate(
        &mut self,
        agent: u32,
        direction: Direction,
        scripted: Option<Delivery>,
    ) -> Delivery {
        let (network, leg, due) = self.leg(agent, direction);
        network.fate(leg, scripted, due)
    }

    /// Sends a request, which may be lost or duplicated. Returns its fate, and that of a copy.
    pub(super) fn send(
        &mut self,
        origin: RequestOrigin,
        ask: Arc<Call>,
    ) -> (Delivery, Option<Delivery>) {
        let agent = origin.agent();
        let net = self.clients[agent as usize].net.take();
        let (scripted, copied) = net
            .as_ref()
            .map_or((None, None), |net| (net.request, net.duplicate));
        let doubled = copied.is_some()
            || matches!(origin, RequestOrigin::Call(_))
                && scripted.is_none()
                && self.network.doubles(agent);
        let of_copy = net.as_ref().filter(|_| doubled).map(|net| {
            Box::new(Net {
                reply: net.duplicate_reply,
                push: net.push.clone(),
                ..Net::default()
            })
        });
        let second = || self.send_one(origin.duplicate(), Arc::clone(&ask), of_copy, copied);
        let copy = doubled.then(second);
        let fate = self.send_one(origin, ask, net, scripted);
        (fate, copy)
    }

    fn send_one(
        &mut self,
        origin: RequestOrigin,
        ask: Arc<Call>,
        net: Option<Box<Net>>,
        scripted: Option<Delivery>,
    ) -> Delivery {
        let agent = origin.agent();
        let fate = self.fate(agent, Direction::Server, scripted);
        let Delivery::After(latency) = fate else {
            // A connection that cannot be opened is noticed as late as a lost answer.
            self.time_out(origin);
            return fate;
        };
        let ticket = self.in_flight.insert(InFlight::Request(Request {
            origin,
            ask: Some(ask),
            net,
            stage: RequestStage::InNetwork,
            tried_until: None,
            earlier: None,
        }));
        let client = &mut self.clients[agent as usize];
        match origin {
            RequestOrigin::Call(it) => client.in_flight.push((it.call, it.attempt, ticket)),
            RequestOrigin::Stream { .. } => client.stream_ticket = Some(ticket),
            RequestOrigin::Look { .. } => {}
        }
        self.schedule_in(latency, Event::AtServer(ticket));
        fate
    }

    /// The client gets no answer: an opening of a stream ends after its timeout. Calls and wakers have
    /// timers of their own.
    pub(super) fn time_out(&mut self, origin: RequestOrigin) {
        if let RequestOrigin::Stream { agent, stream } = origin {
            let timeout = self.plan.client.timeout;
            self.schedule_in(timeout, Event::StreamDown { agent, stream });
        }
    }

    /// Sends the server's answer to a request.
    pub(super) fn answer(&mut self, ticket: Ticket, outcome: Outcome) {
        if let Some(request) = self.in_flight.request(ticket)
            && let RequestOrigin::Stream { agent, stream } = request.origin
            && outcome.is_ok()
        {
            let scripted = request.scripted_reply();
            return self.stream_opened(ticket, (agent, stream), scripted);
        }
        if let Err(refusal) = &outcome {
            let coverage = &mut self.observers.points.tally.coverage;
            coverage.record_refusal(refusal.code);
            self.reach_refusal_point(refusal.code);
        }
        if self.is_for_next_owner(ticket, &outcome) {
            return self.back_to_door(ticket, Earlier::Unasked);
        }
        let entry = self.in_flight.remove(ticket);
        if let Some(InFlight::Operator(act)) = entry
            && outcome.is_ok()
        {
            self.record_act(act);
            self.report_collections();
        }
        let Some(InFlight::Request(request)) = entry else {
            return;
        };
        let origin = request.origin;
        let agent = origin.agent();
        let client = &mut self.clients[agent as usize];
        match origin {
            RequestOrigin::Call(_) => {
                if let Some(at) = client.in_flight.iter().position(|entry| entry.2 == ticket) {
                    client.in_flight.swap_remove(at);
                }
            }
            RequestOrigin::Stream { .. } => client.stream_ticket = None,
            RequestOrigin::Look { .. } => {}
        }
        let by_fault = self.active_faults.answer_fate();
        let scripted = by_fault.or(request.scripted_reply());
        let fate = self.fate(agent, Direction::Client, scripted);
        if let RequestOrigin::Call(it) = origin {
            let replied = NetworkRecord::Replied {
                call: it.call,
                attempt: it.attempt,
                copy: it.copy,
                refused: outcome.as_ref().err().map(|refusal| refusal.code),
                fate,
            };
            self.tell_traffic(agent, replied);
        }
        match self.through_door(agent, fate) {
            Delivery::After(latency) => {
                let ticket = self.in_flight.insert(InFlight::Answer(origin, outcome));
                self.schedule_in(latency, Event::AtClient(ticket));
            }
            Delivery::Lost => self.time_out(origin),
        }
    }

    /// Counts a refusal that clients retry without recording it in their history.
    fn reach_refusal_point(&mut self, code: &str) {
        match code {
            "rate_limited" => self.observers.reach(Point::RateLimited),
            "overloaded" => self.observers.reach(Point::Overloaded),
            "storage_unavailable" => self.observers.reach(Point::StorageUnavailable),
            _ => {}
        }
    }
}
