//! What tests do in a tiny world: forged records, by which the judge receives what the server never sent, and a
//! read that no client makes.

use chat_core::{Address, Ticket};
use std::sync::Arc;

use chat_types::{Epoch, RoomSeq, Seq};
use sim_model::history::RequestKey;
use sim_model::server::ServerRecord;

use super::Tiny;
use sim_model::outcome::TinyCall;
use sim_model::protocol::{Body, Event, Op, Outcome, Page, Read, ReadBy, Reply, Response, Who};
use sim_world::translate;

impl Tiny {
    /// Makes a read by the client's reader id.
    pub(in crate::exhaust) fn read_by_reader_id(&mut self, user: u8, read: Read) -> Outcome {
        let who = self.client(user).credential();
        let (ticket, by, from) = (self.ticket(), ReadBy::ReaderId, Address(user.into()));
        let call = translate::call(who, from, None, Op::Read { read, by });
        let outcome = self.submit(user, ticket, &call);
        outcome.expect("it does not wait")
    }

    /// Forges an answer that accepts a message without an entry in the journal.
    pub(in crate::exhaust) fn forge_accepted(&mut self, user: u8) {
        let (_, op) = self.begin(user, TinyCall::Send, RequestKey::None);
        let client = &self.clients[usize::from(user)];
        let (Some(room), at, who) = (client.room, self.now, client.credential()) else {
            return;
        };
        let room_seq = self.highest.ends.get(&room.0).copied().unwrap_or_default() + 1;
        let ticket: Ticket = self.ticket();
        let ask = translate::call(who, Address(0), None, op);
        self.show(&ServerRecord::Asked {
            ticket,
            from: u64::from(user),
            ask: &ask,
        });
        let outcome = Ok(Response::Done(Reply::Sent {
            room,
            room_seq: RoomSeq(room_seq),
            at,
            turns_left: None,
        }));
        self.show(&ServerRecord::Answered {
            ticket,
            outcome: &outcome,
        });
    }

    /// Forges a second delivery of a message that the client has sent.
    pub(in crate::exhaust) fn forge_received_again(&mut self, user: u8) {
        let client = &self.clients[usize::from(user)];
        let (Some(room), Some(stream)) = (client.room, client.stream) else {
            return;
        };
        let (at, cursor) = (self.now, client.cursor + 1);
        let sender = Who::unnamed(self.clients[0].user.unwrap_or_default());
        let event = Event {
            room,
            room_seq: RoomSeq(self.highest.ends[&room.0]),
            at,
            body: Body::Message {
                sender,
                text: "hi".into(),
                epoch: self.clients[0].epoch.map(Epoch),
                to: [].into(),
            },
        };
        self.show(&ServerRecord::Pushed {
            ticket: stream,
            page: &Page {
                events: vec![(Seq(cursor), Arc::new(event))],
                cursor: Seq(cursor),
                ..Page::default()
            },
        });
    }
}
