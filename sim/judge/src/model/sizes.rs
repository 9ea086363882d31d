//! The sizes of the server's collections. // 1

use std::collections::BTreeMap;

use chat_types::Address;

use super::Model;
use super::participant::Participant;
use super::room::{Kind, RoomState};

impl Model {
    /// The size of a collection; of collections of each participant or room, the largest. `None`
    /// for a collection that the model does not have.
    pub(crate) fn size_of(&self, what: &str) -> Option<u64> {
        let each_person = |size: fn(&Participant) -> usize| {
            let sizes = self.participants.values().map(size);
            sizes.max().unwrap_or_default()
        };
        let each_room = |size: fn(&RoomState) -> usize| {
            let sizes = self.rooms.values().map(size);
            sizes.max().unwrap_or_default()
        };
        let size = match what {
            "participants" => self.participants.len(),
            "per_address" => {
                let most = self.by_address.values().max();
                return Some(most.copied().unwrap_or_default().into());
            }
            "rooms" => self.rooms.len(),
            "queue" => self.line.len(),
            "inbox" => each_person(|participant| participant.inbox.len()),
            "remembered_keys" => each_person(|participant| participant.keys.len()),
            "blocks" => each_person(|participant| participant.blocked.len()),
            "streams" => each_person(|participant| participant.presence.streams as usize),
            "rooms_each" => each_person(|participant| participant.live.len()),
            "ended_rooms" => each_person(|participant| participant.ended.len()),
            "members" => each_room(|room| match &room.kind {
                Kind::Ended { remembered_by, .. } => remembered_by.len(),
                Kind::Pair { .. } | Kind::Named { .. } => room.members.len(),
            }),
            "stick_line" => each_room(|room| match &room.kind {
                Kind::Named { stick, .. } => stick.claims(),
                Kind::Pair { .. } | Kind::Ended { .. } => 0,
            }),
            "history" => each_room(|room| room.history.len()),
            "draft" => each_room(|room| {
                let drafts = room.members.values().map(|member| member.draft.length());
                drafts.max().unwrap_or_default() as usize
            }),
            "reports" => self.reports.len(),
            "reports_per_address" => {
                let mut from: BTreeMap<Address, usize> = BTreeMap::new();
                for report in &self.reports {
                    *from.entry(report.from).or_default() += 1;
                }
                from.into_values().max().unwrap_or_default()
            }
            "bans" => self.measures.len(),
            _ => return None,
        };
        Some(size as u64)
    }
}
