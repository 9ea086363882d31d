//! What servers answer.

use std::sync::Arc;

use chat_types::{Span, Time};

use super::{Notice, Room, Shown, User};

/// What a server answers to a call that it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Answer {
    /// In the line; `position` counts from 1. `estimated_wait` is the average of recent waits.
    Waiting {
        user: User,
        position: u32,
        estimated_wait: Option<Span>,
    },
    /// Matched at once.
    Matched {
        user: User,
        room: Room,
        partner: User,
        shown: Shown<Arc<str>>,
    },
    /// Out of the line; `left` is false if one was not in it.
    LeftQueue { left: bool },
    /// In the room, and known as `user`. `user` is new when the call had no handle.
    LoggedIn { user: User, room: Room },
    /// The message (or the pushed draft) stands at `room_seq` in its room.
    Sent {
        room: Room,
        room_seq: u64,
        at: Time,
        turns_left: Option<u32>,
    },
    /// Out of the room.
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
    /// The draft's length in characters, and how many of the append were cut; if some were, the
    /// last characters of the draft.
    Draft {
        length: u32,
        truncated: u32,
        suffix: Option<Arc<str>>,
    },
    /// The break is over: stress from 0 to 100, the boss's alertness from 0 to 5, and a number that
    /// stands for the text.
    OnBreak {
        user: User,
        stress: u8,
        boss_alert: u8,
        flavour: u32,
    },
    /// Stress from 0 to 100, and the boss's alertness from 0 to 5.
    Mood { stress: u8, boss_alert: u8 },
    /// The answer to an *arrive*: the newcomer is registered as `user`.
    Arrived { user: User },
    /// Done, with nothing more to say.
    Done,
    /// The inbox was read; its events were handed over one by one before this.
    /// `cursor` is the seq of the last of them, or where the reading began when there were none;
    /// `unread` of the inbox follow it.
    Read {
        cursor: u64,
        more: bool,
        unread: u64,
        notices: Box<[Notice]>,
    },
    /// Past messages, the newest last.
    History {
        room: Room,
        messages: Arc<[PastMessage]>,
        /// Whether there are older ones.
        more: bool,
    },
    /// The room's members.
    Members { room: Room, members: Arc<[Member]> },
}

impl Answer {
    /// The caller, where the answer says who that is.
    #[must_use]
    pub const fn caller(&self) -> Option<User> {
        if let Self::LoggedIn { user, .. }
        | Self::Waiting { user, .. }
        | Self::Matched { user, .. }
        | Self::OnBreak { user, .. }
        | Self::Arrived { user } = self
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

    /// The place of the message that was accepted.
    #[must_use]
    pub const fn place(&self) -> Option<(Room, u64)> {
        if let Self::Sent { room, room_seq, .. } = self {
            return Some((*room, *room_seq));
        }
        None
    }
}

/// A message as `history` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastMessage {
    /// Its place in the room's order.
    pub room_seq: u64,
    /// When, by the server's clock.
    pub at: Time,
    /// Who spoke.
    pub sender: User,
    /// How the sender was shown.
    pub shown: Shown<Arc<str>>,
    /// What.
    pub text: Arc<str>,
    /// The speaker's grant, in a stick room.
    pub epoch: Option<u64>,
}

/// A member as `list_users` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub user: User,
    /// How the member is shown.
    pub shown: Shown<Arc<str>>,
    /// Since when in the room, by the server's clock.
    pub since: Time,
    /// Whether there.
    pub attendance: Attendance,
}

/// Whether a member is there, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attendance {
    /// `present`.
    Present,
    /// `reconnecting`: its last stream closed, and the grace runs.
    Reconnecting,
    /// `away`.
    Away,
}

/// What a server answers to a call that it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the protocol, such as `stick_required`.
    pub code: &'static str,
    /// When to try again, if that helps.
    pub retry_after: Option<Span>,
    /// What the server knows of earlier attempts of the call: those with its request key.
    pub earlier: Earlier,
}

/// What a refusal that can be tried again says of earlier attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Nothing: the call has no request key, or another server answers.
    #[default]
    Unsaid,
    /// None has taken effect, and none waits to be decided.
    None,
    /// One may have taken effect, or may yet.
    Unknown,
}

impl Refusal {
    /// Whether the same call may be tried again and is decided anew
    /// (`rate_limited`, `overloaded`, `storage_unavailable`, `shutting_down`).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.code,
            "rate_limited" | "overloaded" | "storage_unavailable" | "shutting_down"
        )
    }
}

/// A server's answer.
pub type Outcome = Result<Answer, Refusal>;
