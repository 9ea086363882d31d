//! The lists that operators read: participants, named rooms, mutes and bans, reports. And the rooms
//! that an archive of past messages takes from the state.

use std::sync::Arc;

use chat_types::{Report, Span, Time};

use crate::protocol::{Attendance, Room, User, Who};

/// An item of the operators' lists. The lists follow each other in the order of the variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The counts of the whole server.
    Totals(Totals),
    /// A participant; in the order of the folded display names.
    Participant(Box<ListedParticipant>),
    /// A named room; in the order of the folded names.
    Room(Box<ListedRoom>),
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
    Message {
        room: Room,
        room_seq: u64,
        at: Time,
        sender: Arc<Who>,
        text: Arc<str>,
        epoch: Option<u64>,
    },
}

impl Listed {
    /// The participant of the item, or of its target.
    #[must_use]
    pub fn user(&self) -> Option<User> {
        match self {
            Self::Participant(listed) => Some(listed.who.id),
            Self::Report(report) => Some(report.about),
            Self::Measure(Target::Handle(who), _)
            | Self::Kept(Kept::Member { who, .. } | Kept::Message { sender: who, .. }) => {
                Some(who.id)
            }
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
    /// Its number and its names.
    pub who: Arc<Who>,
    /// Its presence.
    pub attendance: Attendance,
    /// The number of open streams.
    pub streams: u32,
    /// Its live rooms in the order of joining.
    pub rooms: Vec<Room>,
    /// Since when it waits in the line; `None` if it does not.
    pub waits_since: Option<Time>,
    /// Whether it may not speak.
    pub is_muted: bool,
    /// The address that it registered from.
    pub address: u64,
    /// Its standing in each of its live rooms, in the same order.
    pub standings: Vec<RoomStanding>,
    /// The events behind its delivered mark.
    pub unread: u64,
    /// The participant with the public id `user_N` of its number.
    pub by_number: Option<User>,
    /// The participant with its chosen public id.
    pub by_id: Option<User>,
    /// The participant with its display name.
    pub by_name: Option<User>,
}

/// The counts of the whole server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Registered participants.
    pub participants: usize,
    /// The largest number of them that registered from one address.
    pub of_one_address: usize,
    /// Rooms, including ended ones that are remembered.
    pub rooms: usize,
    /// Participants in the line.
    pub waiting: usize,
    /// Since when the first of them waits.
    pub first_waits_since: Option<Time>,
    /// The mean of recent waits.
    pub recent_wait: Option<Span>,
}

/// The standing of a participant in a room, by which the server tells it what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomStanding {
    /// Whether members need the stick to speak.
    pub needs_stick: bool,
    /// The place for the stick: 0 holds it, 1 is next.
    pub place: Option<usize>,
    /// The epoch of the current or the last grant; 0 in a room without a stick.
    pub epoch: u64,
    /// Whether the participant has a draft with text.
    pub has_draft: bool,
}

/// A named room in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRoom {
    /// Its number.
    pub room: Room,
    /// The name as its creator spelled it.
    pub name: Arc<str>,
    /// The number of members.
    pub members: usize,
    /// The epoch of the current grant, its holder, and the end of the lease.
    pub held: Option<(u64, User, Time)>,
    /// The number of waiting claims.
    pub claims: usize,
    /// The first claimants, in order.
    pub next: Vec<User>,
}

/// The most claimants that a list names.
pub const NEXT_LISTED: usize = 8;

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
