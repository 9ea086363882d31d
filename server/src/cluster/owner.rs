//! The owner's side: calls and streams of other members' doors.

use chat_core::{Address, Earlier, Reader, Seq};
use server_chat::driver::{NodeClient, Request, Settled};
use server_chat::task;
use server_nats::{Calls, Incoming};

use super::lateness::{LateBelow, late_below};
use super::remote_stream;
use super::standing::{Standings, serve_with_node};
use super::wire::{self, Answer, CALL, Question, decode, encode};

/// Serves calls while this member has the node. All others find nobody subscribed, or another
/// member.
pub(super) async fn serve(calls: Calls, local: NodeClient, standing: Standings) {
    let owner = Owner {
        late_below: late_below(standing.clone()),
        calls: calls.clone(),
        local,
        standing: standing.clone(),
    };
    serve_with_node(calls, CALL, standing, move |call| {
        task::spawn(owner.clone().answer(call));
        std::future::ready(())
    })
    .await;
}

#[derive(Clone)]
struct Owner {
    calls: Calls,
    local: NodeClient,
    standing: Standings,
    late_below: LateBelow,
}

impl Owner {
    async fn answer(self, incoming: Incoming) {
        let answer = match decode(&incoming.bytes) {
            // Its door asks again when it has applied more.
            Some(Question::Call { sequence, .. }) if sequence < *self.late_below.borrow() => {
                Answer::Moved(Earlier::Unasked)
            }
            Some(Question::Call { from, call, .. }) => {
                let settled = self.local.try_call(from, Request::Call(call)).await;
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
        let mut id = [0; 8];
        if getrandom::fill(&mut id).is_err() {
            return Answer::Moved(Earlier::Unasked);
        }
        let id = u64::from_le_bytes(id);
        let (stream, context) = match self.local.try_open(from, reader, after).await {
            Ok(opened) => opened,
            Err(settled) => return self.answer_of(settled),
        };
        let Some(asked) = self.calls.serve(&wire::stream(id)).await else {
            return Answer::Moved(Earlier::Unasked);
        };
        let standing = self.standing.clone();
        task::spawn(remote_stream::serve(stream, asked, standing));
        Answer::Opened {
            sequence: self.standing.borrow().sequence,
            stream: id,
            context,
        }
    }

    fn answer_of(&self, settled: Settled) -> Answer {
        match settled {
            Settled::Answered(answered) => Answer::Answered {
                sequence: self.standing.borrow().sequence,
                answered: Box::new(answered),
            },
            Settled::Moved(earlier) => Answer::Moved(earlier),
        }
    }
}
