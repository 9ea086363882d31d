//! Answers to accepted commands.

use std::sync::Arc;

use chat_types::{BreakKind, Epoch, RoomId, RoomSeq, Span, Time, UserId, Who};
use serde::{Deserialize, Serialize};

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

/// Whether a participant was in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WasWaiting {
    /// It was in the queue.
    Yes,
    /// It was not in the queue.
    No,
}
