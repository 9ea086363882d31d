//! A server's border as its judges see it. A world and an exhaustive search drive their nodes through
//! [`ServerHost`], which records each act. A member of a group of servers drives its own node; the same
//! functions record the node's calls, batches and outputs.

use std::sync::Arc;

use chat_core::{Address, Entry, Node, Output, Page, Reject, Reply, Ticket};
use chat_types::{Seq, Time};
use sim_model::history::Observer;
use sim_model::protocol::{Outcome, PUSH_MAX, Refusal, Response};
use sim_model::server::{BatchEntry, Call, ServerRecord};

/// A node at an instant of its clock, and the observer of what it does.
#[derive(Debug)]
pub struct ServerHost<'a, O> {
    /// The node.
    pub node: &'a mut Node,
    /// The observer.
    pub observer: &'a mut O,
    /// The instant.
    pub at: Time,
}

/// What the border sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The answer to a call, or that its stream is open.
    Answer(Ticket, Outcome),
    /// The stream has something to read.
    Ready(Ticket),
    /// The stream ended.
    End(Ticket),
    /// A notice, which simulated clients ignore.
    Notice,
}

impl<O: Observer> ServerHost<'_, O> {
    /// A call arrives.
    pub fn submit(&mut self, ticket: Ticket, from: Address, call: &Arc<Call>) {
        self.node.submit(self.at, ticket, from, Call::clone(call));
        asked(self.observer, self.at, ticket, from, call);
    }

    /// The client of a call or a stream has disconnected.
    pub fn gone(&mut self, ticket: Ticket) {
        self.tell(&ServerRecord::Gone { ticket });
    }

    /// The node looks at its timers.
    pub fn wake(&mut self) {
        self.tell(&ServerRecord::Woken);
        self.node.handle_timeout(self.at);
    }

    /// The batch in flight begins its way into the journal. Returns whether the node wrote entries of
    /// its timers into it.
    pub fn begin_append(&mut self) -> bool {
        appending(self.observer, self.at, self.node)
    }

    /// The batch in flight is not in the journal.
    pub fn append_failed(&mut self) {
        self.tell(&ServerRecord::AppendFailed);
        self.node.append_failed(self.at);
    }

    /// Whether the batch in flight is in the journal is unknown.
    pub fn append_unknown(&mut self) {
        self.node.append_unknown();
        self.tell(&ServerRecord::AppendUnknown);
    }

    /// The batch in flight is in the journal, written at the instant `at`. `each` receives its
    /// entries with their decisions; the judges receive the events that they post if the server
    /// `tells_posted`.
    pub fn committed(
        &mut self,
        at: Time,
        tells_posted: bool,
        mut each: impl FnMut(&Entry, &Result<Reply, Reject>),
    ) {
        let (since, first) = (self.at, self.node.hub().position().next());
        let (observer, mut position) = (&mut *self.observer, first);
        self.node
            .committed_and(first, (at, since), |entry, ticket, outcome, posted| {
                each(entry, outcome);
                let committed = ServerRecord::Committed {
                    position: position.0,
                    at,
                    entry,
                    ticket,
                    said: outcome.as_ref().map_err(Refusal::from),
                    posted: tells_posted.then_some(posted),
                };
                observer.observe_server(since, &committed);
                position = position.next();
            });
    }

    /// The next output.
    pub fn poll(&mut self) -> Option<Sent> {
        let output = self.node.poll_output()?;
        let cursor = |ticket| self.node.stream_cursor(ticket);
        Some(sent(self.observer, self.at, output, cursor))
    }

    /// The next page of a stream; none if all of it is read.
    pub fn read_stream(&mut self, ticket: Ticket) -> Option<Page> {
        let page = self.node.read_stream(ticket, PUSH_MAX);
        let page = page.filter(|page| !page.is_empty())?;
        self.tell(&ServerRecord::Pushed {
            ticket,
            page: &page,
        });
        Some(page)
    }

    fn tell(&mut self, record: &ServerRecord<'_>) {
        self.observer.observe_server(self.at, record);
    }
}

/// Tells of a call that arrives.
pub(crate) fn asked(
    observer: &mut impl Observer,
    at: Time,
    ticket: Ticket,
    from: Address,
    call: &Arc<Call>,
) {
    let (from, ask) = (from.0, call);
    observer.observe_server(at, &ServerRecord::Asked { ticket, from, ask });
}

/// Tells of the batch in flight. Returns whether it has entries of the node's timers.
pub(crate) fn appending(observer: &mut impl Observer, at: Time, node: &Node) -> bool {
    let batch: Vec<BatchEntry> = node
        .batch()
        .map(|(written, ticket)| match ticket {
            Some(ticket) => BatchEntry::Call(ticket),
            None => BatchEntry::Own(written.clone()),
        })
        .collect();
    observer.observe_server(at, &ServerRecord::Appending { batch: &batch });
    batch.contains(&BatchEntry::Own(Entry::Tick))
}

/// Tells of an output. `cursor` is where an open stream begins.
pub(crate) fn sent(
    observer: &mut impl Observer,
    at: Time,
    output: Output,
    cursor: impl Fn(Ticket) -> Option<Seq>,
) -> Sent {
    match output {
        Output::Reply { ticket, outcome } => {
            let outcome = outcome.map_err(|reject| Refusal::from(&reject));
            let record = if let Ok(Response::Streaming) = outcome {
                let cursor = cursor(ticket).map(|cursor| cursor.0);
                ServerRecord::StreamOpened { ticket, cursor }
            } else {
                let outcome = &outcome;
                ServerRecord::Answered { ticket, outcome }
            };
            observer.observe_server(at, &record);
            Sent::Answer(ticket, outcome)
        }
        Output::StreamReady(ticket) => Sent::Ready(ticket),
        Output::StreamClosed(ticket) => {
            observer.observe_server(at, &ServerRecord::StreamEnded { ticket });
            Sent::End(ticket)
        }
        Output::Notice {
            stream,
            room,
            notice,
        } => {
            let (ticket, notice) = (stream, (room, &notice));
            observer.observe_server(at, &ServerRecord::Noticed { ticket, notice });
            Sent::Notice
        }
    }
}
