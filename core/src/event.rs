//! What members of a room are told. An inbox holds nothing else; `gap`s are made when read.

use std::sync::Arc;

use chat_types::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::id::{Epoch, MessageId, RoomId, RoomSeq, Seq, UserId};

/// A participant as others see it. Shared: events outlive the participants they name.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Who {
    /// The number behind `user_7`.
    pub id: UserId,
    /// The public id, when it is not `user_7` but one that the participant chose.
    pub chosen_id: Option<Box<str>>,
    /// The display name.
    pub name: Box<str>,
}

/// Something that happened in a room.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// Where.
    pub room: RoomId,
    /// Its place in the room's order.
    pub room_seq: RoomSeq,
    /// When.
    pub at: Time,
    /// What.
    pub body: Body,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// `chatroom.found`: these two were paired. Each is told of the other.
    Found([Arc<Who>; 2]),
    /// `message.received`, to all but the sender.
    Message {
        /// Who spoke.
        sender: Arc<Who>,
        /// What was said.
        text: Arc<str>,
        /// The grant it was said under, in a room with a stick.
        epoch: Option<Epoch>,
    },
    /// `partner.disconnected`: the pair room is over. To all but the one whose call ended it.
    PartnerDisconnected(EndReason),
    /// `partner.away`: the partner's last stream closed. To the other.
    PartnerAway(Arc<Who>),
    /// `partner.reconnected`, within the grace. To the other.
    PartnerReconnected(Arc<Who>),
    /// `user.joined`.
    Joined(Arc<Who>),
    /// `user.left`.
    Left(Arc<Who>),
    /// `user.away`.
    Away(Arc<Who>),
    /// `user.back`.
    Back(Arc<Who>),
    /// `stick.claimed`: somebody waits for the stick.
    StickClaimed {
        /// Who.
        user: Arc<Who>,
        /// 1 is next.
        place: u32,
    },
    /// `stick.granted`.
    StickGranted {
        /// To whom.
        user: Arc<Who>,
        /// The grant's number.
        epoch: Epoch,
        /// How long it lasts.
        lease: Span,
    },
    /// `stick.released`: given back by push, reset, leaving or going away.
    StickReleased {
        /// By whom.
        user: Arc<Who>,
        /// The grant that ended.
        epoch: Epoch,
    },
    /// `stick.expired`: the lease ran out.
    StickExpired {
        /// Whose.
        user: Arc<Who>,
        /// The grant that ended.
        epoch: Epoch,
    },
    /// `moderation.muted`.
    Muted {
        /// Who may not speak.
        user: Arc<Who>,
        /// Why.
        reason: Arc<str>,
    },
    /// `moderation.kicked`: to the one who is put out, too.
    Kicked {
        /// Who.
        user: Arc<Who>,
        /// Why.
        reason: Arc<str>,
    },
    /// `moderation.closed`: the named room is over.
    Closed {
        /// Why.
        reason: Arc<str>,
    },
}

/// Why a pair room ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EndReason {
    /// `left`: one of the two left.
    Left,
    /// `timeout`: one of the two stayed away.
    Timeout,
    /// `blocked`: one of the two blocked the other.
    Blocked,
    /// `turn_limit`: the turns are used up.
    TurnLimit,
    /// `closed`: an operator ended it.
    Closed,
}

impl EndReason {
    /// The reason as the wire has it.
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

/// How much one answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Most {
    /// At most so many events.
    pub(crate) events: usize,
    /// Texts of at most so many bytes; the first event has any length, or it would never leave.
    pub(crate) bytes: usize,
}

/// An answer that is being filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling {
    most: Most,
    events: usize,
    bytes: usize,
}

impl Most {
    /// An answer without an event.
    pub(crate) const fn begin(self) -> Filling {
        Filling {
            most: self,
            events: 0,
            bytes: 0,
        }
    }

    /// The first of these events that one answer holds.
    pub(crate) fn of<'a>(self, events: impl Iterator<Item = &'a Arc<Event>>) -> Vec<Arc<Event>> {
        let mut answer = self.begin();
        events
            .take_while(|event| answer.takes(event))
            .cloned()
            .collect()
    }
}

