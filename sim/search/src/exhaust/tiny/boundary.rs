//! The border of the tiny world's server: calls in, batches committed, answers and pushes out.

use std::sync::Arc;

use chat_core::{Address, Response, Ticket};
use sim_judge::Judge;
use sim_model::history::{ClientEvent, DeliveryPath, Observer as _};
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
            host.committed(host.at, true, |_| {});
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
                        self.clients[usize::from(user)].stream = None;
                        self.record(user, ClientEvent::StreamClosed);
                    }
                }
                Sent::Notice => {}
            }
        }
    }

    /// Submits a call to the node, and takes its outputs.
    pub(super) fn submit(&mut self, user: u8, ticket: Ticket, ask: &Arc<Call>) {
        self.host().submit(ticket, Address(user.into()), ask);
        self.settle();
    }

    pub(super) fn show(&mut self, record: &ServerRecord<'_>) {
        self.judge.observe_server(record);
    }

    fn push(&mut self, stream: Ticket) {
        let Some(user) = self.whose(stream) else {
            return;
        };
        while let Some(page) = self.host().read_stream(stream) {
            self.deliver(user, &page, DeliveryPath::Stream);
        }
    }
}
