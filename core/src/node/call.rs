//! Calls to the node, and its outputs.

use chat_types::{Earlier, Operate, RequestKey, RoomId, RoomSeq, SecretHash, Seq, Span, Ticket};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::hub::Answer;
use crate::reject::Reject;
use crate::reply::Reply;
use crate::room::Notice;
use chat_types::{Caller, Command};

/// A call to the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// A command, which can change the state.
    Command {
        /// The caller.
        caller: Caller,
        /// The request key.
        key: Option<RequestKey>,
        /// The command.
        command: Command,
    },
    /// An operator's act. The shell has authenticated the operator.
    Operate {
        /// The operator's name.
        operator: Arc<str>,
        /// The act.
        act: Operate,
    },
    /// A read.
    Read {
        /// The reader.
        reader: Reader,
        /// The read operation.
        read: Read,
    },
    /// An event stream is opened, from behind `after`; or from where the inbox ended before the opening. A
    /// participant that opens one by its handle is there as long as it is open, and acknowledges up
    /// to `after`.
    OpenStream {
        /// The reader.
        reader: Reader,
        /// The last event that the client has received.
        after: Option<Seq>,
    },
}

impl Call {
    /// What a refusal says of earlier attempts, if the call is refused before the node has looked for
    /// them.
    #[must_use]
    pub const fn earlier_if_refused(&self) -> Earlier {
        match self {
            Self::Command { key: Some(_), .. } => Earlier::Unknown,
            Self::Command { key: None, .. }
            | Self::Operate { .. }
            | Self::Read { .. }
            | Self::OpenStream { .. } => Earlier::Unasked,
        }
    }
}

/// The caller of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reader {
    /// A participant, by the hash of its handle.
    Handle(SecretHash),
    /// A caller that knows the participant's reader id, given by its hash. It reads the inbox by
    /// streams and by checks that do not wait, and changes no state.
    ReaderId(SecretHash),
}

/// A read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Read {
    /// Events of the inbox.
    Check {
        /// The last event that the caller has received: it and all before it are acknowledged.
        /// Without it, the answer continues after the last answer whose caller was still connected.
        after: Option<Seq>,
        /// The time to wait for events, at most `max_wait`.
        wait: Span,
        /// The largest number of events.
        max: usize,
    },
    /// A room's members.
    Members {
        /// The room.
        room: Option<RoomId>,
    },
    /// A room's past messages.
    History {
        /// The room.
        room: Option<RoomId>,
        /// Only messages before this place.
        before: Option<RoomSeq>,
        /// The largest number of messages.
        limit: usize,
    },
    /// The caller's stress and its boss's alert level.
    Mood,
}

/// What the shell should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Answer the call.
    Reply {
        /// The call.
        ticket: Ticket,
        /// The answer or the refusal.
        outcome: Result<Response, Reject>,
    },
    /// The stream has events. The shell reads them with [`crate::Node::read_stream`], as fast as
    /// the client takes them, until none are left.
    StreamReady(Ticket),
    /// The stream is closed: the registration ended, or the server stops.
    StreamClosed(Ticket),
    /// A notice for the client of this stream.
    Notice {
        /// The stream.
        stream: Ticket,
        /// The room.
        room: RoomId,
        /// The notice.
        notice: Notice,
    },
}

/// The answer to an accepted call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response {
    /// To a command.
    Done(Reply),
    /// To a read.
    Read(Answer),
    /// The stream is open. Its ticket is that of the call.
    Streaming,
}
