//! Performs users' requests: calls, streams, and their ends.

use std::sync::Arc;

use chat_types::{Span, Time, mix};

use super::{LoadRunner, RequestPurpose, Wakeup};
use crate::ask::Ask;
use crate::caller::CallerRequest;
use crate::client::{InFlight, Reading, Stream};
use crate::listening::Opening;
use crate::target::Protocol;
use sim_model::history::{NetworkRecord, Observer as _};
use sim_model::protocol::{Agent, CallId};
use sim_user::{Action, Credential};

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
                self.at(due, Wakeup::Timer(agent));
                true
            }
            Some(_) => false,
            None => true,
        }
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
                let (secret, key, handle) = match who {
                    // The handle follows from the key of the registering call, so all attempts have
                    // one, whatever the user's habits.
                    Credential::New { secret } => {
                        let key = key.unwrap_or(u128::from(mix(3, secret)) << 64);
                        (secret, Some(key), None)
                    }
                    Credential::Handle { secret } => {
                        let known = client.identity(secret).credentials.as_ref();
                        (secret, key, known.map(|known| Arc::clone(&known.handle)))
                    }
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
                let ticket = self.pool.send(&session, want);
                self.metrics.requests.sent += 1;
                client.in_flight.push(InFlight {
                    call,
                    attempt,
                    ticket,
                    secret,
                    moves,
                });
                let stream = None;
                self.requests
                    .insert(ticket, RequestPurpose { agent, stream });
            }
            Action::Cancel { call, attempt } => self.cancel(agent, call, attempt),
            // All streams of a live server are opened by handle.
            Action::OpenStream {
                stream, who, after, ..
            } => self.open(agent, stream, who, after),
            Action::CloseStream { stream } => {
                if client.stream.as_ref().is_some_and(|s| s.number == stream) {
                    self.close(agent);
                }
            }
            Action::DropAll { length } => self.drop_all(agent, length),
        }
    }

    /// Cancels an attempt that had no answer in time. The client goes on to the next server.
    fn cancel(&mut self, agent: u32, call: CallId, attempt: u32) {
        let client = &mut self.clients[agent as usize];
        let is_it = |one: &InFlight| (one.call, one.attempt) == (call, attempt);
        let Some(one) = client.take(is_it) else {
            return;
        };
        if self.requests.contains_key(&one.ticket) {
            client.identity(one.secret).session.leave(one.moves);
        }
        self.forget(one.ticket);
    }

    /// Ends all connections of a client.
    fn drop_all(&mut self, agent: u32, length: Option<Span>) {
        let (now, dropped) = (self.clock.now(), NetworkRecord::Disconnected { length });
        self.metrics.observe_network(now, Agent(agent), &dropped);
        let lost = std::mem::take(&mut self.clients[agent as usize].in_flight);
        for one in lost {
            self.forget(one.ticket);
        }
        self.close(agent);
    }

    /// Cancels a request that is not awaited any more.
    pub(super) fn forget(&mut self, ticket: u64) {
        self.requests.remove(&ticket);
        self.pool.cancel(ticket);
    }

    fn open(&mut self, agent: u32, number: u32, who: Credential, after: u64) {
        let (Credential::New { secret } | Credential::Handle { secret }) = who;
        self.close(agent);
        let client = &mut self.clients[agent as usize];
        let identity = client.identity(secret);
        let session = Arc::clone(&identity.session);
        let Some(credentials) = identity.credentials.clone() else {
            return;
        };
        if client.cut_until > self.clock.now() {
            return;
        }
        let task = self.pool.listen(Opening {
            agent,
            stream: number,
            slow_until: Arc::clone(&client.slow_until),
            handle: credentials.handle,
            inbox: credentials.inbox.clone(),
            after,
            session: Arc::clone(&session),
        });
        client.stream = Some(Stream {
            number,
            task,
            inbox: credentials.inbox,
            session,
            cursor: after,
            reading: Reading::Idle,
        });
    }

    pub(super) fn close(&mut self, agent: u32) {
        if let Some(stream) = self.clients[agent as usize].stream.take() {
            match stream.reading {
                Reading::Idle => {}
                Reading::Page { ticket } | Reading::PageAndMore { ticket } => self.forget(ticket),
            }
        }
    }
}
