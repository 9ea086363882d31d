//! Performs users' requests, and passes them what returns: answers, events, and the ends of streams.

use std::sync::Arc;

use chat_types::{Span, Time, mix};

use super::{LoadRunner, Phase, Wakeup};
use crate::ask::Ask;
use crate::caller::{Answered, CallerRequest, Message, Session, StreamNews, TimedMessage};
use crate::client::{InFlight, Stream};
use crate::event::Received;
use crate::listening::Opening;
use crate::pool::Sent;
use crate::reply::{ParsedPage, ParsedReply};
use crate::target::Protocol;
use sim_model::history::{DeliveryPath, NetworkRecord, Observer as _};
use sim_model::outcome::{LostTarget, START};
use sim_model::protocol::{Agent, CallId, Refusal, Reply, Response};
use sim_user::Action;

impl LoadRunner<'_, '_> {
    pub(super) fn receive(&mut self, received: TimedMessage) {
        let now = self.clock.now();
        self.metrics.record_delay(received.at, now);
        self.ran.steps += 1;
        if received.message.is_heard() {
            self.watch.hear(received.at);
        }
        if let Some(message) = self.keep(received.message, now) {
            self.handle(message, now);
        }
    }

    pub(super) fn handle(&mut self, message: Message, now: Time) {
        match message {
            Message::Asked(found) => self.hear_of_target(found, now),
            Message::Nemesis(output) => self.hear_nemesis(output, now),
            Message::Ended {
                agent,
                ticket,
                result,
            } => self.end_request(agent, ticket, result, now),
            Message::Stream {
                agent,
                stream,
                news,
            } if self.has_stream(agent, stream) => self.hear_of_stream(agent, stream, news, now),
            Message::Stream { .. } => {}
        }
    }

    /// Handles the end of a request, if it is still awaited.
    fn end_request(
        &mut self,
        agent: u32,
        ticket: u64,
        result: Result<Answered, String>,
        now: Time,
    ) {
        if let Err(why) = &result {
            self.metrics.requests.failed += 1;
            self.last_failure = Some(why.clone());
        }
        let client = &mut self.clients[agent as usize];
        let call = client.take(|one| one.sent.ticket == ticket);
        let is_it = |reading: &Sent| reading.ticket == ticket;
        let reads = client.stream.as_ref();
        let reads = reads.filter(|stream| stream.reading.as_ref().is_some_and(is_it));
        let reads = reads.map(|stream| stream.opening.number);
        let is_awaited = call.is_some() || reads.is_some();
        self.metrics.requests.answered += u64::from(result.is_ok() && is_awaited);
        match (result, call, reads) {
            (Ok(Answered::Call(reply)), Some(call), _) => self.answer(agent, &call, *reply, now),
            (Ok(Answered::Page(Some(page))), _, Some(_)) => self.read(agent, page, now),
            (Ok(Answered::Page(None)) | Err(_), _, Some(stream)) => {
                self.handle_stream_end(agent, stream, None, now);
            }
            // To the client, a failed attempt looks like a slow one: it waits for its timeout.
            (_, _, _) => {}
        }
    }

    fn answer(&mut self, agent: u32, call: &InFlight, mut reply: ParsedReply, now: Time) {
        let client = &mut self.clients[agent as usize];
        if let Some(credentials) = reply.credentials.take() {
            client.identity(call.secret).credentials = Some(credentials);
        }
        // The answer to a break of a registered participant does not contain its id.
        if let Ok(Response::Done(Reply::OnBreak { user, .. })) = &mut reply.outcome
            && let Some(me) = client.user.identity()
        {
            *user = me;
        }
        self.deliver(agent, reply.events, DeliveryPath::Check, now);
        let user = &mut self.clients[agent as usize].user;
        let outcome = &reply.outcome;
        user.handle_answer(now, call.call, call.attempt, outcome, &mut self.metrics);
        self.settle(agent);
    }

