//! The lists that operators read, in the judges' words.

use chat_core::{Ban, Hub, MeasurePlace, MeasureTarget, ParticipantView, RoomView};
use sim_model::listing::{Listed, ListedParticipant};

/// The items of a page of a list with about `all` items: so few that most lists have several pages.
fn page_of(all: usize) -> usize {
    3.max(all / 8)
}

/// The pages of a list, each behind the last item of the one before.
fn pages<T>(size: usize, page: impl Fn(Option<&T>) -> Vec<T>) -> Vec<T> {
    let mut items = Vec::new();
    loop {
        let next = page(items.last());
        let is_last = next.len() < size;
        items.extend(next);
        // A list that does not go on would never end.
        if is_last || items.len() > LONGEST {
            return items;
        }
    }
}

/// No list of a run is longer.
const LONGEST: usize = 100_000;

/// All lists of operators; if it is `archived`, also the rooms as an archive takes them.
#[must_use]
pub fn lists(hub: &Hub, archived: bool) -> Vec<Listed> {
    let size = page_of(hub.counts().participants);
    let rooms_kept = archived.then(|| hub.kept_rooms().flat_map(Listed::of_kept));
    let rooms_kept = rooms_kept.into_iter().flatten();
    let participants = pages(size, |after: Option<&ParticipantView>| {
        let after = after.map(|view| &*view.who.name);
        hub.participants(after, size).collect()
    });
    let participants = participants
        .into_iter()
        .map(|view| Listed::Participant(Box::new(participant(hub, view))));
    let rooms = pages(size, |after: Option<&RoomView>| {
        hub.named_rooms(after.map(|view| &*view.name), size)
            .collect()
    });
    let rooms = rooms.into_iter().map(|view| Listed::Room(Box::new(view)));
    let measures = pages(
        size,
        |after: Option<&(MeasurePlace, MeasureTarget, &Ban)>| {
            let after = after.map(|(place, ..)| place);
            hub.kept(after).take(size).collect()
        },
    );
    let measures = measures.into_iter();
    let measures = measures.map(|(_, target, ban)| Listed::Measure(target, ban.clone()));
    let reports = hub.reports().cloned().map(Listed::Report);
    std::iter::once(Listed::Totals(hub.counts()))
        .chain(participants)
        .chain(rooms)
        .chain(measures)
        .chain(reports)
        .chain(rooms_kept)
        .collect()
}

fn participant(hub: &Hub, view: ParticipantView) -> ListedParticipant {
    let who = &view.who;
    let id = who.chosen_id.as_deref();
    let (_, delivered) = hub.inbox_cursors(who.id).unwrap_or_default();
    let rooms = view.rooms.iter();
    ListedParticipant {
        standings: rooms
            .filter_map(|room| hub.floor_of(who.id, *room))
            .collect(),
        unread: hub.unread(who.id, delivered).unwrap_or_default(),
        by_number: hub.user_by_public_id(&who.id.to_string()),
        by_id: id.and_then(|id| hub.user_by_public_id(id)),
        by_name: hub.user_by_name(&who.name),
        view,
    }
}
