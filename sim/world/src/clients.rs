//! The clients' side: sends users' requests, and passes them what arrives.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_core::{Item, Page, Ticket};
use chat_types::{Span, Time, mix};

use super::World;
use super::event_queue::Event;
use super::in_flight::{Attempt, InFlight, RequestOrigin};
use super::race_schedule::Direction;
use super::streams::CUT_NOTICED;
use super::wakers::SleeperWaker;
use crate::translate;
use sim_model::history::{DeliveryPath, NetworkRecord};
use sim_model::outcome::Point;
use sim_model::plan::{Delivery, Net, Opening};
use sim_model::protocol::{Answer, CallId, InboxEvent, Response};
use sim_model::server::Call;
use sim_model::words::outcome_word;
use sim_user::{Action, VirtualUser};

/// The number of abandoned attempts that are remembered. Answers to older ones have arrived, or
/// never will.
const CANCELLED: usize = 32;

/// A client in the world.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) user: VirtualUser,
    /// The number of the server that it is connected to, if there are several.
    pub(super) door: usize,
    /// The instant at which the user's timer is scheduled. The timer may have moved later since.
    timer_at: Time,
    /// The client's process is stopped until then.
    pub(super) asleep_until: Time,
    /// The events that arrived meanwhile, in order.
    kept: VecDeque<Event>,
    /// The one of these that is being read.
    read: Option<Event>,
    /// The client reads nothing from its stream until then.
    pub(super) slow_until: Time,
    /// The client's current stream, by the number of its opening.
    pub(super) stream: Option<u32>,
    /// The server's end of the stream, or of its opening.
    pub(super) stream_ticket: Option<Ticket>,
    /// Earlier streams that the client has not closed.
    pub(super) older: Vec<(u32, Ticket)>,
    /// Requests without an answer from the server.
    pub(super) in_flight: Vec<(CallId, u32, Ticket)>,
    /// Abandoned attempts, whose connections are closed.
    cancelled: VecDeque<(CallId, u32)>,
    /// The newest call with an abandoned attempt.
    newest_cancelled: Option<CallId>,
    /// The number of times that all connections were dropped. Answers on older connections are
    /// lost.
    drops: u32,
    /// The number of disconnections that end: each moves the client to the next address.
    pub(super) moves: u32,
    /// The scripted network of its next request.
    pub(super) net: Option<Box<Net>>,
    /// The scripted network of later attempts of these calls.
    pub(super) retries: Vec<(CallId, VecDeque<Net>)>,
    /// The scripted network of the next push to it.
    pub(super) next_push: Option<Delivery>,
    /// The waker of a user that sleeps.
    pub(super) waker: Option<Box<SleeperWaker>>,
    done: bool,
}

impl Client {
    pub(super) fn new(user: VirtualUser, door: usize) -> Self {
        Self {
            user,
            door,
            timer_at: Time::MAX,
            asleep_until: Time(0),
            kept: VecDeque::new(),
            read: None,
            slow_until: Time(0),
            stream: None,
            stream_ticket: None,
            older: Vec::new(),
            in_flight: Vec::new(),
            cancelled: VecDeque::new(),
            newest_cancelled: None,
            drops: 0,
            moves: 0,
            net: None,
            retries: Vec::new(),
            next_push: None,
            waker: None,
            done: false,
        }
    }

    /// Whether the client still holds the connection for this attempt's answer.
    fn awaits(&self, it: Attempt) -> bool {
        let is_newer = self.newest_cancelled < Some(it.call);
        it.drops == self.drops && (is_newer || !self.cancelled.contains(&(it.call, it.attempt)))
    }

    /// The scripted network of the next attempt of a call, if there is one.
    fn net_of_retry(&mut self, call: CallId) -> Option<Box<Net>> {
        let (_, nets) = self.retries.iter_mut().find(|(of, _)| *of == call)?;
        nets.pop_front().map(Box::new)
    }

    /// Updates whether the user is done. Returns whether it is not.
    pub(super) fn update_done(&mut self) -> bool {
        self.done = self.user.is_done();
        !self.done
    }

    /// Whether it reads from this stream.
    pub(super) fn reads_from(&self, stream: u32) -> bool {
        self.stream == Some(stream) || self.older.iter().any(|old| old.0 == stream)
    }

    /// The server's ends of its streams, the current one first.
    pub(super) fn stream_tickets(&self) -> Vec<Ticket> {
        let older = self.older.iter().map(|old| old.1);
        self.stream_ticket.into_iter().chain(older).collect()
    }

