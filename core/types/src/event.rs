//! Events of rooms, which inboxes hold, and what participants see of one another. A `gap` is no event:
//! it is computed on reading.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Epoch, MessageId, RoomId, RoomSeq, Seq, Span, Time, UserId};

/// A participant as others see it. It is shared, because an event can outlive its participant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Who {
    /// The number in `user_7`.
    pub id: UserId,
    /// The public id that the participant chose; none if it is `user_7`.
    pub chosen_id: Option<Box<str>>,
    /// The display name.
    pub name: Box<str>,
}

impl Who {
    /// A participant of whom no more than the number is known.
    #[must_use]
    pub fn unnamed(id: UserId) -> Arc<Self> {
        Arc::new(Self {
            id,
            chosen_id: None,
            name: Box::default(),
        })
    }
}

/// An event of a room.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// The room.
    pub room: RoomId,
    /// The place in the room's order.
    pub room_seq: RoomSeq,
    /// The instant of the event.
    pub at: Time,
    /// The kind of event, with its fields.
    pub body: Body,
}

/// The kinds of events, with their fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// `chatroom.found`: these two were matched. Each receives the other's name.
    Found([Arc<Who>; 2]),
    /// `message.received`, to all members but the sender.
    Message {
        /// The sender.
        sender: Arc<Who>,
        /// The text.
        text: Arc<str>,
        /// The epoch of the sender's grant, in a room with a stick.
        epoch: Option<Epoch>,
        /// The members that the message is addressed to, in ascending order of their numbers; none if it is
        /// for all. All members receive it.
        to: Box<[Arc<Who>]>,
    },
    /// `partner.disconnected`: the pair room ended. To both, except a member whose own call ended
    /// it.
    PartnerDisconnected(EndReason),
    /// `partner.away`, to the other member: the partner's last stream closed.
    PartnerAway(Arc<Who>),
    /// `partner.reconnected`, to the other member: the partner is back within the grace period.
    PartnerReconnected(Arc<Who>),
    /// `user.joined`.
    Joined(Arc<Who>),
    /// `user.left`.
    Left(Arc<Who>),
    /// `user.away`.
    Away(Arc<Who>),
    /// `user.back`.
    Back(Arc<Who>),
    /// `stick.claimed`: a member waits for the stick.
    StickClaimed {
        /// The claimant.
        user: Arc<Who>,
        /// The place in line, from 1.
        place: u32,
    },
    /// `stick.granted`.
    StickGranted {
        /// The new holder.
        user: Arc<Who>,
        /// The epoch of the grant.
        epoch: Epoch,
        /// The length of the lease.
        lease: Span,
    },
    /// `stick.released`: the holder pushed, reset, left or went away.
    StickReleased {
        /// The former holder.
        user: Arc<Who>,
        /// The epoch of the grant that ended.
        epoch: Epoch,
    },
    /// `stick.expired`: the lease ended.
    StickExpired {
        /// The former holder.
        user: Arc<Who>,
        /// The epoch of the grant that ended.
        epoch: Epoch,
    },
    /// `moderation.muted`.
    Muted {
        /// The muted participant.
        user: Arc<Who>,
        /// The operator's reason.
        reason: Arc<str>,
    },
    /// `moderation.kicked`, also to the removed participant.
    Kicked {
        /// The removed participant.
        user: Arc<Who>,
        /// The operator's reason.
        reason: Arc<str>,
    },
    /// `moderation.closed`: the named room ended.
    Closed {
        /// The operator's reason.
        reason: Arc<str>,
    },
}

crate::listed! {
    /// Why a pair room ended.
    #[derive(Serialize, Deserialize)]
    EndReason {
        /// One of the two left the room.
        Left "left",
        /// One of the two went away.
        Timeout "timeout",
        /// One of the two blocked the other.
        Blocked "blocked",
        /// The room reached its limit of messages.
        TurnLimit "turn_limit",
        /// An operator ended it.
        Closed "closed",
    }
}

/// Every type of what an inbox holds, by its name on the wire: those of events, and last that of gaps.
pub const EVENTS: [&str; 17] = [
    "chatroom.found",
    "message.received",
    "partner.disconnected",
    "partner.away",
    "partner.reconnected",
    "user.joined",
    "user.left",
    "user.away",
    "user.back",
    "stick.claimed",
    "stick.granted",
    "stick.released",
    "stick.expired",
    "moderation.muted",
    "moderation.kicked",
    "moderation.closed",
    "gap",
];

impl Body {
    /// The index of the event's type in [`EVENTS`].
    #[must_use]
    pub const fn number(&self) -> usize {
        match self {
            Self::Found(_) => 0,
            Self::Message { .. } => 1,
            Self::PartnerDisconnected(_) => 2,
            Self::PartnerAway(_) => 3,
            Self::PartnerReconnected(_) => 4,
            Self::Joined(_) => 5,
            Self::Left(_) => 6,
            Self::Away(_) => 7,
            Self::Back(_) => 8,
            Self::StickClaimed { .. } => 9,
            Self::StickGranted { .. } => 10,
            Self::StickReleased { .. } => 11,
            Self::StickExpired { .. } => 12,
            Self::Muted { .. } => 13,
            Self::Kicked { .. } => 14,
            Self::Closed { .. } => 15,
        }
    }

