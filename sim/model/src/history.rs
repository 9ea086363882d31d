//! What clients saw: the only thing that properties judge by.

use chat_types::{Span, Time};

use crate::plan::{Delivery, Fault, Outage};
use crate::protocol::{Agent, CallId, Op, Outcome, Saw, User};
use crate::server::ServerRecord;

/// One thing that one client did or saw.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When, by the world's clock, at the client.
    pub at: Time,
    /// Which virtual user.
    pub agent: Agent,
    /// Who the client is to the server at that moment; none before the first registration.
    pub user: Option<User>,
    /// What.
    pub what: What<'a>,
}

/// What a client did or saw.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum What<'a> {
    /// A call's first attempt left. `intended` is when the plan meant it to.
    Called {
        call: CallId,
        op: &'a Op,
        intended: Time,
        keyed: bool,
    },
    /// A later attempt of the same call left.
    Retried { call: CallId, why: Retry },
    /// The call's (first) answer arrived. `called_at` is when its first attempt left.
    /// For a call that registered, the record's `user` is the one it registered.
    Answered {
        call: CallId,
        op: &'a Op,
        called_at: Time,
        intended: Time,
        outcome: &'a Outcome,
    },
    /// A second answer to the same call arrived (the network doubled it, or a retry overlapped).
    AnsweredAgain {
        call: CallId,
        op: &'a Op,
        outcome: &'a Outcome,
    },
    /// The client gave the call up: whether it happened is unknown.
    Abandoned { call: CallId, op: &'a Op },
    /// An event of the inbox arrived. `sent_at` is the server's timestamp. `first` is false when
    /// the client has had this `seq` before: clients pass over those.
    Received {
        seq: u64,
        sent_at: Time,
        saw: &'a Saw<'a>,
        path: Path,
        first: bool,
    },
    /// The event stream is open.
    StreamOpened,
    /// The event stream broke, or the client closed it, or gave up one that was still being
    /// opened: the server may have had it open, and have seen it close.
    StreamClosed,
    /// The client forgot its handle: `user` will never be heard of again from here.
    Forgot,
    /// The client is gone for good, in the middle of things.
    Vanished,
    /// The client finished its flow. From here on it only drains its inbox.
    Finished,
    /// The client's inbox is drained: a `check` after the heal said that nothing is left.
    Drained,
    /// A flow's `await` ran out of time.
    Stuck { waiting_for: &'a str },
}

/// Why a client tries a call again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Nothing came for as long as it waits for an answer.
    Silence,
    /// The client had dropped its connections while it waited for an answer.
    Dropped,
    /// The server told it to come again later.
    PutOff,
}

/// How an event reached a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// Pushed on the event stream.
    Stream,
    /// In the answer of a `check`, at the time that the answer's own record bears.
    Check,
}

/// What the world itself tells its judges: not what a client saw, but what it was under.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum WorldRecord<'a> {
    /// The server went down.
    Down { at: Time, how: Outage },
    /// The server is up again.
    Restarted { at: Time },
    /// The server's clock jumped ahead.
    ClockJumped { at: Time, by: Span },
    /// An operator's act took effect: `verb` is mute, unmute, kick, close or ban.
    Operated {
        at: Time,
        verb: &'a str,
        user: Option<User>,
        room: Option<crate::protocol::Room>,
    },
    /// All faults and losses ended: the liveness phase begins.
    Healed { at: Time },
    /// Sizes of the server's collections: name, size, limit.
    Sizes {
        at: Time,
        sizes: &'a [(&'static str, u64, u64)],
    },
    /// The run is over.
    Ended { at: Time },
}

/// What went between clients and the server, and what was done to it on the way: for those who
/// draw a run or write it down as steps. No property judges by it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Wire<'a> {
    /// One attempt of a call left its client; `copy` is a second one that the network made.
    Sent {
        at: Time,
        agent: Agent,
        call: CallId,
        attempt: u32,
        fate: Delivery,
        copy: Option<Delivery>,
    },
    /// The server took it up.
    Served {
        at: Time,
        agent: Agent,
        call: CallId,
        attempt: u32,
    },
    /// Its answer left the server. `refused` is the code of a refusal.
    Replied {
        at: Time,
        agent: Agent,
        call: CallId,
        attempt: u32,
        refused: Option<&'static str>,
        fate: Delivery,
    },
    /// The opening of a stream left its client.
    Opening {
        at: Time,
        agent: Agent,
        fate: Delivery,
    },
    /// So many inbox events from `first_seq` left the server on a stream; when lost, the stream
    /// broke instead.
    Pushed {
        at: Time,
        agent: Agent,
        first_seq: u64,
        events: u32,
        fate: Delivery,
    },
    /// A client's stream broke.
    StreamBroke { at: Time, agent: Agent },
    /// A client dropped all its connections, for so long or for good.
    Disconnected {
        at: Time,
        agent: Agent,
        length: Option<Span>,
    },
    /// This fault is on its way, which the plan does not have. It is counted behind the plan's own
    /// and those before it.
    Mishap { at: Time, fault: &'a Fault },
    /// A fault of the plan (an index into its faults) struck these users.
    Struck {
        at: Time,
        fault: usize,
        victims: &'a [u32],
    },
}

/// Somebody who is told all of it.
pub trait Observer {
    /// A client did or saw something.
    fn observe(&mut self, record: &Record<'_>);
    /// The world did something.
    fn observe_world(&mut self, record: &WorldRecord<'_>);
    /// The network did something.
    fn observe_wire(&mut self, _wire: &Wire<'_>) {}
    /// The server did something.
    fn observe_server(&mut self, _record: &ServerRecord<'_>) {}
    /// A batch of the journal took so long to commit.
    fn observe_commit(&mut self, _took: Span) {}
}

/// Nobody, or somebody who looks on beside others.
impl<O: Observer + ?Sized> Observer for Option<&mut O> {
    fn observe(&mut self, record: &Record<'_>) {
        if let Some(observer) = self {
            observer.observe(record);
        }
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        if let Some(observer) = self {
            observer.observe_world(record);
        }
    }

    fn observe_wire(&mut self, wire: &Wire<'_>) {
        if let Some(observer) = self {
            observer.observe_wire(wire);
        }
    }

    fn observe_server(&mut self, record: &ServerRecord<'_>) {
        if let Some(observer) = self {
            observer.observe_server(record);
        }
    }

    fn observe_commit(&mut self, took: Span) {
        if let Some(observer) = self {
            observer.observe_commit(took);
        }
    }
}
