//! Calls to a server: what they ask, what identifies one, and what a refusal says of its earlier
//! attempts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Caller, Command, Operate, RequestKey, RoomId, RoomSeq, SecretHash, Seq, Span};

/// The shell's id of one call, or of the stream that the call opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What is known of earlier attempts with the request key of a refused call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Earlier {
    /// The call has no request key, so it has no earlier attempts.
    #[default]
    Unasked,
    /// `none`: no attempt with this key is remembered, and none waits to be decided.
    None,
    /// `unknown`: an attempt with this key may have taken effect, or may still take effect.
    Unknown,
}

impl Earlier {
    /// The word on the wire; none for a call without a request key.
    #[must_use]
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Unasked => None,
            Self::None => Some("none"),
            Self::Unknown => Some("unknown"),
        }
    }
}

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
        if let Self::Command { key: Some(_), .. } = self {
            return Earlier::Unknown;
        }
        Earlier::Unasked
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

crate::listed! {
    /// When the owner of several servers answers reads.
    OwnerReads {
        /// At once, while its lease lasts by its own clock.
        Lease "lease",
        /// After an append to the log, whatever the clocks show.
        Strict "strict",
    }
}