    fn hear_of_stream(&mut self, agent: u32, stream: u32, news: StreamNews, now: Time) {
        match news {
            StreamNews::Opened => {
                let user = &mut self.clients[agent as usize].user;
                user.handle_stream_opened(now, stream, &mut self.metrics);
                self.handle_growth(agent);
                self.settle(agent);
            }
            StreamNews::Pushed(_) | StreamNews::Grew if self.breaks(agent) => {}
            StreamNews::Pushed(event) => {
                self.deliver(agent, vec![event], DeliveryPath::Stream, now);
                self.settle(agent);
            }
            StreamNews::Grew => self.handle_growth(agent),
            StreamNews::Closed(refusal) => self.handle_stream_end(agent, stream, refusal, now),
        }
    }

    /// Handles the end of a question to the target. The run ends if it is gone.
    fn hear_of_target(&mut self, found: Result<(), String>, now: Time) {
        if let (Some(heard_at), Err(why)) = (self.watch.end_asking(&found, now), found) {
            self.lost = Some(LostTarget {
                at: heard_at.since(START),
                why,
            });
            self.end(now);
        }
    }

    fn has_stream(&self, agent: u32, number: u32) -> bool {
        let stream = &self.clients[agent as usize].stream;
        stream.as_ref().is_some_and(|s| s.opening.number == number)
    }

    /// Whether the client's stream breaks at this push, by chance.
    fn breaks(&mut self, agent: u32) -> bool {
        let breaks =
            self.phase == Phase::Safety && self.fault_draw.chance(self.plan.network.stream_break);
        if breaks {
            self.break_stream(agent);
        }
        breaks
    }

    pub(super) fn handle_stream_end(
        &mut self,
        agent: u32,
        number: u32,
        refusal: Option<Refusal>,
        now: Time,
    ) {
        if self.has_stream(agent, number) {
            let client = &mut self.clients[agent as usize];
            client.stream = None;
            let user = &mut client.user;
            user.handle_stream_closed(now, number, refusal, &mut self.metrics);
            self.settle(agent);
        }
    }

    /// Reads an inbox whose stream reported that it grew.
    fn handle_growth(&mut self, agent: u32) {
        let is_pushed = self.pool.net.writer.protocol == Protocol::Http;
        let stream = self.clients[agent as usize].stream.as_mut();
        let Some(stream) = stream.filter(|_| !is_pushed) else {
            return;
        };
        let Some(inbox) = stream.opening.inbox.clone() else {
            return;
        };
        stream.has_grown = stream.reading.is_some();
        if !stream.has_grown {
            let (session, after) = (Arc::clone(&stream.opening.session), stream.cursor);
            let sent = self.send(agent, &session, CallerRequest::Inbox { inbox, after });
            if let Some(stream) = &mut self.clients[agent as usize].stream {
                stream.reading = Some(sent);
            }
        }
    }

    /// Makes a request of a client.
    fn send(&mut self, agent: u32, session: &Arc<Session>, want: CallerRequest) -> Sent {
        self.metrics.requests.sent += 1;
        self.pool.send(agent, session, want)
    }

    /// Handles a page of an inbox that was read for a stream.
    fn read(&mut self, agent: u32, page: ParsedPage, now: Time) {
        let mut goes_on = page.more;
        if let Some(open) = &mut self.clients[agent as usize].stream {
            goes_on |= open.has_grown;
            open.reading = None;
            open.cursor = open.cursor.max(page.cursor);
        }
        self.deliver(agent, page.events, DeliveryPath::Stream, now);
        if goes_on {
            self.handle_growth(agent);
        }
        self.settle(agent);
    }

    /// Passes events to the user, one by one.
    fn deliver(&mut self, agent: u32, events: Vec<Received>, path: DeliveryPath, now: Time) {
        let user = &mut self.clients[agent as usize].user;
        for mut event in events {
            event.read_by(user.identity());
            let sent_at = event.sent_at.unwrap_or(now);
            let seen = event.inbox_event();
            user.handle_event(now, event.seq, sent_at, seen, path, &mut self.metrics);
        }
    }
}

