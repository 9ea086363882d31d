//! What the node hands to its shell.

use chat_types::{Notice, Response, RoomId, Ticket};

use crate::reject::Reject;

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
