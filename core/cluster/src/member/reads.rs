//! When the owner answers what needs no entry of the journal: reads, repeated calls, and refusals.
//!
//! A strict answer waits for an append that began after its call arrived. Once the log has that record,
//! no other member had claimed the log before it. So the state contains all that any owner accepted
//! before the call, whatever the clocks of the machines show. One append serves all that waits.

use std::collections::VecDeque;

use chat_core::{Address, Call, Earlier, Output as NodeOutput, Reader, Ticket, Time};

use super::{Member, State};
use crate::output::Output;
use crate::timing::Now;

/// The largest number of calls that wait.
const MOST: usize = 16_384;

#[derive(Clone, Debug)]
pub(super) struct WaitingCall {
    pub(super) ticket: Ticket,
    /// What is known of the request if the call is given to another member.
    pub(super) earlier: Earlier,
    then: Then,
}

/// What follows once the log has the record.
#[derive(Clone, Debug)]
enum Then {
    /// The node takes the call.
    Submit(Address, Box<Call>),
    /// The node's answer to a command that it proposes no entry for: a refusal, or a first outcome.
    Answer(Box<NodeOutput>),
}

/// The calls that wait, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingCalls {
    queue: VecDeque<WaitingCall>,
    /// The number of the first ones that wait for the append in flight.
    covered: usize,
    /// No append for them alone before this instant.
    append_from: Time,
}

impl WaitingCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Removes a call whose caller disconnected.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        if let Some(place) = self.queue.iter().position(|call| call.ticket == ticket) {
            self.queue.remove(place);
            self.covered -= usize::from(place < self.covered);
        }
    }

    /// An append begins.
    pub(super) fn cover(&mut self) {
        self.covered = self.queue.len();
    }

    /// The log will not have the append in flight.
    pub(super) const fn uncover(&mut self, append_from: Time) {
        self.covered = 0;
        self.append_from = append_from;
    }

    /// The calls that waited for the append in flight, which the log has.
    fn take_covered(&mut self) -> Vec<WaitingCall> {
        let covered = std::mem::take(&mut self.covered);
        self.queue.drain(..covered).collect()
    }

    pub(super) fn take_all(&mut self) -> VecDeque<WaitingCall> {
        self.covered = 0;
        std::mem::take(&mut self.queue)
    }

    /// When an append is due for them alone. `None` if none waits for the next append.
    pub(super) fn due(&self) -> Option<Time> {
        (self.queue.len() > self.covered).then_some(self.append_from)
    }
}

/// Whether the call reads the state. So does a stream by reader id, which opens without an entry: it
/// has nothing to carry before its answer has left.
const fn is_read(call: &Call) -> bool {
    matches!(
        call,
        Call::Read { .. }
            | Call::OpenStream {
                reader: Reader::ReaderId(_),
                ..
            }
    )
}

impl Member {
    /// Submits a call to the owner's node, whose answer waits for a record of the log.
    pub(super) fn submit_strictly(&mut self, now: Now, ticket: Ticket, from: Address, call: Call) {
        let State::Owner(ownership) = &mut self.state else {
            return;
        };
        let earlier = call.earlier_if_refused();
        let mut waiting = Vec::new();
        if is_read(&call) || ownership.node.repeats_unanswered(now.wall, &call) {
            waiting.push(Then::Submit(from, Box::new(call)));
        } else {
            ownership.node.submit(now.wall, ticket, from, call);
            while let Some(output) = ownership.node.poll_output() {
                if matches!(output, NodeOutput::Reply { .. }) {
                    waiting.push(Then::Answer(Box::new(output)));
                } else {
                    self.outputs.push_back(Output::Node(output));
                }
            }
        }
        for then in waiting {
            if ownership.waiting.queue.len() < MOST {
                ownership.waiting.queue.push_back(WaitingCall {
                    ticket,
                    earlier,
                    then,
                });
            } else {
                self.outputs.push_back(Output::Moved { ticket, earlier });
            }
        }
    }

    /// Answers the calls that waited for the append in flight, which the log has.
    pub(super) fn answer_waiting(&mut self, now: Now) {
        let State::Owner(ownership) = &mut self.state else {
            return;
        };
        let covered = ownership.waiting.take_covered();
        for WaitingCall { ticket, then, .. } in covered {
            match then {
                Then::Submit(from, call) => {
                    self.take_outputs(now);
                    self.outputs.push_back(Output::Admitted(ticket));
                    if let State::Owner(ownership) = &mut self.state {
                        ownership.node.submit(now.wall, ticket, from, *call);
                    }
                }
                Then::Answer(output) => self.outputs.push_back(Output::Node(*output)),
            }
        }
    }

    /// Gives calls to the next owner.
    pub(super) fn refuse_all(&mut self, calls: impl IntoIterator<Item = WaitingCall>) {
        for call in calls {
            self.refuse(call.ticket, call.earlier);
        }
    }
}
