//! Lies for tests: what the judge hears although the server never said it.

use super::Tiny;
use crate::exhaust::action::Ask;
use crate::history::{Path, What};
use crate::protocol::{Answer, Saw, Shown};

impl Tiny {
    /// The judge hears that a message was accepted, which the server knows nothing of.
    pub(in crate::exhaust) fn pretend_accepted(&mut self, user: u8) {
        let (call, op) = self.begin(user, Ask::Send, false);
        let (Some(room), at) = (self.clients[usize::from(user)].room, self.now) else {
            return;
        };
        let room_seq = self.highest.ends.get(&room.0).copied().unwrap_or_default() + 1;
        let outcome = Ok(Answer::Sent {
            room,
            room_seq,
            at,
            turns_left: None,
        });
        self.record(
            user,
            What::Answered {
                call,
                op: &op,
                called_at: at,
                intended: at,
                outcome: &outcome,
            },
        );
    }

    /// The judge hears that a message which everybody had came once more, as the next event.
    pub(in crate::exhaust) fn pretend_received_again(&mut self, user: u8) {
        let client = &self.clients[usize::from(user)];
        let (Some(room), seq) = (client.room, client.cursor + 1) else {
            return;
        };
        let saw = Saw::Message {
            shown: Shown::NAMELESS,
            room,
            room_seq: self.highest.ends[&room.0],
            sender: self.clients[0].user.unwrap_or_default(),
            text: "hi",
            epoch: self.clients[0].epoch,
        };
        self.received(user, (seq, self.now), &saw, Path::Check);
    }
}
