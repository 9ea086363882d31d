//! Events as inboxes keep them.

use std::sync::Arc;

use chat_types::Time;
use sim_model::protocol::{EndReason, Moderated, Presence, Room, Saw, Shown, StickChange, User};

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
    pub what: What,
    /// The participants that it names, and how each was shown when it was posted. // 5.3
    pub named: Named,
}

/// The participants that an event names: both of a match, or the one it is about.
pub(super) type Named = [Option<(User, Shown<Arc<str>>)>; 2];

/// What happened in a room. // 4.4
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum What {
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

impl What {
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
    pub fn seen_by(&self, reader: User) -> Saw<'_> {
        let (room, room_seq) = (self.room, self.room_seq);
        let (about, shown) = self.name(0);
        match self.what {
            What::Found { pair: [one, _] } => {
                let (partner, shown) = self.name(usize::from(reader == one));
                Saw::Found {
                    room,
                    room_seq,
                    partner,
                    shown,
                }
            }
            What::Message {
                sender,
                ref text,
                epoch,
            } => Saw::Message {
                room,
                room_seq,
                sender,
                shown,
                text,
                epoch,
            },
            What::Ended { reason } => Saw::Ended {
                room,
                room_seq,
                reason,
            },
            What::PartnerAway => Saw::PartnerAway {
                room,
                room_seq,
                partner: about,
                shown,
            },
            What::PartnerBack => Saw::PartnerBack {
                room,
                room_seq,
                partner: about,
                shown,
            },
            What::Member { user, change } => Saw::Member {
                room,
                room_seq,
                user,
                shown,
                change,
            },
            What::Stick { user, change } => Saw::Stick {
                room,
                room_seq,
                user,
                shown,
                change,
            },
            What::Moderation {
                user,
                act,
                ref reason,
            } => Saw::Moderation {
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
            (*user, shown.as_ref())
        })
    }

    /// The owned form of an event that a reader saw. `None` for a gap, which is no event.
    #[must_use]
    pub fn of(saw: &Saw<'_>, at: Time) -> Option<Self> {
        let (room, room_seq) = saw.place()?;
        let named = saw.about().map(|(user, shown)| (user, shown.to_owned()));
        let mut names = [named, None];
        let what = match *saw {
            Saw::Found { partner, .. } => {
                names[1] = names[0].clone();
                What::Found {
                    pair: [partner, partner],
                }
            }
            Saw::Message {
                sender,
                text,
                epoch,
                ..
            } => What::Message {
                sender,
                text: text.into(),
                epoch,
            },
            Saw::Ended { reason, .. } => What::Ended { reason },
            Saw::PartnerAway { .. } => What::PartnerAway,
            Saw::PartnerBack { .. } => What::PartnerBack,
            Saw::Member { user, change, .. } => What::Member { user, change },
            Saw::Stick { user, change, .. } => What::Stick { user, change },
            Saw::Moderation {
                user, act, reason, ..
            } => What::Moderation {
                user,
                act,
                reason: reason.into(),
            },
            Saw::Gap { .. } => return None,
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
