//! Event streams: opening, pushing in order, breaking.

use chat_types::{Span, Time};
use sim_model::server::ServerRecord;

use super::World;
use super::event_queue::Event;
use super::in_flight::{InFlight, Slot, StreamState};
use super::race_schedule::Direction;
use super::server::WRITE_STALL;
use sim_model::history::{DeliveryPath, NetworkRecord, Observer as _};
use sim_model::outcome::Point;
use sim_model::plan::Delivery;
use sim_model::protocol::Agent;

/// The time after which the server notices a cut link.
pub(super) const CUT_NOTICED: Span = Span::secs(1);

impl World<'_, '_> {
    /// Handles a stream that the server opened: the client is notified.
    pub(super) fn stream_opened(
        &mut self,
        slot: Slot,
        (agent, stream): (u32, u32),
        scripted: Option<Delivery>,
    ) {
        let latency = match scripted {
            Some(Delivery::After(latency)) => latency,
            Some(Delivery::Lost) | None => self.latency(agent, Direction::Client),
        };
        let now = self.now();
        let up_at = now + latency;
        if let Some(entry) = self.in_flight.get_mut(slot) {
            *entry = InFlight::Stream {
                agent,
                stream,
                up_at,
                state: StreamState::Reading,
            };
        }
        let client = &self.clients[agent as usize];
        if client.stream_slot != Some(slot) || self.network.is_cut(agent, now) {
            self.break_stream(slot);
            return;
        }
        let fate = Delivery::After(latency);
        self.observers
            .observe_network(now, Agent(agent), &NetworkRecord::Opened { fate });
        self.events.schedule(up_at, Event::StreamUp(slot));
    }

    pub(super) fn stream_up(&mut self, slot: Slot) {
        let Some(InFlight::Stream { agent, stream, .. }) = self.in_flight.get_mut(slot) else {
            return;
        };
        let (agent, stream) = (*agent, *stream);
        if self.defer(agent, Event::StreamUp(slot)) {
            return;
        }
        let now = self.now();
        let client = &mut self.clients[agent as usize];
        if client.stream == Some(stream) {
            client
                .user
                .handle_stream_opened(now, stream, &mut self.observers);
            self.settle(agent);
        }
    }

    pub(super) fn push_arrives(&mut self, slot: Slot) {
        let Some(InFlight::Push { agent, .. }) = self.in_flight.get_mut(slot) else {
            return;
        };
        let agent = *agent;
        if self.defer(agent, Event::Pushed(slot)) {
            return;
        }
        let Some(InFlight::Push { stream, page, .. }) = self.in_flight.remove(slot) else {
            return;
        };
        if self.clients[agent as usize].reads_from(stream) {
            self.deliver(agent, &page, DeliveryPath::Stream);
            self.settle(agent);
        }
    }

    pub(super) fn stream_down(&mut self, agent: u32, stream: u32) {
        if self.defer(agent, Event::StreamDown { agent, stream }) {
            return;
        }
        let now = self.now();
        let client = &mut self.clients[agent as usize];
        client.older.retain(|old| old.0 != stream);
        if client.stream == Some(stream) {
            client.stream = None;
            client
                .user
                .handle_stream_closed(now, stream, None, &mut self.observers);
            self.settle(agent);
        }
    }

    /// Breaks the stream's connection. Both ends notice after a while, and nothing that is sent on
    /// it later arrives.
    pub(super) fn break_stream(&mut self, slot: Slot) {
        let Some(InFlight::Stream {
            agent,
            stream,
            up_at,
            state,
        }) = self.in_flight.get_mut(slot)
        else {
            return;
        };
        *state = StreamState::Broken;
        let (agent, stream, up_at) = (*agent, *stream, *up_at);
        self.writable(slot, false);
        self.observers.reach(Point::StreamBroken);
        let latency = self.latency(agent, Direction::Client);
        let now = self.now();
        self.observers
            .observe_network(now, Agent(agent), &NetworkRecord::StreamBroke);
        self.events.schedule(
            (now + latency).max(up_at),
            Event::StreamDown { agent, stream },
        );
        self.events
            .schedule(now + CUT_NOTICED, Event::GoneAtServer(slot));
        let client = &mut self.clients[agent as usize];
        client.older.retain(|old| old.1 != slot);
        if client.stream_slot == Some(slot) {
            client.stream_slot = None;
        }
    }

