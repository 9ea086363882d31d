//! What the server did: its journal and its border, exact and in the order in which it happened.
//!
//! The virtual world reports these records, and so can a journal. All instants are of the server's
//! own clock, which a fault may set ahead of the world's. A [`Ticket`] names one call, or the
//! stream that one call opened, from when it came to the server until it is answered or over.

use std::sync::Arc;

use chat_types::{Config, Span, Time};

use crate::protocol::{Notice, Op, Outcome, ReadBy, Room, Saw, User};

/// The secret of one participant, as the server knows it: equal for all calls of one handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// One call at the server's border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// One thing that the server did, or that was done to it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum ServerRecord<'a> {
    /// A call came to the server, from such an address.
    Asked {
        at: Time,
        ticket: Ticket,
        from: u64,
        ask: &'a Arc<Ask>,
    },
    /// An entry of the journal was committed, and took effect. `position` counts from 1. `ticket`
    /// names the call that the entry decides, unless the server wrote it by itself.
    Committed {
        position: u64,
        at: Time,
        entry: &'a Entry,
        ticket: Option<Ticket>,
        said: &'a Decided,
    },
    /// A batch was put together, and its append began.
    Appending { at: Time, batch: &'a [Batched] },
    /// The append of a batch failed: none of its entries took effect. The server said so to the
    /// calls concerned.
    AppendFailed { at: Time },
    /// The fate of an append is unknown: until it is known, nothing takes effect.
    AppendUnknown { at: Time },
    /// The answer to a call left the server. `page` is there for an accepted `check`.
    Answered {
        at: Time,
        ticket: Ticket,
        outcome: &'a Outcome,
        page: Option<&'a Page<'a>>,
    },
    /// The stream that the call asked for is open.
    StreamOpened { at: Time, ticket: Ticket },
    /// Events left the server on a stream.
    Pushed {
        at: Time,
        ticket: Ticket,
        page: &'a Page<'a>,
    },
    /// A notice left the server on a stream.
    Noticed {
        at: Time,
        ticket: Ticket,
        notice: &'a Notice,
    },
    /// The server looked at its timers.
    Woken { at: Time },
    /// Whether the stream's connection takes what the server writes.
    StreamWritable {
        at: Time,
        ticket: Ticket,
        writable: bool,
    },
    /// The server ended a stream.
    StreamEnded { at: Time, ticket: Ticket },
    /// The server noticed that the client of a call or of a stream is gone.
    Gone { at: Time, ticket: Ticket },
    /// The server went down, and every call and stream with it.
    Crashed { at: Time },
    /// The server comes back, and decides an entry otherwise than before it went down.
    Redecided {
        at: Time,
        position: u64,
        before: &'a Decided,
        after: &'a Decided,
    },
    /// The server takes nothing new from now on, and finishes what it took.
    Stopping { at: Time },
    /// The server has finished what it took: waiting checks and answers held back leave now, and
    /// streams end.
    Finished { at: Time },
    /// The server is up again, and configured so; what its journal kept was committed before this.
    Restarted { at: Time, config: &'a Config },
    /// The server's clock was set ahead, to `at`.
    ClockJumped { at: Time, by: Span },
}

impl ServerRecord<'_> {
    /// When it happened, by the server's clock.
    #[must_use]
    pub const fn at(&self) -> Time {
        let (Self::Asked { at, .. }
        | Self::Committed { at, .. }
        | Self::Appending { at, .. }
        | Self::Noticed { at, .. }
        | Self::Woken { at }
        | Self::AppendFailed { at }
        | Self::AppendUnknown { at }
        | Self::Answered { at, .. }
        | Self::StreamOpened { at, .. }
        | Self::Pushed { at, .. }
        | Self::StreamWritable { at, .. }
        | Self::StreamEnded { at, .. }
        | Self::Gone { at, .. }
        | Self::Crashed { at }
        | Self::Redecided { at, .. }
        | Self::Stopping { at }
        | Self::Finished { at }
        | Self::Restarted { at, .. }
        | Self::ClockJumped { at, .. }) = self;
        *at
    }
}

/// What the server decided of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The answer or the refusal.
    pub outcome: Outcome,
    /// When the answer may leave: that of a break under a fully alert boss 20 s later.
    pub answer_at: Time,
}

/// What came to the server's door.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Ask {
    /// A call of a tool, reads among them.
    Call {
        caller: Caller,
        key: Option<u128>,
        op: Op,
    },
    /// The opening of a stream, from behind `after`; without it, from the end of the inbox.
    OpenStream {
        handle: Handle,
        after: Option<u64>,
        by: ReadBy,
    },
    /// An operator's act.
    Operate(Act),
}

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A participant, by its handle.
    Known(Handle),
    /// A client that registers under a new handle, from such an address. Where the handle is known
    /// already, the call repeats a registration.
    New(Handle, u64),
}

impl Caller {
    /// The handle that the call is under.
    #[must_use]
    pub const fn handle(self) -> Handle {
        let (Self::Known(handle) | Self::New(handle, _)) = self;
        handle
    }
}

/// One entry of a batch that is being appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batched {
    /// The entry that decides a call.
    Call(Ticket),
    /// An entry that the server wrote by itself.
    Own(Entry),
}

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Entry {
    /// A call that changes the state.
    Call {
        caller: Caller,
        key: Option<u128>,
        op: Op,
    },
    /// An event stream of the participant opens.
    OpenStream { user: User },
    /// An event stream of the participant closed.
    CloseStream { user: User },
    /// The participant was heard of by reads alone; or waits in a `check`, `waiting` so long.
    Seen { user: User, waiting: Option<Span> },
    /// The participant has everything up to `acknowledged`, and was sent everything up to
    /// `delivered`.
    Read {
        user: User,
        acknowledged: u64,
        delivered: u64,
    },
    /// An operator acted.
    Operate(Act),
    /// Time passed.
    Tick,
    /// The journal begins.
    Started { config: Box<Config> },
    /// The server is back after downtime.
    Resumed { config: Box<Config> },
}

/// What an operator does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Act {
    Mute {
        user: User,
        reason: Arc<str>,
    },
    Unmute {
        user: User,
    },
    Kick {
        user: User,
        room: Room,
        reason: Arc<str>,
    },
    Close {
        room: Room,
        reason: Arc<str>,
    },
    BanUser {
        user: User,
        reason: Arc<str>,
    },
    Unban {
        name: Arc<str>,
    },
    MuteAddress {
        address: u64,
        reason: Arc<str>,
    },
    BanAddress {
        address: u64,
    },
    UnbanAddress {
        address: u64,
    },
}

/// Events of one inbox that left the server at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// What was gone before and between the events, in order.
    pub gaps: Vec<Gap>,
    /// The events: place in the inbox, the server's timestamp, what the reader sees.
    pub events: Vec<(u64, Time, Saw<'a>)>,
    /// Where the reading ended.
    pub cursor: u64,
    /// Whether more follows.
    pub more: bool,
}

/// Events that are gone from an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first place that is gone.
    pub from: u64,
    /// The last place that is gone.
    pub to: u64,
    /// Where events are gone, by room.
    pub rooms: Vec<crate::protocol::LostRange>,
    /// Whether there are more rooms than are named.
    pub rooms_omitted: bool,
}
