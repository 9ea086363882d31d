//! Calls through a node, in batches, over a journal in memory: what the server's driver does, but
//! for the channels.

use std::hint::black_box;

use chat_core::config::Matching;
use chat_core::{
    Address, Call, Entry, Implied, Node, Output, Position, Read, Reader, Span, Ticket, Time,
};

use crate::crowd::{Crowd, Pace};
use crate::mixed::Mix;

/// How many calls come while one batch is being written.
pub const BATCH: usize = 64;

/// How many events a stream is given at once.
const PAGE: usize = 100;

/// A node with its journal.
#[derive(Clone, Debug)]
pub struct Journalled {
    node: Node,
    now: Time,
    pace: Span,
    written: u64,
    ticket: u64,
}

/// What came out of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Calls that were accepted.
    pub accepted: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Everything else.
    pub others: u64,
}

impl Journalled {
    /// A node behind which so many participants are, and calls for it.
    #[must_use]
    pub fn new(size: usize, calls: usize) -> (Self, Vec<Call>) {
        let crowd = Crowd::new(size, Matching::Fifo, Pace::Lively);
        let mut mix = Mix::default();
        let drawn = mix.draw(&crowd, calls);
        let calls = drawn.into_iter().filter_map(|entry| call(&crowd, entry));
        let calls = calls.collect();
        (Self::of(crowd), calls)
    }

    /// A node that goes on with what a crowd came to.
    #[must_use]
    pub fn of(crowd: Crowd) -> Self {
        let pace = crowd.pace();
        let config = crowd.hub().config().clone();
        let (hub, now) = crowd.into_hub();
        let written = hub.position().0;
        let mut journalled = Self {
            node: Node::resume(hub, config),
            now,
            pace,
            written,
            ticket: 0,
        };
        journalled.commit();
        journalled
    }

    /// Makes all of these calls, a batch at a time. Never inlined: whatever counts instructions
    /// knows by this name where to count.
    #[inline(never)]
    pub fn make(&mut self, calls: Vec<Call>) -> Outputs {
        let mut outputs = Outputs::default();
        let mut calls = calls.into_iter();
        loop {
            let batch = calls.by_ref().take(BATCH);
            let before = self.ticket;
            for call in batch {
                self.ticket += 1;
                self.now += self.pace;
                let ticket = Ticket(self.ticket);
                self.node.submit(self.now, ticket, Address(1), call);
            }
            if self.ticket == before {
                return outputs;
            }
            self.commit();
            self.drain(&mut outputs);
        }
    }

    fn commit(&mut self) {
        self.node.handle_timeout(self.now);
        while let Some(batch) = self.node.poll_batch(self.now) {
            let first = Position(self.written + 1);
            self.written += batch.len() as u64;
            self.node.committed(first, self.now);
        }
    }

    fn drain(&mut self, outputs: &mut Outputs) {
        while let Some(output) = self.node.poll_output() {
            match &output {
                Output::Reply { outcome: Ok(_), .. } => outputs.accepted += 1,
                Output::Reply {
                    outcome: Err(_), ..
                } => outputs.refused += 1,
                Output::StreamReady(stream) => {
                    black_box(self.node.read_stream(*stream, PAGE));
                    outputs.others += 1;
                }
                Output::StreamClosed(_) | Output::Notice { .. } => outputs.others += 1,
            }
            black_box(output);
        }
    }

    /// The node.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }
}

/// The call from which an entry would come; none where no call does.
fn call(crowd: &Crowd, entry: Entry) -> Option<Call> {
    match entry {
        Entry::Call {
            caller,
            key,
            command,
        } => Some(Call::Command {
            caller,
            key,
            command,
        }),
        Entry::Implied {
            user,
            implied: Implied::Read { .. } | Implied::Seen { .. },
        } => Some(Call::Read {
            reader: Reader::Handle(crowd.hub().handle_of(user)?),
            read: Read::Check {
                after: crowd.hub().inbox_cursors(user).map(|(end, _)| end),
                wait: Span::ZERO,
                max: PAGE,
            },
        }),
        Entry::Implied {
            user,
            implied: Implied::OpenStream,
        } => Some(Call::OpenStream {
            reader: Reader::Handle(crowd.hub().handle_of(user)?),
            after: None,
        }),
        Entry::Operate { operator, act } => Some(Call::Operate { operator, act }),
        Entry::Implied { .. } | Entry::Tick | Entry::Started { .. } | Entry::Resumed { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Journalled;

    #[test]
    fn nearly_every_call_is_accepted_and_each_is_answered() {
        let (mut journalled, calls) = Journalled::new(8_000, 1_000);
        let made = calls.len() as u64;
        assert!(made >= 990, "{made}");
        let outputs = journalled.make(calls);
        assert_eq!(outputs.accepted + outputs.refused, made);
        assert!(outputs.refused * 20 < made, "{outputs:?}");
        assert_eq!(journalled.node().load().pending, 0);
    }
}
