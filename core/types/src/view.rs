//! What members and operators read of the state.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Address, Attendance, Epoch, RoomId, Span, Time, UserId, Who};

/// What a member needs to speak in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// Whether members need the stick to speak.
    pub needs_stick: bool,
    /// The member's place for the stick: 0 holds it, 1 is next. None without a claim.
    pub place: Option<u32>,
    /// The epoch of the current or the last grant; 0 in a room without a stick.
    pub epoch: Epoch,
    /// Whether the member has a draft with text.
    pub has_draft: bool,
}

/// A member as `list_users` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// The member.
    pub who: Arc<Who>,
    /// The instant at which it joined.
    pub since: Time,
    /// Whether it is present.
    pub presence: Attendance,
}

/// The numbers of participants, rooms and waiters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Registered participants.
    pub participants: usize,
    /// The largest number of them that registered from one address.
    pub of_one_address: usize,
    /// Rooms, including ended ones that are still remembered.
    pub rooms: usize,
    /// Participants in the queue.
    pub waiting: usize,
    /// Since when the first of them waits.
    pub first_waits_since: Option<Time>,
    /// The average of recent waits; none before the first match.
    pub recent_wait: Option<Span>,
}

/// A participant as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantView {
    /// Its names.
    pub who: Arc<Who>,
    /// Whether it is present.
    pub presence: Attendance,
    /// The number of open streams.
    pub streams: u32,
    /// The live rooms that it is in.
    pub rooms: Vec<RoomId>,
    /// Since when it waits in the queue; none if it does not.
    pub waiting_since: Option<Time>,
    /// Whether it may not speak, because an operator muted it.
    pub is_muted: bool,
    /// The address that it was registered from.
    pub address: Address,
}

/// A named room as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomView {
    /// The room.
    pub id: RoomId,
    /// Its name.
    pub name: Arc<str>,
    /// The number of members.
    pub members: usize,
    /// The epoch of the current grant, and its holder.
    pub holder: Option<(Epoch, UserId)>,
    /// The end of the current lease.
    pub lease_until: Option<Time>,
    /// The number of members who wait for the stick.
    pub stick_line: usize,
    /// The first of them, in order: at most [`LINE_SHOWN`].
    pub next_in_line: Vec<UserId>,
}

/// The largest number of waiting members that a view of a room lists.
pub const LINE_SHOWN: usize = 8;

/// A report of one participant about another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The instant of the report.
    pub at: Time,
    /// The reporter.
    pub by: UserId,
    /// The address that the reporter was registered from.
    pub from: Address,
    /// The reported participant.
    pub about: UserId,
    /// The reporter's reason.
    pub reason: Arc<str>,
}
