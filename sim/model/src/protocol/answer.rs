//! Answers of servers.

use std::sync::Arc;

use chat_types::{Code, Earlier, Span, Time};

use super::{Event, Member, Notice, Room, User, Who};

/// A server's answer to an accepted call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Answer {
    /// The caller waits in the queue; `position` counts from 1. `estimated_wait` is the average of
    /// recent waits.
    Waiting {
        user: User,
        position: u32,
        estimated_wait: Option<Span>,
    },
    /// The caller was matched at once.
    Matched {
        user: User,
        room: Room,
        partner: Arc<Who>,
    },
    /// The caller is not in the queue; `left` says whether it was.
    LeftQueue { left: bool },
    /// The caller is in the room. `user` is new if the call had no handle.
    LoggedIn { user: User, room: Room },
    /// The message (or the pushed draft) has the place `room_seq` in its room.
    Sent {
        room: Room,
        room_seq: u64,
        at: Time,
        turns_left: Option<u32>,
    },
    /// The caller is not in the room.
    LeftChat,
    /// `place` 0 holds the stick, 1 is next. `epoch` is the current grant's, which is the holder's
    /// until `lease_until`.
    Stick {
        room: Room,
        place: u32,
        epoch: u64,
        holder: Option<User>,
        lease_until: Time,
    },
    /// The draft's length in characters, and the number of characters of the append that were cut;
    /// if some were, the last characters of the draft.
    Draft {
        length: u32,
        truncated: u32,
        suffix: Option<Arc<str>>,
    },
    /// The break: the stress level from 0 to 100, the boss's alert level from 0 to 5, and a number
    /// that represents the text.
    OnBreak {
        user: User,
        stress: u8,
        boss_alert: u8,
        flavour: u32,
    },
    /// The stress level from 0 to 100, and the boss's alert level from 0 to 5.
    Mood { stress: u8, boss_alert: u8 },
    /// The command is done, and has no result.
    Done,
    /// An operator's act lifts mutes or bans, and found one or none.
    Lifted { found: bool },
    /// The inbox was read; the world has passed its events one by one before this. `cursor` is the
    /// seq of the last event, or the given cursor if there was none; `unread` is the number of
    /// events after it.
    Read {
        cursor: u64,
        more: bool,
        unread: u64,
        notices: Box<[Notice]>,
    },
    /// Past messages, the newest last.
    History {
        room: Room,
        messages: Arc<[Arc<Event>]>,
        /// Whether there are older messages.
        more: bool,
    },
    /// The room's members.
    Members { room: Room, members: Arc<[Member]> },
}

impl Answer {
    /// The caller, if the answer contains it.
    #[must_use]
    pub const fn caller(&self) -> Option<User> {
        if let Self::LoggedIn { user, .. }
        | Self::Waiting { user, .. }
        | Self::Matched { user, .. }
        | Self::OnBreak { user, .. } = self
        {
            return Some(*user);
        }
        None
    }

    /// The room in which the caller is, by the answer.
    #[must_use]
    pub const fn room(&self) -> Option<Room> {
        if let Self::Matched { room, .. }
        | Self::LoggedIn { room, .. }
        | Self::Stick { room, .. }
        | Self::Sent { room, .. } = self
        {
            return Some(*room);
        }
        None
    }

    /// The position of the accepted message.
    #[must_use]
    pub const fn place(&self) -> Option<(Room, u64)> {
        if let Self::Sent { room, room_seq, .. } = self {
            return Some((*room, *room_seq));
        }
        None
    }
}

/// A server's refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the protocol, such as `stick_required`.
    pub code: &'static str,
    /// The delay after which to retry, if that helps.
    pub retry_after: Option<Span>,
    /// What the server knows of earlier attempts with the call's request key.
    pub earlier: Earlier,
    /// The number in the message: with `room_ambiguous` that of the caller's rooms, with
    /// `invalid_cursor` the end of the inbox, with `name_taken` a silence in microseconds,
    /// with `chat_ended` the place of the reason among `EndReason`, and otherwise the limit.
    pub number: Option<u64>,
}

impl Refusal {
    /// A refusal with a number in its message.
    #[must_use]
    pub const fn with(code: Code, number: u64) -> Self {
        Self {
            number: Some(number),
            ..Self::of(code)
        }
    }

    /// A refusal with only a code.
    #[must_use]
    pub const fn of(code: Code) -> Self {
        Self::named(code.name())
    }

    /// A refusal with only a code, which may be that of another server.
    #[must_use]
    pub const fn named(code: &'static str) -> Self {
        Self {
            code,
            retry_after: None,
            earlier: Earlier::Unasked,
            number: None,
        }
    }

    /// Whether it has this code.
    #[must_use]
    pub fn is(&self, code: Code) -> bool {
        self.code == code.name()
    }

    /// Whether the call can be repeated and is then decided anew.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        Code::parse(self.code).is_some_and(Code::is_retryable)
    }
}

/// A server's answer.
pub type Outcome = Result<Answer, Refusal>;
