//! Events as inboxes keep them.

use std::sync::Arc;

use chat_types::Time;
use sim_model::protocol::{
    EndReason, InboxEvent, Moderated, Presence, Room, Shown, StickChange, User,
};

/// An event of a room, shared by all inboxes that contain it.
#[derive(Clone, Debug)]
pub struct Event {
    /// The room.
    pub room: Room,
    /// The position in the room's order, from 1.
    pub room_seq: u64,
    /// The timestamp.
    pub at: Time,
    /// What happened.
    pub what: EventKind,
    /// The participants that it names, and how each was shown when it was posted. // 5.3
    pub named: Named,
}

/// The participants that an event names: both of a match, or the one it is about.
pub(super) type Named = [Option<(User, Arc<Shown<Arc<str>>>)>; 2];

/// What happened in a room. // 4.4
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum EventKind {
    /// `chatroom.found`. Each of the two sees the other.
    Found { pair: [User; 2] },
    /// `message.received`.
    Message {
        sender: User,
        text: Arc<str>,
        epoch: Option<u64>,
    },
    /// `partner.disconnected`.
    Ended { reason: EndReason },
    /// `partner.away`.
    PartnerAway,
    /// `partner.reconnected`.
    PartnerBack,
    /// `user.joined`, `user.left`, `user.away`, `user.back`.
    Member { user: User, change: Presence },
    /// `stick.claimed`, `stick.granted`, `stick.released`, `stick.expired`.
    Stick { user: User, change: StickChange },
    /// `moderation.muted`, `moderation.kicked`, `moderation.closed`.
    Moderation {
        user: Option<User>,
        act: Moderated,
        reason: Arc<str>,
    },
}

impl EventKind {
    /// The sender and the text of a message.
    #[must_use]
    pub const fn message(&self) -> Option<(User, &Arc<str>)> {
        if let Self::Message { sender, text, .. } = self {
            return Some((*sender, text));
        }
        None
    }
}

impl Event {
    /// The number of bytes of its text in an answer, in UTF-8. // 12.4
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.what.message().map_or(0, |(_, text)| text.len())
    }

    /// The event as a reader sees it.
    #[must_use]
    pub fn seen_by(&self, reader: User) -> InboxEvent<'_> {
        let (room, room_seq) = (self.room, self.room_seq);
        let (about, shown) = self.name(0);
        match self.what {
            EventKind::Found { pair: [one, _] } => {
                let (partner, shown) = self.name(usize::from(reader == one));
                InboxEvent::Found {
                    room,
                    room_seq,
                    partner,
                    shown,
                }
            }
            EventKind::Message {
                sender,
                ref text,
                epoch,
            } => InboxEvent::Message {
                room,
                room_seq,
                sender,
                shown,
                text,
                epoch,
            },
            EventKind::Ended { reason } => InboxEvent::Ended {
                room,
                room_seq,
                reason,
            },
            EventKind::PartnerAway => InboxEvent::PartnerAway {
                room,
                room_seq,
                partner: about,
                shown,
            },
            EventKind::PartnerBack => InboxEvent::PartnerBack {
                room,
                room_seq,
                partner: about,
                shown,
            },
            EventKind::Member { user, change } => InboxEvent::Member {
                room,
                room_seq,
                user,
                shown,
                change,
            },
            EventKind::Stick { user, change } => InboxEvent::Stick {
                room,
                room_seq,
                user,
                shown,
                change,
            },
            EventKind::Moderation {
                user,
                act,
                ref reason,
            } => InboxEvent::Moderation {
                room,
                room_seq,
                user,
                shown,
                act,
                reason,
            },
        }
    }

    /// One of the participants that it names.
    fn name(&self, index: usize) -> (User, Shown<&str>) {
        let named = self.named[index].as_ref();
        named.map_or((User::default(), Shown::NAMELESS), |(user, shown)| {
            (*user, Shown::as_ref(shown))
        })
    }

    /// The owned form of an event that a reader saw. `None` for a gap, which is no event.
    #[must_use]
    pub fn of(event: &InboxEvent<'_>, at: Time) -> Option<Self> {
        let (room, room_seq) = event.place()?;
        let named = event
            .about()
            .map(|(user, shown)| (user, Arc::new(shown.to_owned())));
        let mut names = [named, None];
        let what = match *event {
            InboxEvent::Found { partner, .. } => {
                names[1] = names[0].clone();
                EventKind::Found {
                    pair: [partner, partner],
                }
            }
            InboxEvent::Message {
                sender,
                text,
                epoch,
                ..
            } => EventKind::Message {
                sender,
                text: text.into(),
                epoch,
            },
            InboxEvent::Ended { reason, .. } => EventKind::Ended { reason },
            InboxEvent::PartnerAway { .. } => EventKind::PartnerAway,
            InboxEvent::PartnerBack { .. } => EventKind::PartnerBack,
            InboxEvent::Member { user, change, .. } => EventKind::Member { user, change },
            InboxEvent::Stick { user, change, .. } => EventKind::Stick { user, change },
            InboxEvent::Moderation {
                user, act, reason, ..
            } => EventKind::Moderation {
                user,
                act,
                reason: reason.into(),
            },
            InboxEvent::Gap { .. } => return None,
        };
        Some(Self {
            room,
            room_seq,
            at,
            what,
            named: names,
        })
    }
}
