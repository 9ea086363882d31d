//! The border of the tiny world's server: calls in, batches committed, answers and pushes out. All
//! of it is reported to the judge.

use std::sync::Arc;

use chat_core::{Address, Output, Response, Ticket};
use sim_model::server::{Call, ServerRecord};

use super::{MOST_BATCHES, SOON, Tiny};
use sim_model::history::{ClientEvent, DeliveryPath, Observer as _};
use sim_model::protocol::PUSH_MAX;
use sim_world::translate;

impl Tiny {
    /// Commits proposed entries and delivers the outputs until none are left.
    pub(super) fn settle(&mut self) {
        for _ in 0..MOST_BATCHES {
            self.take_outputs();
            if self.node.poll_batch(self.now + SOON).is_none() {
                return;
            }
            let at = self.now;
            let batch = &translate::batch(&self.node);
            self.judge
                .observe_server(&ServerRecord::Appending { at, batch });
            let first = self.node.hub().position().next();
            let (judge, mut position) = (&mut self.judge, first);
            self.node
                .committed_and(first, (at, at), |entry, ticket, outcome, posted| {
                    judge.observe_server(&ServerRecord::Committed {
                        position: position.0,
                        at,
                        since: at,
                        entry,
                        ticket,
                        said: translate::decided(outcome),
                        posted: Some(posted),
                    });
                    position = position.next();
                });
        }
        panic!("the node proposes without end");
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.node.poll_output() {
            match output {
                Output::Reply {
                    ticket,
                    outcome: Ok(Response::Streaming),
                } => {
                    let cursor = self.node.stream_cursor(ticket);
                    self.show(&ServerRecord::StreamOpened {
                        at: self.now,
                        ticket,
                        cursor: cursor.map(|cursor| cursor.0),
                    });
                    if let Some(user) = self.whose(ticket) {
                        self.record(user, ClientEvent::StreamOpened);
                    }
                }
                Output::Reply { ticket, outcome } => {
                    let outcome = translate::outcome(outcome);
                    self.show(&ServerRecord::Answered {
                        at: self.now,
                        ticket,
                        outcome: &outcome,
                    });
                    self.answers.push((ticket, outcome));
                }
                Output::StreamReady(ticket) => self.push(ticket),
                Output::StreamClosed(ticket) => {
                    let at = self.now;
                    self.show(&ServerRecord::StreamEnded { at, ticket });
                    if let Some(user) = self.whose(ticket) {
                        self.clients[usize::from(user)].stream = None;
                        self.record(user, ClientEvent::StreamClosed);
                    }
                }
                Output::Notice {
                    stream,
                    room,
                    notice,
                } => self.show(&ServerRecord::Noticed {
                    at: self.now,
                    ticket: stream,
                    notice: (room, &notice),
                }),
            }
        }
    }

    /// Submits a call to the node, and reports it and its outputs to the judge and the client.
    pub(super) fn submit(&mut self, user: u8, ticket: Ticket, ask: &Arc<Call>) {
        let from = u64::from(user);
        self.show(&ServerRecord::Asked {
            at: self.now,
            ticket,
            from,
            ask,
        });
        let call = Call::clone(ask);
        self.node.submit(self.now, ticket, Address(from), call);
        self.settle();
    }

    pub(super) fn show(&mut self, record: &ServerRecord<'_>) {
        self.judge.observe_server(record);
    }

    fn push(&mut self, stream: Ticket) {
        let Some(user) = self.whose(stream) else {
            return;
        };
        while let Some(page) = self.node.read_stream(stream, PUSH_MAX)
            && !page.is_empty()
        {
            self.show(&ServerRecord::Pushed {
                at: self.now,
                ticket: stream,
                page: &page,
            });
            self.deliver(user, &page, DeliveryPath::Stream);
        }
    }
}
