//! Event streams: opening, pushing in order, breaking.

use chat_types::{Span, Ticket, Time};
use sim_model::server::ServerRecord;

use super::World;
use super::event_queue::Event;
use super::in_flight::{InFlight, Stream, StreamState};
use super::race_schedule::Direction;
use super::server::WRITE_STALL;
use sim_model::history::{DeliveryPath, NetworkRecord};
use sim_model::outcome::Point;
use sim_model::plan::Delivery;

/// The time after which the server notices a cut link.
pub(super) const CUT_NOTICED: Span = Span::secs(1);

impl World<'_, '_> {
    /// Handles a stream that the server opened: the client is notified.
    pub(super) fn stream_opened(
        &mut self,
        ticket: Ticket,
        (agent, stream): (u32, u32),
        scripted: Option<Delivery>,
    ) {
        let latency = match scripted {
            Some(Delivery::After(latency)) => latency,
            Some(Delivery::Lost) | None => self.latency(agent, Direction::Client),
        };
        let now = self.now();
        if let Some(entry) = self.in_flight.get_mut(ticket) {
            *entry = InFlight::Stream(Stream {
                agent,
                stream,
                up_at: now + latency,
                state: StreamState::Reading,
            });
        }
        let client = &self.clients[agent as usize];
        if client.stream_ticket != Some(ticket) || self.network.is_cut(agent, now) {
            return self.break_stream(ticket);
        }
        let fate = Delivery::After(latency);
        self.tell_traffic(agent, NetworkRecord::Opened { fate });
        self.schedule_in(latency, Event::StreamUp(ticket));
    }

    pub(super) fn stream_up(&mut self, ticket: Ticket) {
        let Some(&mut Stream { agent, stream, .. }) = self.in_flight.stream(ticket) else {
            return;
        };
        if self.defer(agent, Event::StreamUp(ticket)) {
            return;
        }
        let now = self.now();
        let client = &mut self.clients[agent as usize];
        if client.stream == Some(stream) {
            let user = &mut client.user;
            user.handle_stream_opened(now, stream, &mut self.observers);
            self.settle(agent);
        }
    }

    pub(super) fn push_arrives(&mut self, ticket: Ticket) {
        let Some(&mut InFlight::Push { agent, .. }) = self.in_flight.get_mut(ticket) else {
            return;
        };
        if self.defer(agent, Event::Pushed(ticket)) {
            return;
        }
        let Some(InFlight::Push { stream, page, .. }) = self.in_flight.remove(ticket) else {
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
        if client.stream.take_if(|open| *open == stream).is_some() {
            let user = &mut client.user;
            user.handle_stream_closed(now, stream, None, &mut self.observers);
            self.settle(agent);
        }
    }

    /// Breaks the stream's connection. Both ends notice after a while, and nothing that is sent on
    /// it later arrives.
    pub(super) fn break_stream(&mut self, ticket: Ticket) {
        let Some(end) = self.in_flight.stream(ticket) else {
            return;
        };
        end.state = StreamState::Broken;
        let Stream {
            agent,
            stream,
            up_at,
            ..
        } = *end;
        self.writable(ticket, false);
        self.observers.reach(Point::StreamBroken);
        let down_at = self.now() + self.latency(agent, Direction::Client);
        self.tell_traffic(agent, NetworkRecord::StreamBroke);
        self.events
            .schedule(down_at.max(up_at), Event::StreamDown { agent, stream });
        self.schedule_in(CUT_NOTICED, Event::GoneAtServer(ticket));
        let client = &mut self.clients[agent as usize];
        client.older.retain(|old| old.1 != ticket);
        client.stream_ticket.take_if(|known| *known == ticket);
    }

    /// Closes the stream of a reader that has read nothing for too long.
    pub(super) fn handle_stall(&mut self, ticket: Ticket) {
        let stream = self.in_flight.stream(ticket);
        if stream.is_some_and(|stream| stream.state == StreamState::Stalled) {
            self.observers.reach(Point::SlowReaderCut);
            self.break_stream(ticket);
        }
    }

    /// Lets a slow reader read again.
    pub(super) fn resume_reader(&mut self, agent: u32) {
        for ticket in self.clients[agent as usize].stream_tickets() {
            if let Some(stream) = self.in_flight.stream(ticket)
                && stream.state == StreamState::Stalled
            {
                stream.state = StreamState::Reading;
                self.writable(ticket, true);
                self.push(ticket);
            }
        }
    }

    /// Records whether a stream's connection accepts writes from now on.
    fn writable(&mut self, ticket: Ticket, writable: bool) {
        self.tell_server(&ServerRecord::StreamWritable { ticket, writable });
    }

    /// Cuts the network between a client and the server.
    pub(super) fn cut(&mut self, agent: u32, until: Time) {
        self.network.cut(agent, until);
        for ticket in self.clients[agent as usize].stream_tickets() {
            self.break_stream(ticket);
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
    pub(super) fn push(&mut self, ticket: Ticket) {
        let now = self.now();
        loop {
            let Some(end) = self.in_flight.stream(ticket) else {
                return;
            };
            let Stream { agent, stream, .. } = *end;
            if end.state != StreamState::Reading {
                return;
            }
            if self.clients[agent as usize].slow_until > now {
                end.state = StreamState::Stalled;
                self.writable(ticket, false);
                return self.schedule_in(WRITE_STALL, Event::Stalled(ticket));
            }
            if self.server.is_paused(now) {
                return;
            }
            let page = self.host().and_then(|mut host| host.read_stream(ticket));
            let Some(page) = page else {
                return;
            };
            let more = page.unread > 0;
            let fate = self.fate_of_push(agent);
            let first_seq = page.first().0;
            let events = u32::try_from(page.events.len()).unwrap_or(u32::MAX);
            self.tell_traffic(
                agent,
                NetworkRecord::Pushed {
                    first_seq,
                    events,
                    fate,
                },
            );
            let Delivery::After(latency) = fate else {
                return self.break_stream(ticket);
            };
            let mut at = now + latency;
            if let Some(end) = self.in_flight.stream(ticket) {
                // A stream keeps its order: no push arrives before an earlier one.
                at = at.max(end.up_at);
                end.up_at = at;
            }
            let push = InFlight::Push {
                agent,
                stream,
                page,
            };
            let push = self.in_flight.insert(push);
            self.events.schedule(at, Event::Pushed(push));
            if !more {
                return;
            }
        }
    }
}
