//! What a user asks its world to do, and in whose name.

use chat_types::Span;

use sim_model::protocol::{CallId, Op, ReadBy};

/// What a user asks its world to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send one attempt of a call. The reply comes back through `handle_answer`, or never.
    Request {
        /// Which call.
        call: CallId,
        /// Which attempt of it, from 0.
        attempt: u32,
        /// In whose name.
        who: Credential,
        /// The request key: the same for all attempts of a call. A check has none.
        key: Option<u128>,
        /// What is asked for.
        op: Op,
    },
    /// Nobody waits for this attempt's answer any more: its connection is dropped. (The attempt
    /// may be lost already, with `DropAll`.)
    Cancel {
        /// Which call.
        call: CallId,
        /// Which attempt of it.
        attempt: u32,
    },
    /// Open the event stream. Answered by `handle_stream_opened` or `handle_stream_closed`.
    OpenStream {
        /// The number of this opening.
        stream: u32,
        /// In whose name.
        who: Credential,
        /// By which secret.
        by: ReadBy,
        /// Events from behind this place.
        after: u64,
        /// Whether the client does not say so: the stream begins at the end then.
        bare: bool,
    },
    /// Drop the stream without a word.
    CloseStream {
        /// The number of its opening.
        stream: u32,
    },
    /// Drop every connection, the stream and requests in flight, without a word: for so long, or
    /// for good, or to go on as somebody else.
    DropAll {
        /// How long it stays away, if it comes back as itself.
        length: Option<Span>,
    },
}

/// In whose name a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Nobody's yet: the call registers. `secret` makes the handle, so that all attempts of one
    /// registration make the same.
    New {
        /// What the handle is made from.
        secret: u64,
    },
    /// The one who was registered with this secret.
    Handle {
        /// What the handle was made from.
        secret: u64,
    },
}
