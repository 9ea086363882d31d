//! The lists that operators read, the look-up of participants by their texts, the rooms from
//! which an archive goes on, and the sizes of the server's collections. // 1, 5.4, 8.5, 16.6

use std::sync::Arc;

use chat_types::config::StickRule;
use chat_types::{
    Address, Counts, Epoch, Floor, KeptRoom, LINE_SHOWN, ParticipantView, RoomSeq, RoomView,
};
use sim_model::listing::{Listed, ListedParticipant};
use sim_model::protocol::{Room, User};

use super::Model;
use super::names::fold;
use super::room::Kind;

impl Model {
    /// All lists; if they are `archived`, with the rooms as an archive takes them. // 16.6
    pub(crate) fn listed(&self, archived: bool) -> Vec<Listed> {
        let numbers = self.participants.numbers().into_iter();
        let mut participants: Vec<User> = numbers.map(User).collect();
        participants.sort_by_cached_key(|user| fold(&self.participant(*user).who.name));
        let mut listed = vec![Listed::Totals(self.counts())];
        for user in participants {
            listed.push(Listed::Participant(Box::new(self.listed_participant(user))));
        }
        let rooms = self.room_names.values();
        let rooms = rooms.filter_map(|room| self.listed_room(*room));
        listed.extend(rooms.map(|room| Listed::Room(Box::new(room))));
        listed.extend(self.measures.listed());
        listed.extend(self.reports.iter().cloned().map(Listed::Report));
        if archived {
            let rooms = self.rooms.numbers().into_iter().map(Room);
            let kept = rooms.filter_map(|room| self.kept_room(room));
            listed.extend(kept.flat_map(Listed::of_kept));
        }
        listed
    }

    /// A live room with its members and its kept messages. // 8.5
    fn kept_room(&self, room: Room) -> Option<KeptRoom> {
        let place = self.place(room);
        let name = match &place.kind {
            Kind::Ended { .. } => return None,
            Kind::Pair { .. } => None,
            Kind::Named { name, .. } => Some(Arc::clone(name)),
        };
        let members = self.members(room);
        Some(KeptRoom {
            id: room,
            name,
            last: RoomSeq(place.last_seq),
            members: members
                .map(|(user, since)| (self.who(user), since))
                .collect(),
            messages: place.history.iter().cloned().collect(),
        })
    }

    fn counts(&self) -> Counts {
        let of_address = self.by_address.values().copied();
        Counts {
            participants: self.participants.len(),
            of_one_address: of_address.max().unwrap_or_default() as usize,
            rooms: self.rooms.len(),
            waiting: self.line.waiters.len(),
            first_waits_since: self.line.waiters.values().next().map(|one| one.since),
            recent_wait: self.estimated_wait(),
        }
    }

    /// The standing of a member in its live room. // 7.1, 7.7
    fn standing_in(&self, room: Room, user: User) -> Floor {
        let place = self.place(room);
        let draft = place.members.get(&user).map(|member| &member.draft);
        let stick = self.stick(room);
        Floor {
            needs_stick: stick.is_some() && self.config.stick == StickRule::Required,
            place: stick.and_then(|stick| u32::try_from(stick.place(user)?).ok()),
            epoch: Epoch(stick.map_or(0, |stick| stick.epoch)),
            has_draft: draft.is_some_and(|draft| !draft.appends.is_empty()),
        }
    }

    fn listed_participant(&self, user: User) -> ListedParticipant {
        let participant = self.participant(user);
        let has_id = participant.who.chosen_id.is_some();
        let rooms = participant.live.iter();
        let ticket = participant.ticket;
        let waiting = ticket.and_then(|ticket| self.line.waiters.get(&ticket));
        let view = ParticipantView {
            who: Arc::clone(&participant.who),
            presence: self.attendance(user),
            streams: participant.presence.streams,
            rooms: participant.live.clone(),
            waiting_since: waiting.map(|waiter| waiter.since),
            is_muted: self.is_muted(user),
            address: Address(participant.address),
        };
        ListedParticipant {
            view,
            standings: rooms.map(|room| self.standing_in(*room, user)).collect(),
            unread: participant.inbox.end - participant.inbox.delivered,
            by_number: (!has_id).then_some(user),
            by_id: has_id.then_some(user),
            by_name: Some(user),
        }
    }

    fn listed_room(&self, room: Room) -> Option<RoomView> {
        let place = self.rooms.get(room.0)?;
        let Kind::Named { name, stick, .. } = &place.kind else {
            return None;
        };
        let held = self.holder_of(room);
        Some(RoomView {
            id: room,
            name: name.clone(),
            members: place.members.len(),
            holder: held.map(|(user, epoch, _)| (Epoch(epoch), user)),
            lease_until: held.map(|(_, _, until)| until),
            stick_line: stick.claims.len(),
            next_in_line: stick.claims.iter().copied().take(LINE_SHOWN).collect(),
        })
    }

    /// The size of a collection; of collections of each participant or room, the largest. `None`
    /// for a collection that the model does not have.
    pub(crate) fn size_of(&self, what: &str) -> Option<u64> {
        let (participants, rooms) = (&self.participants, &self.rooms);
        let size = match what {
            "participants" => participants.len(),
            "per_address" => self.counts().of_one_address,
            "rooms" => rooms.len(),
            "queue" => self.line.waiters.len(),
            "inbox" => participants.most(|participant| participant.inbox.len()),
            "remembered_keys" => participants.most(|participant| participant.keys.by_age.len()),
            "blocks" => participants.most(|participant| participant.blocked.len()),
            "streams" => participants.most(|participant| participant.presence.streams as usize),
            "rooms_each" => participants.most(|participant| participant.live.len()),
            "ended_rooms" => participants.most(|participant| participant.ended.len()),
            "members" => rooms.most(|room| match &room.kind {
                Kind::Ended { remembered_by, .. } => remembered_by.len(),
                Kind::Pair { .. } | Kind::Named { .. } => room.members.len(),
            }),
            "stick_line" => rooms.most(|room| match &room.kind {
                Kind::Named { stick, .. } => stick.claims.len(),
                Kind::Pair { .. } | Kind::Ended { .. } => 0,
            }),
            "history" => rooms.most(|room| room.history.len()),
            "draft" => rooms.most(|room| {
                let drafts = room.members.values().map(|member| member.draft.length);
                drafts.max().unwrap_or_default() as usize
            }),
            "reports" => self.reports.len(),
            "reports_per_address" => {
                let mut from: Vec<_> = self.reports.iter().map(|report| report.from).collect();
                from.sort_unstable();
                let of_one = from.chunk_by(|one, other| one == other);
                of_one.map(<[_]>::len).max().unwrap_or_default()
            }
            "bans" => self.measures.len(),
            _ => return None,
        };
        Some(size as u64)
    }
}
