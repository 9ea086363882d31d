//! What comes to the node's door, and what leaves by it.

use std::sync::Arc;

use chat_types::Span;

use crate::command::{Caller, Command, Operate};
use crate::hub::Answer;
use crate::id::{RequestKey, RoomId, RoomSeq, SecretHash, Seq};
use crate::reject::Reject;
use crate::reply::Reply;
use crate::room::Notice;

/// The shell's name for one call, or for the stream that one call opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A call as it comes to the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Something is asked for that changes the state.
    Command {
        /// Who asks.
        caller: Caller,
        /// The request key.
        key: Option<RequestKey>,
        /// What is asked.
        command: Command,
    },
    /// An operator acts. The shell has checked who it is.
    Operate {
        /// Which operator, by name.
        operator: Arc<str>,
        /// What it does.
        act: Operate,
    },
    /// Something is read.
    Read {
        /// Who reads.
        reader: Reader,
        /// What.
        read: Read,
    },
    /// An event stream is opened, from behind `after`; or from the end of the inbox. A participant
    /// that opens one by its handle is there as long as it is open, and acknowledges up to `after`.
    OpenStream {
        /// Who reads.
        reader: Reader,
        /// The last event that the client has.
        after: Option<Seq>,
    },
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A participant, by the hash of its handle.
    Handle(SecretHash),
    /// One that knows the participant's reader id, by its hash. It reads the inbox by checks that
    /// do not wait and by streams, and changes nothing by that.
    ReaderId(SecretHash),
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The inbox.
    Check {
        /// The last event that the caller has: what came before is acknowledged. Without it, the
        /// answer goes on from the end of the last answer whose caller was still there.
        after: Option<Seq>,
        /// How long to wait for something to come, at most `max_wait`.
        wait: Span,
        /// At most so many events.
        max: usize,
    },
    /// A room's members.
    Members {
        /// Which room.
        room: Option<RoomId>,
    },
    /// A room's past messages.
    History {
        /// Which room.
        room: Option<RoomId>,
        /// Only those before this place.
        before: Option<RoomSeq>,
        /// At most so many.
        limit: usize,
    },
    /// The caller's stress, and how alert its boss is.
    Mood,
}

/// What the shell should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Answer the call.
    Reply {
        /// Which call.
        ticket: Ticket,
        /// With what.
        outcome: Result<Response, Reject>,
    },
    /// The stream has events: read them with [`crate::Node::read_stream`] as fast as its reader takes
    /// them, until none are left.
    StreamReady(Ticket),
    /// The stream is over: its participant is no longer registered, or the server stops.
    StreamClosed(Ticket),
    /// Something was said in passing, for this stream's reader.
    Notice {
        /// Which stream.
        stream: Ticket,
        /// In which room.
        room: RoomId,
        /// What.
        notice: Notice,
    },
}

/// The answer to an accepted call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// To a command.
    Done(Reply),
    /// To a read.
    Read(Answer),
    /// The stream is open; its ticket is the call's.
    Streaming,
}
