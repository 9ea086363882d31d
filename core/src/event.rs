//! Events of rooms, which inboxes hold. A `gap` is no event: it is computed on reading.

use std::sync::Arc;

use chat_types::{Span, Time};
use serde::{Deserialize, Serialize};

use chat_types::{Epoch, MessageId, RoomId, RoomSeq, Seq, UserId};

/// A participant as others see it. It is shared, because an event can outlive its participant.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Who {
    /// The number in `user_7`.
    pub id: UserId,
    /// The public id that the participant chose; none if it is `user_7`.
    pub chosen_id: Option<Box<str>>,
    /// The display name.
    pub name: Box<str>,
}

/// An event of a room.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// Why a pair room ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EndReason {
    /// `left`: one of the two left the room.
    Left,
    /// `timeout`: one of the two went away.
    Timeout,
    /// `blocked`: one of the two blocked the other.
    Blocked,
    /// `turn_limit`: the room reached its limit of messages.
    TurnLimit,
    /// `closed`: an operator ended it.
    Closed,
}

impl EndReason {
    /// The reason's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Timeout => "timeout",
            Self::Blocked => "blocked",
            Self::TurnLimit => "turn_limit",
            Self::Closed => "closed",
        }
    }
}

/// The limits of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLimits {
    /// The largest number of events.
    pub(crate) events: usize,
    /// The largest size of all texts, in bytes. The first event is exempt: otherwise a longer one
    /// could never be delivered.
    pub(crate) bytes: usize,
}

/// An answer while events are added to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageBuilder {
    limits: PageLimits,
    events: usize,
    bytes: usize,
}

impl PageLimits {
    /// An answer without an event.
    pub(crate) const fn begin(self) -> PageBuilder {
        PageBuilder {
            limits: self,
            events: 0,
            bytes: 0,
        }
    }

    /// The longest prefix of these events that fits into one answer.
    pub(crate) fn of<'a>(self, events: impl Iterator<Item = &'a Arc<Event>>) -> Vec<Arc<Event>> {
        let mut answer = self.begin();
        events
            .take_while(|event| answer.try_add(event))
            .cloned()
            .collect()
    }
}

impl PageBuilder {
    /// Adds the event if the answer has space for it. After the first refusal the answer is
    /// complete.
    pub(crate) fn try_add(&mut self, event: &Event) -> bool {
        let bytes = self.bytes.saturating_add(event.bytes());
        let is_first = self.events == 0;
        if self.events >= self.limits.events || (bytes > self.limits.bytes && !is_first) {
            return false;
        }
        self.events += 1;
        self.bytes = bytes;
        true
    }
}

impl Event {
    /// The size of the event's text in bytes of UTF-8.
    fn bytes(&self) -> usize {
        match &self.body {
            Body::Message { text, .. } => text.len(),
            Body::Found(_)
            | Body::PartnerDisconnected(_)
            | Body::PartnerAway(_)
            | Body::PartnerReconnected(_)
            | Body::Joined(_)
            | Body::Left(_)
            | Body::Away(_)
            | Body::Back(_)
            | Body::StickClaimed { .. }
            | Body::StickGranted { .. }
            | Body::StickReleased { .. }
            | Body::StickExpired { .. }
            | Body::Muted { .. }
            | Body::Kicked { .. }
            | Body::Closed { .. } => 0,
        }
    }

    /// The event's type on the wire.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.body {
            Body::Found(_) => "chatroom.found",
            Body::Message { .. } => "message.received",
            Body::PartnerDisconnected(_) => "partner.disconnected",
            Body::PartnerAway(_) => "partner.away",
            Body::PartnerReconnected(_) => "partner.reconnected",
            Body::Joined(_) => "user.joined",
            Body::Left(_) => "user.left",
            Body::Away(_) => "user.away",
            Body::Back(_) => "user.back",
            Body::StickClaimed { .. } => "stick.claimed",
            Body::StickGranted { .. } => "stick.granted",
            Body::StickReleased { .. } => "stick.released",
            Body::StickExpired { .. } => "stick.expired",
            Body::Muted { .. } => "moderation.muted",
            Body::Kicked { .. } => "moderation.kicked",
            Body::Closed { .. } => "moderation.closed",
        }
    }

    /// The public id of a message.
    #[must_use]
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

/// What a gap says of one room.
///
/// An inbox keeps one record for each room with dropped events, and drops the events themselves. A gap
/// shows a part of the record if the last event of that part was dropped within the gap. `from`, `to`
/// and `messages` cover all dropped events of the room, not those within this gap alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A change of the reader's own membership of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Membership {
    /// `matched`: the reader was matched into the room.
    Matched,
    /// `joined`: the reader joined.
    Joined,
    /// `left`: the reader left.
    Left,
    /// `kicked`: an operator removed the reader.
    Kicked,
}

impl Membership {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Joined => "joined",
            Self::Left => "left",
            Self::Kicked => "kicked",
        }
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
    pub const fn as_str(self) -> &'static str {
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
