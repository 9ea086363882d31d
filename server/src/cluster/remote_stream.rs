//! A stream of the owner's node that a door of another member reads: one delivery at a time, each
//! kept until it is acknowledged by the request for the next one.

use std::time::Duration;

use async_trait::async_trait;
use server_chat::driver::{Delivery, Ending, EventStream, RemoteStream};
use server_nats::{Calls, Serving};
use tokio::time::timeout;

use super::door::catch_up;
use super::standing::{Standings, end_of_epoch};
use super::wire::{self, Next, Pushed, decode, encode};

/// How long the owner waits for a delivery until it answers that there is none.
const WAIT: Duration = Duration::from_secs(3);

/// How long a door waits for an answer. An owner that is gone is noticed after it.
const ANSWER: Duration = Duration::from_secs(6);

/// How long a stream stays open without a request: its door may be gone.
const UNREAD: Duration = Duration::from_secs(15);

/// The door's end of a stream.
#[derive(Debug)]
pub(super) struct DoorStream {
    calls: Calls,
    kind: String,
    standing: Standings,
    /// The epoch of the owner that has the stream.
    epoch: u64,
    received: u64,
}

impl DoorStream {
    pub(super) fn new(calls: Calls, id: u64, standing: Standings) -> Self {
        let epoch = standing.borrow().epoch;
        Self {
            calls,
            kind: wire::stream(id),
            standing,
            epoch,
            received: 0,
        }
    }
}

#[async_trait]
impl RemoteStream for DoorStream {
    async fn next(&mut self) -> Delivery {
        loop {
            let next = encode(&Next {
                received: self.received,
            });
            let answer = tokio::select! {
                answer = self.calls.ask(&self.kind, next, ANSWER) => answer.ok(),
                _ = end_of_epoch(&self.standing, self.epoch) => None,
            };
            match answer.and_then(|bytes| decode(&bytes)) {
                Some(Pushed::Delivery { sequence, delivery }) => {
                    catch_up(&self.standing, sequence).await;
                    self.received += 1;
                    return delivery;
                }
                Some(Pushed::Nothing) => {}
                // The owner is gone, or this server stops. The reader opens the stream anew, where it
                // left off.
                None => return Delivery::End(Ending::Closing),
            }
        }
    }
}

/// Serves a stream to the door that opened it, until it ends, or no door asks any more.
pub(super) async fn serve(mut stream: EventStream, mut asked: Serving, standing: Standings) {
    let mut sent = 0;
    let mut last = None;
    while let Ok(Some(request)) = timeout(UNREAD, asked.next()).await {
        let Some(Next { received }) = decode(&request.bytes) else {
            continue;
        };
        if received == sent {
            // The door has all that was sent.
            last = match timeout(WAIT, stream.next()).await {
                Ok(delivery) => {
                    sent += 1;
                    let sequence = standing.borrow().sequence;
                    Some(Pushed::Delivery { sequence, delivery })
                }
                Err(_) => None,
            };
        }
        let pushed = last.clone().unwrap_or(Pushed::Nothing);
        request.answer(encode(&pushed)).await;
    }
}