impl LoadRunner<'_, '_> {
    /// Performs the user's requests, and schedules its timer.
    pub(super) fn settle(&mut self, agent: u32) {
        while let Some(action) = self.clients[agent as usize].user.poll_action() {
            self.act(agent, action);
        }
        let client = &mut self.clients[agent as usize];
        if let Some(due) = client.user.poll_timeout()
            && due < client.timer_at
        {
            client.timer_at = due;
            self.at(due, Wakeup::Timer(agent));
        }
        let client = &mut self.clients[agent as usize];
        if !client.done && client.user.is_done() {
            client.done = true;
            self.busy -= 1;
            self.end_if_quiet(self.clock.now());
        }
    }

    /// Whether a user's timer is due. One that has moved later since is scheduled again.
    pub(super) fn timer_is_due(&mut self, agent: u32, at: Time) -> bool {
        let client = &mut self.clients[agent as usize];
        if client.timer_at != at {
            return false;
        }
        client.timer_at = Time::MAX;
        let is_due = client.user.poll_timeout().is_some_and(|due| due <= at);
        if !is_due {
            self.settle(agent);
        }
        is_due
    }

    fn act(&mut self, agent: u32, action: Action) {
        let client = &mut self.clients[agent as usize];
        match action {
            Action::Request {
                call,
                attempt,
                who,
                key,
                op,
            } => {
                let secret = who.secret;
                let (key, handle) = match who.is_new {
                    // The handle follows from the key of the registering call, so all attempts have
                    // one, whatever the user's habits.
                    true => {
                        let key = key.unwrap_or(u128::from(mix(3, secret)) << 64);
                        (Some(key), None)
                    }
                    false => (key, client.identity(secret).handle()),
                };
                if client.cut_until > self.clock.now() {
                    // The request is lost on its way.
                    return;
                }
                let room = client.user.current_room();
                let session = Arc::clone(&client.identity(secret).session);
                let moves = session.moves();
                let want = CallerRequest::Call(Ask {
                    handle,
                    key,
                    op,
                    room: room.filter(|_| self.pool.net.writer.protocol != Protocol::Http),
                });
                let sent = self.send(agent, &session, want);
                self.clients[agent as usize].in_flight.push(InFlight {
                    call,
                    attempt,
                    sent,
                    secret,
                    moves,
                });
            }
            Action::Cancel { call, attempt } => self.cancel(agent, call, attempt),
            // All streams of a live server are opened by handle.
            Action::OpenStream {
                stream,
                secret,
                after,
                ..
            } => self.open(agent, stream, secret, after),
            Action::CloseStream { stream } => {
                client.stream.take_if(|open| open.opening.number == stream);
            }
            Action::DropAll { length } => self.drop_all(agent, length),
        }
    }

    /// Cancels an attempt that had no answer in time. The client goes on to the next server.
    fn cancel(&mut self, agent: u32, call: CallId, attempt: u32) {
        let client = &mut self.clients[agent as usize];
        let is_it = |one: &InFlight| (one.call, one.attempt) == (call, attempt);
        if let Some(one) = client.take(is_it) {
            client.identity(one.secret).session.leave(one.moves);
        }
    }

    /// Ends all connections of a client.
    fn drop_all(&mut self, agent: u32, length: Option<Span>) {
        let (now, dropped) = (self.clock.now(), NetworkRecord::Disconnected { length });
        self.metrics.observe_network(now, Agent(agent), &dropped);
        let client = &mut self.clients[agent as usize];
        client.in_flight.clear();
        client.stream = None;
    }

    fn open(&mut self, agent: u32, number: u32, secret: u64, after: u64) {
        let client = &mut self.clients[agent as usize];
        client.stream = None;
        let identity = client.identity(secret);
        let session = Arc::clone(&identity.session);
        let Some(credentials) = identity.credentials.clone() else {
            return;
        };
        if client.cut_until > self.clock.now() {
            return;
        }
        let opening = Arc::new(Opening {
            agent,
            number,
            slow_until: Arc::clone(&client.slow_until),
            handle: credentials.handle,
            inbox: credentials.inbox,
            after,
            session,
        });
        client.stream = Some(Stream {
            task: self.pool.listen(Arc::clone(&opening)),
            opening,
            cursor: after,
            reading: None,
            has_grown: false,
        });
    }
}
