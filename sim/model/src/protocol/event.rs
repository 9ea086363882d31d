//! Events of inboxes.

use chat_types::{EndReason, LostRange, Span};

use super::{Room, Shown, User};
use crate::names::EVENTS;

/// Transitions of a stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum StickChange {
    /// A member waits for it at this place.
    Claimed { place: u32 },
    /// A member holds it from now on, for `lease`.
    Granted { epoch: u64, lease: Span },
    /// The holder released it.
    Released { epoch: u64 },
    /// The holder's lease ended.
    Expired { epoch: u64 },
}

/// Changes of a member's presence in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// The member joined the room.
    Joined,
    /// The member left the room.
    Left,
    /// The member went away.
    Away,
    /// The member came back.
    Back,
}

/// Operators' acts in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moderated {
    /// A member was muted.
    Muted,
    /// A member was removed from the room.
    Kicked,
    /// The room was closed.
    Closed,
}

/// An event as a client receives it from its inbox, by a stream or by `check`.
///
/// All but `Gap` have a room and a place in its order (`room_seq`, from 1, without holes). If it
/// names a participant, `shown` is that participant as others see it. A room's event is delivered
/// to every member, including its subject, with these exceptions: a message skips its sender (which
/// has its `room_seq` from the reply), `PartnerAway` and `PartnerBack` skip their subject, `Ended`
/// skips the member whose own call ended the room, and a message skips members that blocked its
/// sender or that its sender blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum InboxEvent<'a> {
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
    /// `partner.away`: the partner's last stream closed, and the grace period runs.
    PartnerAway {
        room: Room,
        room_seq: u64,
        partner: User,
        shown: Shown<&'a str>,
    },
    /// `partner.reconnected`: the partner is back within the grace period.
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
    /// `moderation.muted`, `.kicked`, and `.closed`, which names no participant.
    Moderation {
        room: Room,
        room_seq: u64,
        user: Option<User>,
        shown: Shown<&'a str>,
        reason: &'a str,
        act: Moderated,
    },
    /// `gap`: the events `from..=to` of the inbox were dropped, `lost` of them.
    Gap {
        from: u64,
        to: u64,
        lost: u64,
        rooms: &'a [LostRange],
    },
}

impl InboxEvent<'_> {
    /// The event's type in the protocol, such as `message.received`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        EVENTS[self.number()]
    }

    /// The index of the event's type in [`EVENTS`].
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

    /// The named participant as others see it; none for an end, a closed room and a gap.
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
