//! Answers to accepted calls: to commands, and to reads. Pages of an inbox, and what members and
//! operators read of the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Address, Attendance, BreakKind, Epoch, Event, Gap, NoticeKind, RoomId, RoomSeq, Seq, Span,
    Time, UserId, Who,
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

impl Answer {
    /// The room that the answer describes.
    #[must_use]
    pub const fn room(&self) -> Option<RoomId> {
        match self {
            Self::Members { room, .. } | Self::History { room, .. } => Some(*room),
            Self::Page { .. } | Self::Mood { .. } => None,
        }
    }
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

/// The result of reading an inbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The gaps before and between the events, in order.
    pub gaps: Vec<Gap>,
    /// The events with their places, in order.
    pub events: Vec<(Seq, Arc<Event>)>,
    /// The last place of the page. For an empty page, the place after which it was read.
    pub cursor: Seq,
    /// The number of places after the page.
    pub unread: u64,
}

/// An element of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A range of dropped places.
    Gap(&'a Gap),
    /// An event with its place.
    Event(Seq, &'a Arc<Event>),
}

impl Page {
    /// Gaps and events, in the order of their places.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let mut gaps = self.gaps.iter().peekable();
        let mut events = self.events.iter().peekable();
        std::iter::from_fn(move || {
            let next = events.peek().map(|(seq, _)| *seq);
            let gap = gaps.next_if(|gap| next.is_none_or(|next| gap.to < next));
            if let Some(gap) = gap {
                return Some(Item::Gap(gap));
            }
            let (seq, event) = events.next()?;
            Some(Item::Event(*seq, event))
        })
    }

    /// The place of the first event; if there is none, the place after the page.
    #[must_use]
    pub fn first(&self) -> Seq {
        let first = self.events.first().map(|(seq, _)| *seq);
        first.unwrap_or_else(|| self.cursor.next())
    }

    /// Whether the page has neither gaps nor events.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.gaps.is_empty() && self.events.is_empty()
    }
}

/// What a member needs to speak in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// Whether members need the stick to speak.
    pub needs_stick: bool,
    /// The member's place for the stick: 0 holds it, 1 is next. None without a claim.
    pub place: Option<u32>,
    /// The epoch of the current or the last grant; 0 in a room without a stick.
    pub epoch: Epoch,
    /// Whether the member has a draft with text.
    pub has_draft: bool,
}

/// A member as `list_users` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// The member.
    pub who: Arc<Who>,
    /// The instant at which it joined.
    pub since: Time,
    /// Whether it is present.
    pub presence: Attendance,
    /// The place in the room's order up to which it has read: no event of the room up to there waits
    /// to be acknowledged.
    pub read_to: RoomSeq,
}

/// The numbers of participants, rooms and waiters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Registered participants.
    pub participants: usize,
    /// The largest number of them that registered from one address.
    pub of_one_address: usize,
    /// Rooms, including ended ones that are still remembered.
    pub rooms: usize,
    /// Participants in the queue.
    pub waiting: usize,
    /// Since when the first of them waits.
    pub first_waits_since: Option<Time>,
    /// The average of recent waits; none before the first match.
    pub recent_wait: Option<Span>,
}

/// A participant as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantView {
    /// Its names.
    pub who: Arc<Who>,
    /// Whether it is present.
    pub presence: Attendance,
    /// The number of open streams.
    pub streams: u32,
    /// The live rooms that it is in.
    pub rooms: Vec<RoomId>,
    /// Since when it waits in the queue; none if it does not.
    pub waiting_since: Option<Time>,
    /// Whether it may not speak, because an operator muted it.
    pub is_muted: bool,
    /// The address that it was registered from.
    pub address: Address,
}

/// A named room as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomView {
    /// The room.
    pub id: RoomId,
    /// Its name.
    pub name: Arc<str>,
    /// The number of members.
    pub members: usize,
    /// The epoch of the current grant, and its holder.
    pub holder: Option<(Epoch, UserId)>,
    /// The end of the current lease.
    pub lease_until: Option<Time>,
    /// The number of members who wait for the stick.
    pub stick_line: usize,
    /// The first of them, in order: at most [`LINE_SHOWN`].
    pub next_in_line: Vec<UserId>,
}

/// The largest number of waiting members that a view of a room lists.
pub const LINE_SHOWN: usize = 8;

/// A report of one participant about another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The instant of the report.
    pub at: Time,
    /// The reporter.
    pub by: UserId,
    /// The address that the reporter was registered from.
    pub from: Address,
    /// The reported participant.
    pub about: UserId,
    /// The reporter's reason.
    pub reason: Arc<str>,
}

/// A live room with its members and its kept messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRoom {
    /// The room.
    pub id: RoomId,
    /// Its name; none of a pair room.
    pub name: Option<Arc<str>>,
    /// The place of its last event.
    pub last: RoomSeq,
    /// Its members, in the order of their ids, each with the instant at which it joined.
    pub members: Vec<(Arc<Who>, Time)>,
    /// The messages that it keeps, the oldest first.
    pub messages: Vec<Arc<Event>>,
}

/// The last number of each sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastNumbers {
    /// That of participants.
    pub user: UserId,
    /// That of rooms.
    pub room: RoomId,
    /// The end of each inbox.
    pub inboxes: BTreeMap<UserId, Seq>,
    /// The last place of each room's order, and the last epoch of its stick; 0 if it has none.
    pub places: BTreeMap<RoomId, (RoomSeq, Epoch)>,
}
