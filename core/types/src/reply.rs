//! Answers to accepted calls: to commands, and to reads.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    BreakKind, Epoch, Event, MemberView, NoticeKind, Page, RoomId, RoomSeq, Span, Time, UserId, Who,
};

/// The answer to an accepted command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reply {
    /// The caller waits in the queue.
    Waiting {
        /// The caller.
        user: UserId,
        /// The caller's place, from 1, which is also the number of waiters.
        position: u32,
        /// The average of recent waits; none before the first match.
        estimated_wait: Option<Span>,
    },
    /// The caller was matched at once.
    Matched {
        /// The caller.
        user: UserId,
        /// The pair room.
        room: RoomId,
        /// The partner.
        partner: Arc<Who>,
    },
    /// The caller is not in the queue.
    LeftQueue {
        /// Whether it was before.
        left: WasWaiting,
    },
    /// The caller is in the room.
    LoggedIn {
        /// The caller.
        user: UserId,
        /// The room.
        room: RoomId,
    },
    /// The message was sent.
    Sent {
        /// The room.
        room: RoomId,
        /// The message's place in the room's order. With the room, it is the message's id.
        room_seq: RoomSeq,
        /// The instant of the message.
        at: Time,
        /// The number of messages until the pair room ends; given from 10 on.
        turns_left: Option<u32>,
    },
    /// The caller is not in the room.
    LeftChat,
    /// The caller's place with the stick.
    Stick {
        /// The room.
        room: RoomId,
        /// 0: the caller holds it. 1: the caller is next.
        place: u32,
        /// The epoch of the current grant.
        epoch: Epoch,
        /// The holder.
        holder: UserId,
        /// The end of the current lease.
        lease_until: Time,
    },
    /// The draft after the change.
    Draft {
        /// The length in characters.
        length: u32,
        /// The number of characters of the append that were cut.
        cut: u32,
        /// The last 50 characters of the draft; given if some were cut.
        suffix: Option<Box<str>>,
    },
    /// The caller takes a break. Both levels are those at `answer_at`, as far as they are known
    /// yet.
    OnBreak {
        /// The caller.
        user: UserId,
        /// The kind of break.
        kind: BreakKind,
        /// The stress level, from 0 to 100.
        stress: u8,
        /// The boss's alert level, from 0 to 5.
        boss_alert: u8,
        /// A random number by which the texts of the answer are chosen.
        flavour: u32,
        /// The earliest instant at which the answer may leave: 20 s later if the boss is at its
        /// highest alert level.
        answer_at: Time,
    },
    /// The command is done, and has no result.
    Done,
    /// The act lifts mutes or bans.
    Lifted {
        /// Whether there was one to lift.
        found: bool,
    },
}

impl Reply {
    /// The caller, if the answer contains it.
    #[must_use]
    pub const fn caller(&self) -> Option<UserId> {
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
    pub const fn room(&self) -> Option<RoomId> {
        if let Self::Matched { room, .. }
        | Self::LoggedIn { room, .. }
        | Self::Stick { room, .. }
        | Self::Sent { room, .. } = self
        {
            return Some(*room);
        }
        None
    }

    /// The place of the accepted message.
    #[must_use]
    pub const fn place(&self) -> Option<(RoomId, RoomSeq)> {
        if let Self::Sent { room, room_seq, .. } = self {
            return Some((*room, *room_seq));
        }
        None
    }
}

/// Whether a participant was in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WasWaiting {
    /// It was in the queue.
    Yes,
    /// It was not in the queue.
    No,
}

/// The answer to a read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// `check`: events of the inbox, and fresh notices.
    Page {
        /// The events.
        page: Page,
        /// The notices, by room.
        notices: Vec<(RoomId, Notice)>,
    },
    /// `list_users`: the room's members, in the order of their ids.
    Members {
        /// The room.
        room: RoomId,
        /// Its members.
        members: Vec<MemberView>,
    },
    /// `history`: past messages, newest last.
    History {
        /// The room.
        room: RoomId,
        /// The messages.
        messages: Vec<Arc<Event>>,
        /// Whether there are older messages.
        more: bool,
    },
    /// The caller's stress and its boss's alert level.
    Mood {
        /// The stress level, from 0 to 100.
        stress: u8,
        /// The boss's alert level, from 0 to 5.
        boss_alert: u8,
    },
}

/// A transient notice: it has no place in the room's order and in inboxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The sender.
    pub user: Arc<Who>,
    /// The kind of notice.
    pub kind: NoticeKind,
    /// The instant of the notice.
    pub at: Time,
}

/// The answer to an accepted call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response {
    /// To a command.
    Done(Reply),
    /// To a read.
    Read(Answer),
    /// The stream is open. Its ticket is that of the call.
    Streaming,
}
