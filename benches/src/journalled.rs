//! Calls through a node, in batches, over a journal in memory: the work of the server's driver
//! without its channels.

use std::hint::black_box;

use chat_core::config::Matching;
use chat_core::{
    Address, Call, Continuity, Entry, Hub, Implied, Node, Output, Position, Read, Reader, Span,
    Ticket, Time,
};

use crate::mixed::Mix;
use crate::population::{Pace, Population, Tally};

/// The number of calls that arrive while one batch is appended.
const BATCH: usize = 64;

/// The largest number of events that a stream receives at once.
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

impl Journalled {
    /// A node with this many participants, and calls for it.
    pub fn new(size: usize, calls: usize) -> (Self, Vec<Call>) {
        let population = Population::new(size, Matching::Fifo, Pace::Lively);
        let drawn = Mix::default().draw(&population, calls).into_iter();
        let calls = drawn.filter_map(|entry| call(&population.hub, entry));
        let calls = calls.collect();
        let Population { hub, now, pace, .. } = population;
        let (written, config) = (hub.position().0, hub.config().clone());
        let mut journalled = Self {
            node: Node::resume(hub, config, Continuity::Whole),
            now,
            pace,
            written,
            ticket: 0,
        };
        journalled.commit();
        (journalled, calls)
    }

    /// Makes all of these calls, a batch at a time. Never inlined, because instruction counters
    /// find it by name.
    #[inline(never)]
    pub fn make(&mut self, calls: Vec<Call>) -> Tally {
        let mut outputs = Tally::default();
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
            self.node.committed(first, self.now, self.now);
        }
    }

    fn drain(&mut self, outputs: &mut Tally) {
        while let Some(output) = self.node.poll_output() {
            match &output {
                Output::Reply { outcome: Ok(_), .. } => outputs.accepted += 1,
                Output::Reply {
                    outcome: Err(_), ..
                } => outputs.refused += 1,
                Output::StreamReady(stream) => {
                    black_box(self.node.read_stream(*stream, PAGE));
                    outputs.effects += 1;
                }
                Output::StreamClosed(_) | Output::Notice { .. } => outputs.effects += 1,
            }
            black_box(output);
        }
    }
}

/// The call that would lead to an entry; none if it does not come from a call.
fn call(hub: &Hub, entry: Entry) -> Option<Call> {
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
            reader: Reader::Handle(hub.handle_of(user)?),
            read: Read::Check {
                after: hub.inbox_cursors(user).map(|(end, _)| end),
                wait: Span::ZERO,
                max: PAGE,
            },
        }),
        Entry::Implied {
            user,
            implied: Implied::OpenStream,
        } => Some(Call::OpenStream {
            reader: Reader::Handle(hub.handle_of(user)?),
            after: None,
        }),
        Entry::Operate { operator, act } => Some(Call::Operate { operator, act }),
        Entry::Implied { .. }
        | Entry::Tick
        | Entry::Started { .. }
        | Entry::Resumed { .. }
        | Entry::Stepped => None,
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
        assert_eq!(journalled.node.load().pending, 0);
    }
}