impl Filling {
    /// Whether the answer holds this event, too. After a refusal it is complete.
    pub(crate) fn takes(&mut self, event: &Event) -> bool {
        let bytes = self.bytes.saturating_add(event.bytes());
        let is_first = self.events == 0;
        if self.events >= self.most.events || (bytes > self.most.bytes && !is_first) {
            return false;
        }
        self.events += 1;
        self.bytes = bytes;
        true
    }
}

impl Event {
    /// How many bytes of an answer its text takes, in UTF-8.
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

    /// The event's type as the wire has it.
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

    /// The public name of a message.
    #[must_use]
    pub const fn message_id(&self) -> MessageId {
        MessageId(self.room, self.room_seq)
    }

    /// The other one of the two that a `chatroom.found` names.
    #[must_use]
    pub fn partner_of(&self, user: UserId) -> Option<&Arc<Who>> {
        let Body::Found([a, b]) = &self.body else {
            return None;
        };
        Some(if a.id == user { b } else { a })
    }
}

/// Events that are gone from an inbox, told in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first place that is gone.
    pub from: Seq,
    /// The last place that is gone.
    pub to: Seq,
    /// What is gone, by room.
    pub rooms: Vec<LostRange>,
    /// Whether events of further rooms are gone, which the inbox no longer names.
    pub rooms_omitted: bool,
}

/// What a gap says of one room.
///
/// An inbox keeps one record for each room with dropped events, and drops the events themselves. A gap
/// shows a part of the record if the last event of that part was dropped within the gap. `from`, `to`
/// and `messages` cover all dropped events of the room, not those within this gap alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// The room.
    pub room: RoomId,
    /// None of its events before this place is gone.
    pub from: RoomSeq,
    /// The last of its events that is gone.
    pub to: RoomSeq,
    /// So many of the events were messages; 0 unless the last of them is in this gap.
    pub messages: u64,
    /// The last of the reader's own comings and goings that is gone, if that is in this gap.
    pub you: Option<Membership>,
    /// Whether others came, went, went away or came back.
    pub members_changed: bool,
    /// The last of the reader's own grants, releases and expiries that is gone, likewise.
    pub stick: Option<StickLoss>,
    /// Whether the stick was granted to others, or others gave it back or lost it.
    pub stick_changed: bool,
    /// Why the room ended, if that is gone.
    pub ended: Option<EndReason>,
}

/// How the reader's own membership of a room changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Membership {
    /// `matched`: it was matched.
    Matched,
    /// `joined`: it joined.
    Joined,
    /// `left`: it left.
    Left,
    /// `kicked`: an operator put it out.
    Kicked,
}

impl Membership {
    /// The word on the wire.
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

/// What became of the reader's own stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StickLoss {
    /// `granted`: the reader held it when the gap ended.
    Granted(Epoch),
    /// `released`: the grant ended by push, reset, leaving or going away.
    Released(Epoch),
    /// `expired`: the lease ran out.
    Expired(Epoch),
}

impl StickLoss {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted(_) => "granted",
            Self::Released(_) => "released",
            Self::Expired(_) => "expired",
        }
    }

    /// Which grant.
    #[must_use]
    pub const fn epoch(self) -> Epoch {
        match self {
            Self::Granted(epoch) | Self::Released(epoch) | Self::Expired(epoch) => epoch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partner_is_the_other_one_and_only_of_a_match() {
        let who = |id, name: &str| {
            Arc::new(Who {
                id: UserId(id),
                chosen_id: None,
                name: name.into(),
            })
        };
        let mut event = Event {
            room: RoomId(1),
            room_seq: RoomSeq(1),
            at: Time(0),
            body: Body::Found([who(1, "ann"), who(2, "ben")]),
        };
        let partner = |event: &Event, user| event.partner_of(UserId(user)).map(|who| who.id);
        assert_eq!(partner(&event, 1), Some(UserId(2)));
        assert_eq!(partner(&event, 2), Some(UserId(1)));
        event.body = Body::PartnerAway(who(2, "ben"));
        assert_eq!(partner(&event, 1), None);
    }
}