    /// Closes the stream of a reader that has read nothing for too long.
    pub(super) fn handle_stall(&mut self, slot: Slot) {
        if let Some(InFlight::Stream {
            state: StreamState::Stalled,
            ..
        }) = self.in_flight.get_mut(slot)
        {
            self.observers.reach(Point::SlowReaderCut);
            self.break_stream(slot);
        }
    }

    /// Lets a slow reader read again.
    pub(super) fn resume_reader(&mut self, agent: u32) {
        let client = &self.clients[agent as usize];
        let older = client.older.iter().map(|old| old.1);
        let streams: Vec<Slot> = client.stream_slot.into_iter().chain(older).collect();
        for slot in streams {
            if let Some(InFlight::Stream { state, .. }) = self.in_flight.get_mut(slot)
                && *state == StreamState::Stalled
            {
                *state = StreamState::Reading;
                self.writable(slot, true);
                self.push(slot);
            }
        }
    }

    /// Records whether a stream's connection accepts writes from now on.
    pub(super) fn writable(&mut self, slot: Slot, writable: bool) {
        let at = self.server_now();
        self.observers
            .observe_server(&ServerRecord::StreamWritable {
                at,
                ticket: slot.ticket(),
                writable,
            });
    }

    /// Cuts the network between a client and the server.
    pub(super) fn cut(&mut self, agent: u32, until: Time) {
        self.network.cut(agent, until);
        let client = &self.clients[agent as usize];
        let older = client.older.iter().map(|old| old.1);
        let streams: Vec<Slot> = client.stream_slot.into_iter().chain(older).collect();
        for slot in streams {
            self.break_stream(slot);
        }
    }

    /// The fate of one push: it arrives, or the stream breaks.
    fn fate_of_push(&mut self, agent: u32) -> Delivery {
        if self.network.breaks(agent) {
            return Delivery::Lost;
        }
        match self.clients[agent as usize].next_push.take() {
            Some(scripted) => scripted,
            None => Delivery::After(self.latency(agent, Direction::Client)),
        }
    }

    /// Sends new events to the stream's client, if it reads.
    pub(super) fn push(&mut self, slot: Slot) {
        loop {
            let Some(InFlight::Stream {
                agent,
                stream,
                up_at,
                state,
            }) = self.in_flight.get_mut(slot)
            else {
                return;
            };
            let (agent, stream, up_at) = (*agent, *stream, *up_at);
            if *state != StreamState::Reading {
                return;
            }
            if self.clients[agent as usize].slow_until > self.events.now() {
                *state = StreamState::Stalled;
                self.writable(slot, false);
                let at = self.events.now() + WRITE_STALL;
                self.events.schedule(at, Event::Stalled(slot));
                return;
            }
            if self.server.is_paused(self.events.now()) {
                return;
            }
            let page = self
                .host()
                .and_then(|mut host| host.read_stream(slot.ticket()));
            let Some(page) = page else {
                return;
            };
            let more = page.unread > 0;
            let fate = self.fate_of_push(agent);
            let pushed = NetworkRecord::Pushed {
                first_seq: page.first().0,
                events: u32::try_from(page.events.len()).unwrap_or(u32::MAX),
                fate,
            };
            let now = self.now();
            self.observers.observe_network(now, Agent(agent), &pushed);
            let Delivery::After(latency) = fate else {
                self.break_stream(slot);
                return;
            };
            // A stream keeps its order: no push arrives before an earlier one.
            let at = (self.now() + latency).max(up_at);
            if let Some(InFlight::Stream { up_at, .. }) = self.in_flight.get_mut(slot) {
                *up_at = at;
            }
            let push = self.in_flight.insert(InFlight::Push {
                agent,
                stream,
                page,
            });
            self.events.schedule(at, Event::Pushed(push));
            if !more {
                return;
            }
        }
    }
}