    /// Whether the user is not done.
    pub(super) const fn is_there(&self) -> bool {
        !self.done
    }
}

impl World<'_, '_> {
    /// Performs the user's requests, and schedules its timer.
    pub(super) fn settle(&mut self, agent: u32) {
        while let Some(action) = self.clients[agent as usize].user.poll_action() {
            self.act(agent, action);
        }
        self.watch(agent);
        let client = &mut self.clients[agent as usize];
        if let Some(due) = client.user.poll_timeout()
            && due < client.timer_at
        {
            client.timer_at = due;
            self.events.schedule(due, Event::Timer(agent));
        }
        if !client.done && client.user.is_done() {
            client.done = true;
            self.busy -= 1;
            self.end_if_quiet();
        }
    }

    /// Whether a user's timer has moved later since it was scheduled. If so, it is scheduled again.
    pub(super) fn timer_is_stale(&mut self, agent: u32, at: Time) -> bool {
        let client = &mut self.clients[agent as usize];
        if client.timer_at != at {
            return true;
        }
        client.timer_at = Time::MAX;
        match client.user.poll_timeout() {
            Some(due) if due > at => {
                client.timer_at = due;
                self.events.schedule(due, Event::Timer(agent));
                true
            }
            Some(_) => false,
            None => true,
        }
    }

    pub(super) fn user_timer(&mut self, agent: u32) {
        let now = self.now();
        let user = &mut self.clients[agent as usize].user;
        user.handle_timeout(now, &mut self.observers);
        self.settle(agent);
    }

    fn act(&mut self, agent: u32, action: Action) {
        match action {
            Action::Request {
                call,
                attempt,
                who,
                key,
                op,
            } => {
                let client = &mut self.clients[agent as usize];
                if attempt > 0 {
                    client.net = client.net_of_retry(call);
                }
                let origin = RequestOrigin::Call(Attempt {
                    agent,
                    call,
                    attempt,
                    drops: client.drops,
                    copy: false,
                });
                let from = self.address_of(agent);
                let (fate, copy) = self.send(origin, translate::call(who, from, key, op));
                let sent = NetworkRecord::Sent {
                    call,
                    attempt,
                    fate,
                    copy,
                };
                self.tell_traffic(agent, sent);
            }
            Action::Cancel { call, attempt } => self.cancel(agent, call, attempt),
            Action::OpenStream {
                stream,
                secret,
                after,
                opening,
            } => {
                let after = (!opening.bare).then_some(after);
                let ask = translate::open_stream(secret, opening.by.unwrap_or_default(), after);
                self.open_stream((agent, stream), ask, opening);
            }
            Action::CloseStream { stream } => {
                let client = &mut self.clients[agent as usize];
                let mut ticket = None;
                if client.stream == Some(stream) {
                    client.stream = None;
                    ticket = client.stream_ticket.take();
                } else if let Some(at) = client.older.iter().position(|old| old.0 == stream) {
                    ticket = Some(client.older.remove(at).1);
                }
                if let Some(ticket) = ticket {
                    self.drop_connection(agent, ticket);
                }
            }
            Action::DropAll { length } => self.drop_all(agent, length),
        }
    }

    fn open_stream(&mut self, (agent, stream): (u32, u32), ask: Arc<Call>, opening: Opening) {
        let client = &mut self.clients[agent as usize];
        let older = client.stream.zip(client.stream_ticket.take());
        client.older.extend(older);
        if older.is_some() {
            self.observers.reach(Point::TwoStreams);
        }
        client.stream = Some(stream);
        client.net = opening.net().map(Box::new);
        let (fate, _) = self.send(RequestOrigin::Stream { agent, stream }, ask);
        self.tell_traffic(agent, NetworkRecord::Opening { opening, fate });
    }

    fn drop_all(&mut self, agent: u32, length: Option<Span>) {
        self.tell_traffic(agent, NetworkRecord::Disconnected { length });
        let client = &mut self.clients[agent as usize];
        client.drops += 1;
        client.moves += u32::from(length.is_some());
        client.stream = None;
        let streams = client.stream_tickets();
        client.stream_ticket = None;
        client.older.clear();
        let requests = std::mem::take(&mut client.in_flight);
        for ticket in requests.into_iter().map(|entry| entry.2).chain(streams) {
            self.drop_connection(agent, ticket);
        }
    }

