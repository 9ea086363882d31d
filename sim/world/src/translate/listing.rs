//! The lists that operators read, in the judges' words.

use std::sync::Arc;

use chat_core::{Hub, Measure, MeasureTarget, Muted, ParticipantView, RoomId, RoomView, UserId};
use sim_model::listing::{
    self, Listed, ListedParticipant, ListedRoom, NEXT_LISTED, Report, Target,
};
use sim_model::protocol::{Room, User};

use super::answer::attendance;
use super::shown_for_good;

const fn user(id: UserId) -> User {
    User(id.0)
}

const fn room(id: RoomId) -> Room {
    Room(id.0)
}

/// All lists of operators.
#[must_use]
pub fn lists(hub: &Hub) -> Vec<Listed> {
    let participants = hub.participants(None, usize::MAX);
    let participants =
        participants.map(|view| Listed::Participant(Box::new(participant(hub, view))));
    let rooms = hub.named_rooms(None, usize::MAX);
    let rooms = rooms.map(|view| Listed::Room(Box::new(named_room(&view))));
    let measures = hub.kept(None).map(|(target, kept)| {
        let target = match target {
            MeasureTarget::Name { shown, .. } => Target::Name(shown.into()),
            MeasureTarget::Handle { owner, .. } => {
                Target::Handle(user(owner.id), shown_for_good(owner))
            }
            MeasureTarget::Address(address) => Target::Address(address.0),
        };
        let measure = listing::Measure {
            is_ban: kept.measure == Measure::Ban,
            at: kept.at,
            reason: Arc::clone(&kept.reason),
        };
        Listed::Measure(target, measure)
    });
    let reports = hub.reports().map(|report| {
        Listed::Report(Report {
            at: report.at,
            by: user(report.by),
            about: user(report.about),
            from: report.from.0,
            reason: Arc::clone(&report.reason),
        })
    });
    participants
        .chain(rooms)
        .chain(measures)
        .chain(reports)
        .collect()
}

fn participant(hub: &Hub, view: ParticipantView) -> ListedParticipant {
    let who = &view.who;
    let id = who.chosen_id.as_deref();
    ListedParticipant {
        user: user(who.id),
        shown: shown_for_good(who),
        attendance: attendance(view.presence),
        streams: view.streams,
        rooms: view.rooms.into_iter().map(room).collect(),
        waits_since: view.waiting_since,
        is_muted: view.muted == Muted::Yes,
        address: view.address.0,
        by_number: hub.user_by_public_id(&who.id.to_string()).map(user),
        by_id: id.and_then(|id| hub.user_by_public_id(id)).map(user),
        by_name: hub.user_by_name(&who.name).map(user),
    }
}

fn named_room(view: &RoomView) -> ListedRoom {
    let holder = view.holder.zip(view.lease_until);
    ListedRoom {
        room: room(view.id),
        name: Arc::clone(&view.name),
        members: view.members,
        held: holder.map(|((epoch, holder), until)| (epoch.0, user(holder), until)),
        claims: view.stick_line,
        next: view
            .next_in_line
            .iter()
            .copied()
            .map(user)
            .take(NEXT_LISTED)
            .collect(),
    }
}
