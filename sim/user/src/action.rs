//! The requests of a user to its world, and the identity under which it makes them.

use chat_types::Span;

use sim_model::plan::Opening;
use sim_model::protocol::{CallId, Op};

/// A request of a user to its world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send one attempt of a call. The reply comes back through `handle_answer`, or never.
    Request {
        /// The call.
        call: CallId,
        /// The number of the attempt, from 0.
        attempt: u32,
        /// The identity of the caller.
        who: Credential,
        /// The request key, equal for all attempts of a call. A check has none.
        key: Option<u128>,
        /// The operation.
        op: Op,
    },
    /// Drop the connection of this attempt, whose answer is not awaited any more. The attempt may
    /// be lost already, with `DropAll`.
    Cancel {
        /// The call.
        call: CallId,
        /// The number of the attempt.
        attempt: u32,
    },
    /// Open the event stream. Answered by `handle_stream_opened` or `handle_stream_closed`.
    OpenStream {
        /// The number of this opening.
        stream: u32,
        /// The number that determined the reader's handle.
        secret: u64,
        /// The last event that the client has, which the opening may leave out.
        after: u64,
        /// How it is opened, with the secret by which it reads.
        opening: Opening,
    },
    /// Drop the stream's connection without closing it.
    CloseStream {
        /// The number of its opening.
        stream: u32,
    },
    /// Drop every connection, of the stream and of requests in flight, without closing them. The
    /// client stays away for a while or permanently, or continues under another identity.
    DropAll {
        /// How long it stays away, if it comes back under its identity.
        length: Option<Span>,
    },
}

/// The identity under which a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The number that determines the handle, so that all attempts of one registration create the
    /// same one.
    pub secret: u64,
    /// Whether the identity is a new one, which the call registers.
    pub is_new: bool,
}
