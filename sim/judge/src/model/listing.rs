//! The lists that operators read, and the look-up of participants by their texts. // 5.4, 16.6

use sim_model::listing::{Listed, ListedParticipant, ListedRoom, NEXT_LISTED};
use sim_model::protocol::{Room, User};

use super::Model;
use super::names::fold;
use super::room::Kind;

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
        participants
            .chain(rooms)
            .chain(self.measures.listed())
            .chain(reports)
            .collect()
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