    /// The participants that it names, which are both of a match and none of a room's end.
    #[must_use]
    pub const fn named(&self) -> &[Arc<Who>] {
        match self {
            Self::Found(pair) => pair,
            Self::Message { sender: who, .. }
            | Self::PartnerAway(who)
            | Self::PartnerReconnected(who)
            | Self::Joined(who)
            | Self::Left(who)
            | Self::Away(who)
            | Self::Back(who)
            | Self::StickClaimed { user: who, .. }
            | Self::StickGranted { user: who, .. }
            | Self::StickReleased { user: who, .. }
            | Self::StickExpired { user: who, .. }
            | Self::Muted { user: who, .. }
            | Self::Kicked { user: who, .. } => std::slice::from_ref(who),
            Self::PartnerDisconnected(_) | Self::Closed { .. } => &[],
        }
    }

    /// Whether it is a message to others than this reader.
    #[must_use]
    pub fn is_to_others(&self, reader: UserId) -> bool {
        matches!(self, Self::Message { to, .. } if !to.is_empty() && to.iter().all(|who| who.id != reader))
    }

    /// The sender and the text of a message.
    #[must_use]
    pub fn message(&self) -> Option<(UserId, &Arc<str>)> {
        if let Self::Message { sender, text, .. } = self {
            return Some((sender.id, text));
        }
        None
    }
}

impl Event {
    /// The event's type on the wire.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        EVENTS[self.body.number()]
    }

    /// The participant of whom it tells this reader: of a match, the partner.
    #[must_use]
    pub fn about(&self, reader: UserId) -> Option<&Arc<Who>> {
        let named = self.body.named();
        let other = named.iter().find(|who| who.id != reader);
        other.or(named.first())
    }

    /// The public id of a message.
    #[must_use]
    #[inline]
    pub const fn message_id(&self) -> MessageId {
        MessageId(self.room, self.room_seq)
    }
}

/// A range of events that were dropped from an inbox. It stands in their place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The sequence number of the first dropped event.
    pub from: Seq,
    /// The sequence number of the last dropped event.
    pub to: Seq,
    /// The dropped events by room.
    pub rooms: Vec<LostRange>,
    /// Whether events of other rooms were dropped as well, which the inbox does not list any more.
    pub rooms_omitted: bool,
}

impl Gap {
    /// The number of dropped events.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.to.0.saturating_add(1).saturating_sub(self.from.0)
    }
}

/// What a gap says of one room.
///
/// An inbox keeps one record for each room with dropped events, and drops the events themselves. A gap
/// shows a part of the record if the last event of that part was dropped within the gap. `from`, `to`
/// and `messages` cover all dropped events of the room, not those within this gap alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRange {
    /// The room.
    pub room: RoomId,
    /// A lower bound: no event of the room before this place was dropped.
    pub from: RoomSeq,
    /// The room's last dropped event.
    pub to: RoomSeq,
    /// The number of dropped messages; 0 unless the last of them lies within this gap.
    pub messages: u64,
    /// The reader's last dropped change of membership, if it lies within this gap.
    pub you: Option<Membership>,
    /// Whether another member joined, left, went away or came back.
    pub members_changed: bool,
    /// The last dropped grant, release or expiry of the reader's own stick, if it lies within this
    /// gap.
    pub stick: Option<StickLoss>,
    /// Whether the stick was granted to, released by or taken from another member.
    pub stick_changed: bool,
    /// Why the room ended, if that event was dropped.
    pub ended: Option<EndReason>,
}

crate::listed! {
    /// A change of the reader's own membership of a room.
    #[derive(Serialize, Deserialize)]
    Membership {
        /// The reader was matched into the room.
        Matched "matched",
        /// The reader joined.
        Joined "joined",
        /// The reader left.
        Left "left",
        /// An operator removed the reader.
        Kicked "kicked",
    }
}

/// The last change of the reader's own stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StickLoss {
    /// `granted`: the reader held the stick at the end of the gap.
    Granted(Epoch),
    /// `released`: the grant ended by push, reset, leaving or going away.
    Released(Epoch),
    /// `expired`: the lease ended.
    Expired(Epoch),
}

impl StickLoss {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Granted(_) => "granted",
            Self::Released(_) => "released",
            Self::Expired(_) => "expired",
        }
    }

    /// The epoch of the grant.
    #[must_use]
    pub const fn epoch(self) -> Epoch {
        match self {
            Self::Granted(epoch) | Self::Released(epoch) | Self::Expired(epoch) => epoch,
        }
    }
}

/// The kinds of notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoticeKind {
    /// `user.typing`.
    Typing,
    /// `user.waiting`: the sender has waited in a `check` for this long.
    Waiting(Span),
}

crate::listed! {
    /// A participant's presence as others see it.
    #[derive(Serialize, Deserialize)]
    Attendance {
        /// A stream is open, or a call came recently.
        Present "present",
        /// The last stream closed, and the grace period runs.
        Reconnecting "reconnecting",
        /// The participant has had neither a stream nor a call for too long.
        Away "away",
    }
}
