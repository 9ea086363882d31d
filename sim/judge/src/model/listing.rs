//! The lists that operators read, and the look-up of participants by their texts. // 5.4, 16.6

use chat_types::config::StickRule;
use sim_model::listing::{
    Listed, ListedParticipant, ListedRoom, NEXT_LISTED, RoomStanding, Totals,
};
use sim_model::protocol::{Room, User};

use super::Model;
use super::names::fold;
use super::room::Kind;
use super::stick::Stick;

impl Model {
    /// All lists. // 16.6
    pub fn listed(&self) -> Vec<Listed> {
        let numbers = self.participants.numbers().into_iter();
        let mut participants: Vec<User> = numbers.map(User).collect();
        participants.sort_by_cached_key(|user| fold(&self.participant(*user).shown.name));
        let participants = participants.into_iter();
        let participants =
            participants.map(|user| Listed::Participant(Box::new(self.listed_participant(user))));
        let rooms = self.room_names.values();
        let rooms = rooms.filter_map(|room| Some(Listed::Room(Box::new(self.listed_room(*room)?))));
        let reports = self.reports.iter().cloned().map(Listed::Report);
        let counts = Listed::Totals(self.counts());
        std::iter::once(counts)
            .chain(participants)
            .chain(rooms)
            .chain(self.measures.listed())
            .chain(reports)
            .collect()
    }

    fn counts(&self) -> Totals {
        let of_address = self.by_address.values().copied();
        Totals {
            participants: self.participants.len(),
            of_one_address: of_address.max().unwrap_or_default() as usize,
            rooms: self.rooms.len(),
            waiting: self.line.len(),
            first_waits_since: self.line.first_since(),
            recent_wait: self.estimated_wait(),
        }
    }

    /// The standing of a member in its live room. // 7.1, 7.7
    fn standing_in(&self, room: Room, user: User) -> RoomStanding {
        let place = self.place(room);
        let draft = place.members.get(&user).map(|member| &member.draft);
        let stick = self.stick(room);
        RoomStanding {
            needs_stick: stick.is_some() && self.config.stick == StickRule::Required,
            place: stick.and_then(|stick| stick.place(user)),
            epoch: stick.map_or(0, Stick::epoch),
            has_draft: draft.is_some_and(|draft| !draft.is_empty()),
        }
    }

    fn listed_participant(&self, user: User) -> ListedParticipant {
        let participant = self.participant(user);
        let shown = participant.shown.as_ref().clone();
        let has_id = shown.chosen_id.is_some();
        ListedParticipant {
            user,
            attendance: self.attendance(user),
            streams: participant.presence.streams,
            rooms: participant.live.clone(),
            waits_since: participant
                .ticket
                .and_then(|ticket| self.line.since(ticket)),
            is_muted: self.is_muted(user),
            address: participant.address,
            standings: {
                let rooms = participant.live.iter();
                rooms.map(|room| self.standing_in(*room, user)).collect()
            },
            unread: participant.inbox.end() - participant.inbox.delivered(),
            by_number: (!has_id).then_some(user),
            by_id: has_id.then_some(user),
            by_name: Some(user),
            shown,
        }
    }

    fn listed_room(&self, room: Room) -> Option<ListedRoom> {
        let place = self.rooms.get(room.0)?;
        let Kind::Named { name, stick, .. } = &place.kind else {
            return None;
        };
        Some(ListedRoom {
            room,
            name: name.clone(),
            members: place.members.len(),
            held: self
                .holder_of(room)
                .map(|(user, epoch, until)| (epoch, user, until)),
            claims: stick.claims(),
            next: stick.first_claims(NEXT_LISTED),
        })
    }
}