    fn cancel(&mut self, agent: u32, call: CallId, attempt: u32) {
        let client = &mut self.clients[agent as usize];
        if client.cancelled.len() >= CANCELLED {
            client.cancelled.pop_front();
        }
        client.cancelled.push_back((call, attempt));
        client.newest_cancelled = client.newest_cancelled.max(Some(call));
        let is_gone = |entry: &mut (CallId, u32, Ticket)| (entry.0, entry.1) == (call, attempt);
        let gone: Vec<_> = client.in_flight.extract_if(.., is_gone).collect();
        for (.., ticket) in gone {
            self.drop_connection(agent, ticket);
        }
    }

    /// Lets the server notice a closed connection: soon, or after the silence of a cut link.
    fn drop_connection(&mut self, agent: u32, ticket: Ticket) {
        let mut time = self.latency(agent, Direction::Server);
        if self.network.is_cut(agent, self.now()) {
            time = time + CUT_NOTICED;
        }
        self.schedule_in(time, Event::GoneAtServer(ticket));
    }

    /// Whether an arriving event must wait, because the process is stopped or has not read earlier
    /// ones yet. If so, it is kept.
    pub(super) fn defer(&mut self, agent: u32, event: Event) -> bool {
        let now = self.events.now();
        let client = &mut self.clients[agent as usize];
        if client.read.take_if(|read| *read == event).is_some() {
            return false;
        }
        let waits = client.asleep_until > now || !client.kept.is_empty();
        if waits {
            client.kept.push_back(event);
        }
        waits
    }

    /// Continues a suspended process: it reads the first event that was kept.
    pub(super) fn awake(&mut self, agent: u32) {
        let now = self.events.now();
        let client = &mut self.clients[agent as usize];
        if client.asleep_until > now {
            return; // stopped again before it went on
        }
        let Some(event) = client.kept.pop_front() else {
            return;
        };
        client.read = Some(event);
        if !client.kept.is_empty() {
            self.events.schedule(now, Event::Awake(agent));
        }
        self.handle(event);
        self.clients[agent as usize].read = None;
    }

    pub(super) fn answer_arrives(&mut self, ticket: Ticket) {
        let Some(InFlight::Answer(origin, _)) = self.in_flight.get_mut(ticket) else {
            return;
        };
        let origin = *origin;
        if let RequestOrigin::Look { agent, look } = origin
            && let Some(InFlight::Answer(_, outcome)) = self.in_flight.remove(ticket)
        {
            return self.look_answered(agent, look, &outcome);
        }
        let agent = origin.agent();
        if self.defer(agent, Event::AtClient(ticket)) {
            return;
        }
        let Some(InFlight::Answer(origin, outcome)) = self.in_flight.remove(ticket) else {
            return;
        };
        if let RequestOrigin::Call(attempt) = origin
            && !self.clients[agent as usize].awaits(attempt)
        {
            return;
        }
        let now = self.now();
        if let Ok(Response::Read(Answer::Page { page, .. })) = &outcome {
            self.deliver(agent, page, DeliveryPath::Check);
        }
        self.hash = mix(self.hash, outcome_word(&outcome));
        let (client, observers) = (&mut self.clients[agent as usize], &mut self.observers);
        let user = &mut client.user;
        match origin {
            RequestOrigin::Call(Attempt { call, attempt, .. }) => {
                user.handle_answer(now, call, attempt, &outcome, observers);
            }
            RequestOrigin::Look { .. } => {}
            RequestOrigin::Stream { stream, .. } => {
                if client.stream.take_if(|open| *open == stream).is_some() {
                    user.handle_stream_closed(now, stream, outcome.err(), observers);
                }
            }
        }
        self.settle(agent);
    }

    /// Passes the events of a page to the user, one by one.
    pub(super) fn deliver(&mut self, agent: u32, page: &Page, path: DeliveryPath) {
        let now = self.now();
        let user = &mut self.clients[agent as usize].user;
        for item in page.items() {
            let (seq, sent_at, event) = match item {
                Item::Gap(gap) => (gap.to, now, InboxEvent::Gap(gap)),
                Item::Event(seq, event) => {
                    let word = (seq.0 << 40) ^ event.room_seq.0 ^ event.at.0;
                    self.hash = mix(self.hash, word);
                    (seq, event.at, InboxEvent::Event(event))
                }
            };
            user.handle_event(now, seq.0, sent_at, event, path, &mut self.observers);
        }
    }

    /// Suspends the client's process.
    pub(super) fn suspend(&mut self, agent: u32, until: Time) {
        let now = self.now();
        let client = &mut self.clients[agent as usize];
        client.asleep_until = client.asleep_until.max(until);
        let awake_at = client.asleep_until;
        client.user.suspend(now, awake_at);
        self.events.schedule(awake_at, Event::Awake(agent));
        self.settle(agent);
    }
}
