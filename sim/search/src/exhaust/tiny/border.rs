//! The border of the tiny world's server: calls in, batches committed, answers and pushes out; and what
//! clients receive, with its records for the judge.

use std::sync::Arc;

use chat_core::{Address, Item, Page, Ticket};
use sim_judge::Judge;
use sim_model::history::{ClientEvent, DeliveryPath, Observer as _, Record, RunEvent};
use sim_model::outcome::{Action, TinyCall};
use sim_model::protocol::{Agent, Body, InboxEvent, Outcome, Response};
use sim_model::server::{Call, ServerRecord};
use sim_world::host::{Sent, ServerHost};

use super::{MOST_BATCHES, SOON, Tiny};

impl Tiny {
    /// The server, at the present instant.
    pub(super) fn host(&mut self) -> ServerHost<'_, Judge> {
        ServerHost {
            node: &mut self.node,
            observer: &mut self.judge,
            at: self.now,
        }
    }

    /// Commits proposed entries and delivers the outputs until none are left.
    pub(super) fn settle(&mut self) {
        for _ in 0..MOST_BATCHES {
            self.take_outputs();
            if self.node.poll_batch(self.now + SOON).is_none() {
                return;
            }
            let mut host = self.host();
            host.begin_append();
            host.committed(host.at, true, |_, _| {});
        }
        panic!("the node proposes without end");
    }

    fn take_outputs(&mut self) {
        while let Some(sent) = self.host().poll() {
            match sent {
                Sent::Answer(ticket, Ok(Response::Streaming)) => {
                    if let Some(user) = self.whose(ticket) {
                        self.record(user, ClientEvent::StreamOpened);
                    }
                }
                Sent::Answer(ticket, outcome) => self.answers.push((ticket, outcome)),
                Sent::Ready(ticket) => self.push(ticket),
                Sent::End(ticket) => {
                    if let Some(user) = self.whose(ticket) {
                        self.client(user).stream = None;
                        self.record(user, ClientEvent::StreamClosed);
                    }
                }
                Sent::Notice => {}
            }
        }
    }

    /// Submits a call to the node, and takes its outputs. Returns its answer, if there is one.
    pub(super) fn submit(&mut self, user: u8, ticket: Ticket, ask: &Arc<Call>) -> Option<Outcome> {
        self.host().submit(ticket, Address(user.into()), ask);
        self.settle();
        let place = self.answers.iter().position(|told| told.0 == ticket)?;
        Some(self.answers.swap_remove(place).1)
    }

    pub(super) fn show(&mut self, record: &ServerRecord<'_>) {
        self.judge.observe_server(self.now, record);
    }

    fn push(&mut self, stream: Ticket) {
        let Some(user) = self.whose(stream) else {
            return;
        };
        while let Some(page) = self.host().read_stream(stream) {
            self.deliver(user, &page, DeliveryPath::Stream);
        }
    }

    /// Passes the events of a page to a client, one by one.
    pub(super) fn deliver(&mut self, user: u8, page: &Page, path: DeliveryPath) {
        for item in page.items() {
            let (seq, sent_at, event) = match item {
                Item::Gap(gap) => (gap.to.0, self.now, InboxEvent::Gap(gap)),
                Item::Event(seq, event) => (seq.0, event.at, InboxEvent::Event(event)),
            };
            let client = self.client(user);
            let first = seq > client.cursor;
            if first {
                client.cursor = seq;
                client.see(event);
            }
            let received = ClientEvent::Received {
                seq,
                sent_at,
                event,
                path,
                first,
            };
            self.record(user, received);
        }
    }

    pub(super) fn record(&mut self, user: u8, what: ClientEvent<'_>) {
        self.look_up(&what);
        let client = &self.clients[usize::from(user)];
        let record = Record {
            at: self.now,
            agent: Agent(u32::from(user)),
            name: "",
            user: client.user,
            what,
        };
        self.judge.observe(RunEvent::Client(&record));
    }

    /// Updates the values of growing numbers.
    fn look_up(&mut self, what: &ClientEvent<'_>) {
        let place = if let ClientEvent::Received { event, .. } = what {
            if let Some(Body::StickGranted { epoch, .. }) = event.body() {
                self.highest.epoch = self.highest.epoch.max(epoch.0);
            }
            event.place()
        } else if let ClientEvent::Answered { outcome, .. } = what
            && let Ok(Response::Done(reply)) = outcome
        {
            reply.place().map(|(room, seq)| (room, seq.0))
        } else {
            None
        };
        if let Some((room, room_seq)) = place {
            self.highest.room = self.highest.room.max(room.0);
            let end = self.highest.ends.entry(room.0).or_default();
            *end = (*end).max(room_seq);
        }
    }

    /// Updates the order that judges compare across clients: see the head of `exhaust.rs`.
    pub(super) fn keep_order(&mut self, action: Action) {
        let waits = |user: u8| self.clients[usize::from(user)].waits;
        let stays = |entry: &(u8, TinyCall)| entry.1 == TinyCall::Block || waits(entry.0);
        self.order.retain(stays);
        if let Action::Call(user, ask) | Action::Lost(user, ask) = action {
            let waits = waits(user) && ask != TinyCall::Block;
            let known = |entry: &(u8, TinyCall)| entry.0 == user && (entry.1 == ask || waits);
            if (waits || ask == TinyCall::Block) && !self.order.iter().any(known) {
                self.order.push((user, ask));
            }
        }
    }
}
