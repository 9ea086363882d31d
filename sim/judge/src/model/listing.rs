//! The lists that operators read, the look-up of participants by their texts, and the rooms from
//! which an archive goes on. // 5.4, 8.5, 16.6

use std::sync::Arc;

use chat_types::config::StickRule;
use sim_model::listing::{
    Kept, Listed, ListedParticipant, ListedRoom, NEXT_LISTED, RoomStanding, Totals,
};
use sim_model::protocol::{Room, User};

use super::names::fold;
use super::room::Kind;
use super::stick::Stick;
use super::{Body, Model};

impl Model {
    /// All lists; if they are `archived`, with the rooms as an archive takes them. // 16.6
    pub fn listed(&self, archived: bool) -> Vec<Listed> {
        let numbers = self.participants.numbers().into_iter();
        let mut participants: Vec<User> = numbers.map(User).collect();
        participants.sort_by_cached_key(|user| fold(&self.participant(*user).who.name));
        let participants = participants.into_iter();
        let participants =
            participants.map(|user| Listed::Participant(Box::new(self.listed_participant(user))));
        let rooms = self.room_names.values();
        let rooms = rooms.filter_map(|room| Some(Listed::Room(Box::new(self.listed_room(*room)?))));
        let reports = self.reports.iter().cloned().map(Listed::Report);
        let counts = Listed::Totals(self.counts());
        let kept = archived.then(|| self.rooms.numbers());
        let kept = kept.into_iter().flatten();
        let kept = kept
            .flat_map(|room| self.kept(Room(room)))
            .map(Listed::Kept);
        std::iter::once(counts)
            .chain(participants)
            .chain(rooms)
            .chain(self.measures.listed())
            .chain(reports)
            .chain(kept)
            .collect()
    }

    /// A live room with its members and its kept messages. // 8.5
    fn kept(&self, room: Room) -> Vec<Kept> {
        let place = self.place(room);
        let name = match &place.kind {
            Kind::Ended { .. } => return Vec::new(),
            Kind::Pair { .. } => None,
            Kind::Named { name, .. } => Some(Arc::clone(name)),
        };
        let last = place.last_seq;
        let mut kept = vec![Kept::Room { room, last, name }];
        kept.extend(place.members().map(|(user, since)| Kept::Member {
            room,
            who: self.who(user),
            since,
        }));
        kept.extend(place.history.iter().filter_map(|event| {
            let Body::Message {
                sender,
                text,
                epoch,
            } = &event.body
            else {
                return None;
            };
            Some(Kept::Message {
                room,
                room_seq: event.room_seq.0,
                at: event.at,
                sender: Arc::clone(sender),
                text: Arc::clone(text),
                epoch: epoch.map(|epoch| epoch.0),
            })
        }));
        kept
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
        let has_id = participant.who.chosen_id.is_some();
        ListedParticipant {
            who: Arc::clone(&participant.who),
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
