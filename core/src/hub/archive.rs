//! What an archive of past messages takes from the state: events as they happen, and what is left of
//! earlier ones.

use std::sync::Arc;

use chat_types::{Event, RoomId, RoomSeq, Time, Who};

use super::Hub;
use crate::room::Kind;

/// A live room with its members and its kept messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRoom {
    /// The room.
    pub id: RoomId,
    /// Its name; none of a pair room.
    pub name: Option<Arc<str>>,
    /// The place of its last event.
    pub last: RoomSeq,
    /// Its members, in the order of their ids, each with the instant at which it joined.
    pub members: Vec<(Arc<Who>, Time)>,
    /// The messages that it keeps, the oldest first.
    pub messages: Vec<Arc<Event>>,
}

impl Hub {
    /// Collects the events of all rooms from now on, for an archive. The archive takes them after
    /// every entry by `take_posted`: they are no part of the state, and have no limit.
    pub fn collect_posted(&mut self) {
        self.posted = Some(Vec::new());
    }

    /// The events of all rooms since the last call, in order; none without `collect_posted`.
    pub fn take_posted(&mut self) -> Vec<Arc<Event>> {
        let posted = self.posted.as_mut();
        posted.map(std::mem::take).unwrap_or_default()
    }

    /// All live rooms, in the order of their ids. Copies them one by one.
    pub fn kept_rooms(&self) -> impl Iterator<Item = KeptRoom> {
        self.rooms.sorted().filter_map(|(id, room)| {
            let name = match &room.kind {
                Kind::Named { name, .. } => Some(Arc::clone(name)),
                Kind::Pair { .. } => None,
                Kind::Ended(_) => return None,
            };
            let members = room.members().iter();
            let members = members.map(|member| (self.who(member.user), member.since));
            Some(KeptRoom {
                id,
                name,
                last: room.last_seq(),
                members: members.collect(),
                messages: room.history().iter().cloned().collect(),
            })
        })
    }
}
