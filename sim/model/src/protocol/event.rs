//! What inboxes hold.

use chat_types::Span;

use super::{Room, Shown, User};
use crate::names::EVENTS;

/// Why a pair room ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// The partner left.
    Left,
    /// The partner went away.
    Timeout,
    /// One of the two blocked the other.
    Blocked,
    /// The room's turns are used up.
    TurnLimit,
    /// An operator closed it.
    Closed,
}

impl EndReason {
    /// Its word, as servers write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Timeout => "timeout",
            Self::Blocked => "blocked",
            Self::TurnLimit => "turn_limit",
            Self::Closed => "closed",
        }
    }
}

/// How the stick changed hands, or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum StickChange {
    /// Somebody stands in line for it, at this place.
    Claimed { place: u32 },
    /// Somebody holds it from now on, for `lease`.
    Granted { epoch: u64, lease: Span },
    /// The holder gave it back.
    Released { epoch: u64 },
    /// The holder's lease ran out.
    Expired { epoch: u64 },
}

/// How somebody's presence in a room changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// Joined the room.
    Joined,
    /// Left the room.
    Left,
    /// Went away; still a member.
    Away,
    /// Came back.
    Back,
}

/// What an operator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moderated {
    /// Somebody may not speak.
    Muted,
    /// Somebody was put out of the room.
    Kicked,
    /// The room was closed.
    Closed,
}

/// One room's share of a gap.
///
/// `from` and `messages` also count events that the reader has read and not acknowledged; all else
/// is of the gap alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRange {
    /// The room.
    pub room: Room,
    /// None of its events before this room seq is missing.
    pub from: u64,
    /// The last room seq that is missing.
    pub to: u64,
    /// At most so many of the events were messages.
    pub messages: u64,
    /// The last of the reader's own comings and goings that is missing.
    pub you: Option<Membership>,
    /// Whether others came, went, went away or came back.
    pub members_changed: bool,
    /// The last of the reader's own grants, releases and expiries that is missing.
    pub stick: Option<StickLoss>,
    /// Whether others' grants, releases or expiries are missing.
    pub stick_changed: bool,
    /// Why the room ended, if that is missing.
    pub ended: Option<EndReason>,
}

/// How the reader's own membership of a room changed within a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It was matched.
    Matched,
    /// It joined.
    Joined,
    /// It left.
    Left,
    /// An operator put it out.
    Kicked,
}

/// What became of the reader's own stick within a gap. Each names the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StickLoss {
    /// The reader held it when the gap ended.
    Granted(u64),
    /// The reader gave it back.
    Released(u64),
    /// Its lease ran out.
    Expired(u64),
}

/// An event that a client sees, from its inbox by a stream or by `check`.
///
/// All but `Gap` have a room and a place in its order (`room_seq`, from 1, without holes).
/// Where it names a participant, `shown` says how it is shown. A room's event reaches every
/// member, the one it is about among them, with these exceptions:
/// a message skips its sender (who has its `room_seq` from the reply), `PartnerAway` and
/// `PartnerBack` skip the one they are about, `Ended` skips the member whose own call ended the
/// room, and a message skips those who blocked its sender or whom its sender blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Saw<'a> {
    /// `chatroom.found`: the first event of a pair room, to both.
    Found {
        room: Room,
        room_seq: u64,
        partner: User,
        shown: Shown<&'a str>,
    },
    /// `message.received`. `epoch` is the speaker's, in a stick room.
    Message {
        room: Room,
        room_seq: u64,
        sender: User,
        shown: Shown<&'a str>,
        text: &'a str,
        epoch: Option<u64>,
    },
    /// `partner.disconnected`: the last event of a pair room.
    Ended {
        room: Room,
        room_seq: u64,
        reason: EndReason,
    },
    /// `partner.away`: the partner's last stream closed, and the grace runs.
    PartnerAway {
        room: Room,
        room_seq: u64,
        partner: User,
        shown: Shown<&'a str>,
    },
    /// `partner.reconnected`, within the grace.
    PartnerBack {
        room: Room,
        room_seq: u64,
        partner: User,
        shown: Shown<&'a str>,
    },
    /// `user.joined`, `user.left`, `user.away`, `user.back`.
    Member {
        room: Room,
        room_seq: u64,
        user: User,
        shown: Shown<&'a str>,
        change: Presence,
    },
    /// `stick.claimed`, `stick.granted`, `stick.released`, `stick.expired`.
    Stick {
        room: Room,
        room_seq: u64,
        user: User,
        shown: Shown<&'a str>,
        change: StickChange,
    },
    /// `moderation.muted`, `.kicked`, `.closed`, which names nobody.
    Moderation {
        room: Room,
        room_seq: u64,
        user: Option<User>,
        shown: Shown<&'a str>,
        reason: &'a str,
        act: Moderated,
    },
    /// `gap`: the inbox events `from..=to` are gone, `lost` of them.
    Gap {
        from: u64,
        to: u64,
        lost: u64,
        rooms: &'a [LostRange],
    },
}

impl Saw<'_> {
    /// The event's type as the protocol writes it, such as `message.received`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        EVENTS[self.number()]
    }

    /// The place of the event's type in [`EVENTS`].
    #[must_use]
    pub const fn number(&self) -> usize {
        match self {
            Self::Found { .. } => 0,
            Self::Message { .. } => 1,
            Self::Ended { .. } => 2,
            Self::PartnerAway { .. } => 3,
            Self::PartnerBack { .. } => 4,
            Self::Member { change, .. } => match change {
                Presence::Joined => 5,
                Presence::Left => 6,
                Presence::Away => 7,
                Presence::Back => 8,
            },
            Self::Stick { change, .. } => match change {
                StickChange::Claimed { .. } => 9,
                StickChange::Granted { .. } => 10,
                StickChange::Released { .. } => 11,
                StickChange::Expired { .. } => 12,
            },
            Self::Moderation { act, .. } => match act {
                Moderated::Muted => 13,
                Moderated::Kicked => 14,
                Moderated::Closed => 15,
            },
            Self::Gap { .. } => 16,
        }
    }

    /// The participant that it names, and how it is shown; none for an end, a closed room and a
    /// gap.
    #[must_use]
    pub fn about(&self) -> Option<(User, Shown<&str>)> {
        match *self {
            Self::Found { partner, shown, .. }
            | Self::PartnerAway { partner, shown, .. }
            | Self::PartnerBack { partner, shown, .. } => Some((partner, shown)),
            Self::Message { sender, shown, .. } => Some((sender, shown)),
            Self::Member { user, shown, .. } | Self::Stick { user, shown, .. } => {
                Some((user, shown))
            }
            Self::Moderation { user, shown, .. } => user.map(|user| (user, shown)),
            Self::Ended { .. } | Self::Gap { .. } => None,
        }
    }

    /// The room and the place in its order; none for a gap.
    #[must_use]
    pub fn place(&self) -> Option<(Room, u64)> {
        match *self {
            Self::Found { room, room_seq, .. }
            | Self::Message { room, room_seq, .. }
            | Self::Ended { room, room_seq, .. }
            | Self::PartnerAway { room, room_seq, .. }
            | Self::PartnerBack { room, room_seq, .. }
            | Self::Member { room, room_seq, .. }
            | Self::Stick { room, room_seq, .. }
            | Self::Moderation { room, room_seq, .. } => Some((room, room_seq)),
            Self::Gap { .. } => None,
        }
    }
}
