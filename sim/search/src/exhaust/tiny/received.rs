//! What clients receive, and its records for the judge.

use chat_core::Item;
use chat_types::Time;
use sim_model::history::{ClientEvent, DeliveryPath, Observer as _, Record, RunEvent};
use sim_model::outcome::{Action, TinyCall};
use sim_model::protocol::{Agent, Body, InboxEvent, Response};

use super::Tiny;

impl Tiny {
    /// Passes the events of a page to a client, one by one.
    pub(super) fn deliver(&mut self, user: u8, page: &chat_core::Page, path: DeliveryPath) {
        for item in page.items() {
            let (place, event) = match item {
                Item::Gap(gap) => ((gap.to.0, self.now), InboxEvent::Gap(gap)),
                Item::Event(seq, event) => ((seq.0, event.at), InboxEvent::Event(event)),
            };
            self.received(user, place, event, path);
        }
    }

    fn received(
        &mut self,
        user: u8,
        (seq, sent_at): (u64, Time),
        event: InboxEvent<'_>,
        path: DeliveryPath,
    ) {
        let client = &mut self.clients[usize::from(user)];
        let first = seq > client.cursor;
        if first {
            client.cursor = seq;
            client.see(event);
        }
        self.record(
            user,
            ClientEvent::Received {
                seq,
                sent_at,
                event,
                path,
                first,
            },
        );
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
        } else if let ClientEvent::Answered {
            outcome: Ok(Response::Done(reply)),
            ..
        } = what
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
        let clients = &self.clients;
        self.order
            .retain(|&(user, ask)| ask == TinyCall::Block || clients[usize::from(user)].waits);
        if let Action::Call(user, ask) | Action::Lost(user, ask) = action {
            let waits = self.clients[usize::from(user)].waits && ask != TinyCall::Block;
            let known = |entry: &(u8, TinyCall)| entry.0 == user && (entry.1 == ask || waits);
            if (waits || ask == TinyCall::Block) && !self.order.iter().any(known) {
                self.order.push((user, ask));
            }
        }
    }
}
