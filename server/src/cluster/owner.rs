//! The owner's side: calls and streams of other members' doors.

use std::time::Duration;

use chat_core::{Address, Earlier, Reader, Seq};
use futures_util::StreamExt as _;
use server_chat::driver::{EventStream, Settled};
use server_chat::task;
use server_nats::{Incoming, Serving};
use server_storage::random;
use tokio::sync::watch;
use tokio::time::timeout;

use super::standing::Membership;
use super::wire::{self, Answer, CALL, Pushed, Question, decode, encode};

/// How long the owner waits for a delivery until it answers that there is none.
const WAIT: Duration = Duration::from_secs(3);

/// How long a stream stays open without a request: its door may be gone.
const UNREAD: Duration = Duration::from_secs(15);

/// Serves calls while this member has the node. All others find nobody subscribed, or another
/// member.
pub(super) async fn serve(member: Membership) {
    let owner = Owner {
        late_below: member.late_below(),
        member: member.clone(),
    };
    let answer = move |call| {
        task::spawn(owner.clone().answer(call));
        std::future::ready(())
    };
    member.serve_with_node(CALL, answer).await;
}

#[derive(Clone)]
struct Owner {
    member: Membership,
    /// The sequence below which questions are late.
    late_below: watch::Receiver<u64>,
}

impl Owner {
    async fn answer(self, incoming: Incoming) {
        let answer = match decode(&incoming.bytes) {
            // Its door asks again when it has applied more.
            Some(Question::Call { sequence, .. }) if sequence < *self.late_below.borrow() => {
                Answer::Moved(Earlier::Unasked)
            }
            Some(Question::Call { from, call, .. }) => {
                let settled = self.member.local.try_call(from, call).await;
                self.answer_of(settled)
            }
            Some(Question::Open {
                from,
                reader,
                after,
            }) => self.open(from, reader, after).await,
            // Of another version, whose member finds an owner of its own later.
            None => return,
        };
        incoming.answer(encode(&answer)).await;
    }

    async fn open(&self, from: Address, reader: Reader, after: Option<Seq>) -> Answer {
        let Ok(id) = random() else {
            return Answer::Moved(Earlier::Unasked);
        };
        let id = u64::from_le_bytes(id);
        let (stream, context) = match self.member.local.try_open(from, reader, after).await {
            Ok(opened) => opened,
            Err(settled) => return self.answer_of(settled),
        };
        let Some(asked) = self.member.log.serve(&wire::stream(id)).await else {
            return Answer::Moved(Earlier::Unasked);
        };
        task::spawn(serve_stream(stream, asked, self.member.clone()));
        Answer::Opened {
            sequence: self.member.sequence(),
            stream: id,
            context,
        }
    }

    fn answer_of(&self, settled: Settled) -> Answer {
        match settled {
            Settled::Answered(answered) => Answer::Answered {
                sequence: self.member.sequence(),
                answered: Box::new(answered),
            },
            Settled::Moved(earlier) => Answer::Moved(earlier),
        }
    }
}

/// Serves a stream to the door that opened it, until it ends, or no door asks any more.
async fn serve_stream(mut stream: EventStream, mut asked: Serving, member: Membership) {
    let mut sent = 0_u64;
    let mut last = Pushed::Nothing;
    while let Ok(Some(request)) = timeout(UNREAD, asked.next()).await {
        let Some(received) = decode::<u64>(&request.bytes) else {
            continue;
        };
        if received == sent {
            // The door has all that was sent.
            last = match timeout(WAIT, stream.next()).await {
                Ok(delivery) => {
                    sent += 1;
                    let sequence = member.sequence();
                    Pushed::Delivery { sequence, delivery }
                }
                Err(_) => Pushed::Nothing,
            };
        }
        request.answer(encode(&last)).await;
    }
}
