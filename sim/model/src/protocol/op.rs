//! What clients ask for.

use std::sync::Arc;

use chat_types::{BreakKind, Span};

use super::{Room, User};

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Op {
    /// Stand in the line; registers when the agent has no handle yet.
    EnterQueue {
        /// The public id to be known by; only a registration may carry one.
        user_id: Option<Arc<str>>,
        display_name: Option<Arc<str>>,
        interests: Arc<[Arc<str>]>,
    },
    /// Leave the line.
    LeaveQueue,
    /// Register under a name, or with a handle just join a room.
    Login { username: Arc<str>, room: Arc<str> },
    /// Say something.
    Send {
        room: Option<Room>,
        text: Arc<str>,
        epoch: Option<u64>,
    },
    /// Leave a room.
    LeaveChat { room: Option<Room> },
    /// Claim the stick, or ask for one's place.
    TalkingStick {
        room: Option<Room>,
        epoch: Option<u64>,
    },
    /// Add to the draft.
    Append {
        room: Option<Room>,
        text: Arc<str>,
        epoch: Option<u64>,
    },
    /// Take the last append back.
    Undo {
        room: Option<Room>,
        epoch: Option<u64>,
    },
    /// Clear the draft and release the stick, or withdraw the claim.
    Reset {
        room: Option<Room>,
        epoch: Option<u64>,
    },
    /// Send the draft and release the stick.
    Push {
        room: Option<Room>,
        epoch: Option<u64>,
    },
    /// Tell the room that one is typing.
    Typing { room: Option<Room> },
    /// Never meet or hear somebody again.
    Block { user: User },
    /// Meet and hear somebody again.
    Unblock { user: User },
    /// Report somebody to the operator.
    Report { user: User, reason: Arc<str> },
    /// Take a break; registers when the agent has no handle yet.
    Break {
        kind: BreakKind,
        excuse: Option<Arc<str>>,
    },
    /// Look at one's stress, and at how alert the boss is; registers when the agent has no handle
    /// yet.
    Mood,
    /// Leave everything, and be forgotten.
    Unregister,
    /// Read the inbox, waiting up to `wait` for something to come.
    Check {
        after: Option<u64>,
        wait: Span,
        by: ReadBy,
    },
    /// Read a room's past messages: the newest `limit` of those before the place `before`.
    History {
        room: Option<Room>,
        before: Option<u64>,
        limit: u32,
    },
    /// Read who is in a room.
    ListUsers { room: Option<Room> },
}

impl Op {
    /// The verb as scenarios and traces write it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::EnterQueue { .. } => "enter_queue",
            Self::LeaveQueue => "leave_queue",
            Self::Login { .. } => "login",
            Self::Send { .. } => "send",
            Self::LeaveChat { .. } => "leave_chat",
            Self::TalkingStick { .. } => "talking_stick",
            Self::Append { .. } => "append",
            Self::Undo { .. } => "undo",
            Self::Reset { .. } => "reset",
            Self::Push { .. } => "push",
            Self::Typing { .. } => "typing",
            Self::Block { .. } => "block",
            Self::Unblock { .. } => "unblock",
            Self::Report { .. } => "report",
            Self::Break { .. } => "break",
            Self::Mood => "check_stress_status",
            Self::Unregister => "unregister",
            Self::Check { .. } => "check",
            Self::History { .. } => "history",
            Self::ListUsers { .. } => "list_users",
        }
    }

    /// Whether the call reads and changes nothing: such a call takes no request key.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        match self {
            Self::Mood | Self::Check { .. } | Self::History { .. } | Self::ListUsers { .. } => true,
            Self::EnterQueue { .. }
            | Self::LeaveQueue
            | Self::Login { .. }
            | Self::Send { .. }
            | Self::LeaveChat { .. }
            | Self::TalkingStick { .. }
            | Self::Append { .. }
            | Self::Undo { .. }
            | Self::Reset { .. }
            | Self::Push { .. }
            | Self::Typing { .. }
            | Self::Block { .. }
            | Self::Unblock { .. }
            | Self::Report { .. }
            | Self::Break { .. }
            | Self::Unregister => false,
        }
    }
}

/// The secret by which a client reads its inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadBy {
    /// Its handle.
    #[default]
    Handle,
    /// Its reader id, which reads the inbox and does nothing else.
    ReaderId,
}
