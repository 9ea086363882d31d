//! The lists that operators read: participants, named rooms, mutes and bans, reports. And the rooms
//! that an archive of past messages takes from the state.

use std::sync::Arc;

use chat_types::{
    Ban, Counts, Event, Floor, KeptRoom, MeasureTarget, ParticipantView, Report, RoomView, Time,
};

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
    Measure(MeasureTarget, Ban),
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
            Self::Measure(MeasureTarget::Handle(who), _) | Self::Kept(Kept::Member { who, .. }) => {
                Some(who.id)
            }
            Self::Kept(Kept::Message(event)) => event.body.named().first().map(|who| who.id),
            Self::Totals(_)
            | Self::Room(_)
            | Self::Kept(Kept::Room { .. })
            | Self::Measure(MeasureTarget::Name(_) | MeasureTarget::Address(_), _) => None,
        }
    }

    /// The items of a live room as an archive takes it, in their order.
    pub fn of_kept(kept: KeptRoom) -> impl Iterator<Item = Self> {
        let room = kept.id;
        let head = Kept::Room {
            room,
            last: kept.last.0,
            name: kept.name,
        };
        let members = kept.members.into_iter();
        let members = members.map(move |(who, since)| Kept::Member { room, who, since });
        let messages = kept.messages.into_iter().map(Kept::Message);
        let items = std::iter::once(head).chain(members).chain(messages);
        items.map(Self::Kept)
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
