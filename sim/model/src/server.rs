//! The server's acts: its journal and its border, complete and in order.
//!
//! The virtual world reports these records; a journal could, too. All instants are of the server's
//! clock, which a fault may set ahead of the world's. A [`Ticket`] identifies one call, or the
//! stream that it opened, from its arrival at the server to its answer or end.

use std::sync::Arc;

use chat_types::{Config, Continuity, LastNumbers, Reply, Time};

pub use chat_types::{
    Call, Caller, Entry, Event, Gap, Implied, Operate, Reader, RequestKey, SecretHash, Ticket,
};

use crate::protocol::{Notice, Outcome, Page, Refusal, Room};

/// The state at a position of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalState {
    /// The position.
    pub position: u64,
    /// The digest of the state after its entry.
    pub digest: u64,
}

/// An act of the server, or an event at its border, at an instant of its clock.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum ServerRecord<'a> {
    /// A call arrived at the server, from this address.
    Asked {
        ticket: Ticket,
        from: u64,
        ask: &'a Arc<Call>,
    },
    /// An entry of the journal was committed, and took effect. `position` counts from 1. `at` is the
    /// entry's time: a server that shares a log writes the time of a batch before the log has it.
    /// `ticket` is the call that the entry decides; none for an entry of the server itself. `posted` are
    /// the events of all rooms that it caused, in order, with their instants; none where they are unknown.
    Committed {
        position: u64,
        at: Time,
        entry: &'a Entry,
        ticket: Option<Ticket>,
        said: Result<&'a Reply, Refusal>,
        posted: Option<&'a [Arc<Event>]>,
    },
    /// A batch was formed, and its append began.
    Appending { batch: &'a [BatchEntry] },
    /// The append of a batch failed: none of its entries took effect. Its calls were refused.
    AppendFailed,
    /// The outcome of an append is unknown: until it is known, nothing takes effect.
    AppendUnknown,
    /// Whether a record that is no batch is on its way into the shared log. Batches wait for it.
    LogBusy { busy: bool },
    /// The record that was on its way is in the shared log, a batch or not. Answers that waited for
    /// it leave.
    LogHas,
    /// The server admits this call, which waited for the shared log.
    Admitted { ticket: Ticket },
    /// The server did not answer this call, which waited for the shared log, and gave it back to be
    /// repeated at the next owner.
    GivenBack { ticket: Ticket },
    /// Whether no other server can own the chat. Without that, a refusal does not exclude that an
    /// earlier attempt has taken effect.
    Lease { held: bool },
    /// The answer to a call left the server.
    Answered {
        ticket: Ticket,
        outcome: &'a Outcome,
    },
    /// The requested stream is open, behind this place of the inbox; none if it is closed again.
    StreamOpened { ticket: Ticket, cursor: Option<u64> },
    /// Events left the server on a stream.
    Pushed { ticket: Ticket, page: &'a Page },
    /// A notice left the server on a stream.
    Noticed {
        ticket: Ticket,
        notice: (Room, &'a Notice),
    },
    /// The server handled its timers.
    Woken,
    /// Whether the stream's connection accepts writes from now on.
    StreamWritable { ticket: Ticket, writable: bool },
    /// The server closed a stream.
    StreamEnded { ticket: Ticket },
    /// The server noticed that the client of a call or of a stream disconnected.
    Gone { ticket: Ticket },
    /// The server went down, and every call and stream with it.
    Crashed,
    /// The server replayed an entry and decided it differently than before the crash.
    Redecided {
        position: u64,
        before: Result<&'a Reply, Refusal>,
        after: Result<&'a Reply, Refusal>,
    },
    /// A second recovery read a copy of the journal with this damage. `owed` are the digests of the
    /// last acknowledged state and of the last one in the undamaged journal, `state` the one of the
    /// recovered state; none if the recovery was refused.
    RecoveredDamaged {
        damage: &'a str,
        owed: [u64; 2],
        state: Option<u64>,
    },
    /// The server refused to start from the journal with this damage. `whole` is the state before
    /// the first entry that the damage took, `accepted` the one of a second start after an accepted
    /// loss; none if that is refused. `next` are the numbers behind which that start goes on.
    StartRefused {
        damage: &'a str,
        whole: JournalState,
        accepted: Option<JournalState>,
        next: Option<&'a LastNumbers>,
    },
    /// The server refuses new calls from now on, and finishes admitted ones.
    Stopping,
    /// The server has finished all admitted calls: waiting checks and delayed answers leave now,
    /// and streams are closed.
    Finished,
    /// The server restarted with this configuration. The entries of its journal were committed
    /// before this. It passes the numbers of a lost life if the journal is not known to be whole.
    Restarted {
        config: &'a Config,
        continuity: Continuity,
    },
    /// What was due may be late, and is due from this instant on: the server's clock was set ahead to
    /// it, or its process could not run until then.
    Excused,
    /// The server noticed that its clock was set ahead by a step.
    ClockStepped,
}

/// One entry of a batch that is being appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchEntry {
    /// The entry that decides a call.
    Call(Ticket),
    /// An entry of the server itself.
    Own(Entry),
}
