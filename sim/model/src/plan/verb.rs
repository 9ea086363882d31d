//! Calls as flows write them.

use std::sync::Arc;

use chat_types::{BreakKind, Span};

use super::Text;
use crate::protocol::{OpKind, Plain, ReadBy};

/// A call as a flow writes it. Rooms are the user's current room unless named.
#[derive(Clone, Debug)]
pub enum Verb {
    /// `enter_queue: { interests: [rust, chess], name: Ann, user_id: ann }`
    EnterQueue {
        /// The display name; the user's own unless given.
        name: Option<Arc<str>>,
        /// The public id to be known by; only a registration carries one.
        user_id: Option<Arc<str>>,
        /// What one would talk about.
        interests: Arc<[Arc<str>]>,
    },
    /// `login: { room: lobby }`, or `login: { room: hall, rooms: 500 }`
    Login {
        /// The room's name.
        room: Arc<str>,
        /// 1: that very room. More: the user draws one of so many, `hall-0` to `hall-499`.
        rooms: u32,
        /// The display name; the user's own unless given.
        name: Option<Arc<str>>,
    },
    /// `send: { text: "hello" }` or `send: { length: { min: 5, max: 400 } }`
    Send(Text),
    /// `check: { wait: 5s, as: reader }`
    Check {
        /// How long to wait for something to come.
        wait: Span,
        /// By which secret.
        by: ReadBy,
    },
    /// `history: { before: 12, limit: 20 }`
    History {
        /// Only messages before this place of the room.
        before: Option<u64>,
        /// At most so many.
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
    /// `report: { reason: "spam" }`: reports the partner, or the member that spoke last.
    Report {
        /// The reason that operators read.
        reason: Arc<str>,
    },
    /// `break`, or `break: { kind: chimaek, excuse: "the chicken was getting cold" }`. In a flow a
    /// user looks at its stress meanwhile, now and then.
    Break {
        /// Which; drawn among all unless given.
        kind: Option<BreakKind>,
        /// What to say of it.
        excuse: Option<Arc<str>>,
    },
    /// `break: { kind: check_stress_status }`: just a look, which registers a newcomer.
    Mood,
    /// `typing`, and all others that are written as a word alone.
    Plain(Plain),
}

impl Verb {
    /// What is asked for.
    #[must_use]
    pub const fn kind(&self) -> OpKind {
        match self {
            Self::EnterQueue { .. } => OpKind::EnterQueue,
            Self::Login { .. } => OpKind::Login,
            Self::Send(_) => OpKind::Send,
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

/// Which grant of the stick a call names that can do without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// The call names no grant.
    #[default]
    Unnamed,
    /// The latest that the user heard of, which may be over by now.
    Latest,
}
