//! The lists that operators read: participants, named rooms, mutes and bans, reports. And the rooms
//! that an archive of past messages takes from the state.

use std::sync::Arc;

use chat_types::{Counts, Event, Floor, ParticipantView, Report, RoomView, Time};

use crate::protocol::{Room, User, Who};

/// An item of the operators' lists. The lists follow each other in the order of the variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The counts of the whole server.
    Totals(Counts),
    /// A participant; in the order of the folded display names.
    Participant(Box<ListedParticipant>),
    /// A named room; in the order of the folded names.
    Room(Box<RoomView>),
    /// A mute or a ban; names in the order of their folded forms, then handles in the order of
    /// their bytes, then addresses.
    Measure(Target, Measure),
    /// A report; the oldest first.
    Report(Report),
    /// What an archive takes of the live rooms; in the order of their numbers. Each is followed by
    /// its members and its messages.
    Kept(Kept),
}

/// A part of what an archive takes from the state, where it cannot follow the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Kept {
    /// A room with the place of its last event, and the name of a named one.
    Room {
        room: Room,
        last: u64,
        name: Option<Arc<str>>,
    },
    /// A member, and since when it is one; in ascending number.
    Member {
        room: Room,
        who: Arc<Who>,
        since: Time,
    },
    /// A message; the oldest first.
    Message(Arc<Event>),
}

impl Listed {
    /// The participant of the item, or of its target.
    #[must_use]
    pub fn user(&self) -> Option<User> {
        match self {
            Self::Participant(listed) => Some(listed.view.who.id),
            Self::Report(report) => Some(report.about),
            Self::Measure(Target::Handle(who), _) | Self::Kept(Kept::Member { who, .. }) => {
                Some(who.id)
            }
            Self::Kept(Kept::Message(event)) => event.body.named().first().map(|who| who.id),
            Self::Totals(_)
            | Self::Room(_)
            | Self::Kept(Kept::Room { .. })
            | Self::Measure(Target::Name(_) | Target::Address(_), _) => None,
        }
    }
}

/// A participant in a list, with the participants that its texts are found to name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedParticipant {
    /// What operators see of it.
    pub view: ParticipantView,
    /// Its standing in each of its live rooms, in the same order.
    pub standings: Vec<Floor>,
    /// The events behind its delivered mark.
    pub unread: u64,
    /// The participant with the public id `user_N` of its number.
    pub by_number: Option<User>,
    /// The participant with its chosen public id.
    pub by_id: Option<User>,
    /// The participant with its display name.
    pub by_name: Option<User>,
}

/// The target of a mute or a ban.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A display name or a public id, as its owner spelled it.
    Name(Arc<str>),
    /// The handle of this participant, which was shown so.
    Handle(Arc<Who>),
    /// An address.
    Address(u64),
}

/// An operator's measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Whether it is a ban; else it is a mute.
    pub is_ban: bool,
    /// The instant of the act.
    pub at: Time,
    /// The operator's reason.
    pub reason: Arc<str>,
}
