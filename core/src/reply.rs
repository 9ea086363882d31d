//! What callers are answered when their command is accepted.

use std::sync::Arc;

use chat_types::{BreakKind, Span, Time};
use serde::{Deserialize, Serialize};

use crate::event::Who;
use crate::id::{Epoch, RoomId, RoomSeq, UserId};

/// The answer to an accepted command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reply {
    /// In the line.
    Waiting {
        /// Who the caller is.
        user: UserId,
        /// The caller's place, from 1, which is also how many wait.
        position: u32,
        /// How long recent waits were on average; none when nobody has been matched yet.
        estimated_wait: Option<Span>,
    },
    /// Paired at once.
    Matched {
        /// Who the caller is.
        user: UserId,
        /// The room of the two.
        room: RoomId,
        /// The partner.
        partner: Arc<Who>,
    },
    /// Out of the line.
    LeftQueue {
        /// Whether the caller was in it.
        left: WasWaiting,
    },
    /// In the room.
    LoggedIn {
        /// Who the caller is.
        user: UserId,
        /// The room.
        room: RoomId,
    },
    /// Said.
    Sent {
        /// Where.
        room: RoomId,
        /// Its place in the room's order; with the room, the message's id.
        room_seq: RoomSeq,
        /// When.
        at: Time,
        /// Messages until the pair room ends; told from 10 on.
        turns_left: Option<u32>,
    },
    /// Out of the room.
    LeftChat,
    /// Where the caller stands with the stick.
    Stick {
        /// The room.
        room: RoomId,
        /// 0 holds it, 1 is next.
        place: u32,
        /// The current grant.
        epoch: Epoch,
        /// Who holds it.
        holder: UserId,
        /// When the current grant ends.
        lease_until: Time,
    },
    /// The draft after the change.
    Draft {
        /// Its length in characters.
        length: u32,
        /// Characters of the append that were cut.
        cut: u32,
        /// The draft's last 50 characters, told when something was cut.
        suffix: Option<Box<str>>,
    },
    /// Taken. Both figures are those at `answer_at`, as far as is known yet.
    OnBreak {
        /// Who the caller is.
        user: UserId,
        /// Which break.
        kind: BreakKind,
        /// From 0 to 100.
        stress: u8,
        /// How alert the boss is, from 0 to 5.
        boss_alert: u8,
        /// A number by which to choose the texts of the answer.
        flavour: u32,
        /// When the answer may leave: 20 s later under the eyes of a boss who is fully alert.
        answer_at: Time,
    },
    /// Here.
    Arrived {
        /// Who the caller is.
        user: UserId,
    },
    /// Done; there is nothing more to say.
    Done,
}

/// Whether somebody was in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WasWaiting {
    /// Was in the line until now.
    Yes,
    /// Was not in the line.
    No,
}
