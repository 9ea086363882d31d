//! Calls in the form of flows.

use std::sync::Arc;

use chat_types::{BreakKind, Span};

use super::Text;
use crate::protocol::{OpKind, Plain, ReadBy};

/// A call in the form of flows. Its room is the user's current room unless it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `enter_queue: { interests: [rust, chess], name: Ann, user_id: ann }`
    EnterQueue {
        /// The display name; the user's own unless given.
        name: Option<Arc<str>>,
        /// The public id; used only by a registration.
        user_id: Option<Arc<str>>,
        /// The topics that the user wants to talk about.
        interests: Arc<[Arc<str>]>,
    },
    /// `login: { room: lobby }`, or `login: { room: hall, rooms: 500 }`
    Login {
        /// The room's name.
        room: Arc<str>,
        /// 1: this room. More: the user draws one of this many, `hall-0` to `hall-499`.
        rooms: u32,
        /// The display name; the user's own unless given.
        name: Option<Arc<str>>,
    },
    /// `send: { text: "hello" }` or `send: { length: { min: 5, max: 400 } }`
    Send(Text),
    /// `speak: { text: "hello" }`
    Speak(Text),
    /// `check: { wait: 5s, as: reader }`
    Check {
        /// The time to wait for events.
        wait: Span,
        /// The secret by which it reads.
        by: ReadBy,
    },
    /// `history: { before: 12, limit: 20 }`
    History {
        /// Only messages before this place of the room.
        before: Option<u64>,
        /// The largest number of messages.
        limit: u32,
    },
    /// `talking_stick`, or `talking_stick: { epoch: latest }`
    TalkingStick(Grant),
    /// `append: { length: 120 }`
    Append(Text),
    /// `undo`, or `undo: { epoch: latest }`
    Undo(Grant),
    /// `reset`, or `reset: { epoch: latest }`
    Reset(Grant),
    /// `report: { reason: "spam" }`: reports the partner, or the last sender.
    Report {
        /// The reason that operators read.
        reason: Arc<str>,
    },
    /// `break`, or `break: { kind: chimaek, excuse: "the chicken was getting cold" }`. In a flow a
    /// user sometimes checks its stress meanwhile.
    Break {
        /// The kind; drawn unless it is given.
        kind: Option<BreakKind>,
        /// The user's own text for the break.
        excuse: Option<Arc<str>>,
    },
    /// `break: { kind: check_stress_status }`: only reads.
    Mood,
    /// `typing`, and all others that are written as a single word.
    Plain(Plain),
}

impl Verb {
    /// The kind of operation.
    #[must_use]
    pub const fn kind(&self) -> OpKind {
        match self {
            Self::EnterQueue { .. } => OpKind::EnterQueue,
            Self::Login { .. } => OpKind::Login,
            Self::Send(_) => OpKind::Send,
            Self::Speak(_) => OpKind::Speak,
            Self::Check { .. } => OpKind::Check,
            Self::History { .. } => OpKind::History,
            Self::TalkingStick(_) => OpKind::TalkingStick,
            Self::Append(_) => OpKind::Append,
            Self::Undo(_) => OpKind::Undo,
            Self::Reset(_) => OpKind::Reset,
            Self::Report { .. } => OpKind::Report,
            Self::Break { .. } => OpKind::Break,
            Self::Mood => OpKind::Mood,
            Self::Plain(plain) => plain.kind(),
        }
    }
}

chat_types::listed! {
    /// The grant that a call names, for calls where it is optional.
    #[derive(Default)]
    Grant {
        /// The call names no grant.
        #[default]
        Unnamed "none",
        /// The latest grant that the user knows, which may be over.
        Latest "latest",
    }
}
