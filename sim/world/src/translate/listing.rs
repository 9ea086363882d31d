//! The lists that operators read, in the judges' words.

use std::sync::Arc;

use chat_core::{
    Ban, Body, Event, Hub, KeptRoom, Measure, MeasureTarget, Muted, ParticipantView, RoomId,
    RoomView, UserId,
};
use sim_model::listing::{
    self, Kept, Listed, ListedParticipant, ListedRoom, RoomStanding, Target, Totals,
};

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

fn counts(hub: &Hub) -> Listed {
    let counts = hub.counts();
    Listed::Totals(Totals {
        participants: counts.participants,
        of_one_address: counts.of_one_address,
        rooms: counts.rooms,
        waiting: counts.waiting,
        first_waits_since: counts.first_waits_since,
        recent_wait: counts.recent_wait,
    })
}

/// The participant's standing in a room.
fn standing(hub: &Hub, user: UserId, room: RoomId) -> Option<RoomStanding> {
    let floor = hub.floor_of(user, room)?;
    Some(RoomStanding {
        needs_stick: floor.needs_stick,
        place: floor.place.map(|place| place as usize),
        epoch: floor.epoch.0,
        has_draft: floor.has_draft,
    })
}

/// A room as an archive takes it, with its members and messages behind it.
fn kept(kept: KeptRoom) -> impl Iterator<Item = Listed> {
    let of = kept.id;
    let head = Kept::Room {
        room: of,
        last: kept.last.0,
        name: kept.name,
    };
    let members = kept
        .members
        .into_iter()
        .map(move |(who, since)| Kept::Member {
            room: of,
            who,
            since,
        });
    let messages = kept
        .messages
        .into_iter()
        .filter_map(|event| message(&event));
    let parts = std::iter::once(head).chain(members).chain(messages);
    parts.map(Listed::Kept)
}

fn message(event: &Event) -> Option<Kept> {
    let Body::Message {
        sender,
        text,
        epoch,
    } = &event.body
    else {
        return None;
    };
    Some(Kept::Message {
        room: event.room,
        room_seq: event.room_seq.0,
        at: event.at,
        sender: Arc::clone(sender),
        text: Arc::clone(text),
        epoch: epoch.map(|epoch| epoch.0),
    })
}

/// All lists of operators; if it is `archived`, also the rooms as an archive takes them.
#[must_use]
pub fn lists(hub: &Hub, archived: bool) -> Vec<Listed> {
    let size = page_of(hub.counts().participants);
    let rooms_kept = archived.then(|| hub.kept_rooms().flat_map(kept));
    let rooms_kept = rooms_kept.into_iter().flatten();
    let participants = pages(size, |after: Option<&ParticipantView>| {
        let after = after.map(|view| &*view.who.name);
        hub.participants(after, size).collect()
    });
    let participants = participants
        .into_iter()
        .map(|view| Listed::Participant(Box::new(participant(hub, &view))));
    let rooms = pages(size, |after: Option<&RoomView>| {
        hub.named_rooms(after.map(|view| &*view.name), size)
            .collect()
    });
    let rooms = rooms
        .into_iter()
        .map(|view| Listed::Room(Box::new(named_room(&view))));
    let measures = pages(size, |after: Option<&(MeasureTarget<'_>, &Ban)>| {
        let after = after.map(|(target, _)| target.place());
        hub.kept(after.as_ref()).take(size).collect()
    });
    let measures = measures.into_iter().map(|(target, kept)| {
        let target = match target {
            MeasureTarget::Name { shown, .. } => Target::Name(shown.into()),
            MeasureTarget::Handle { owner, .. } => Target::Handle(Arc::clone(owner)),
            MeasureTarget::Address(address) => Target::Address(address.0),
        };
        let measure = listing::Measure {
            is_ban: kept.measure == Measure::Ban,
            at: kept.at,
            reason: Arc::clone(&kept.reason),
        };
        Listed::Measure(target, measure)
    });
    let reports = hub.reports().cloned().map(Listed::Report);
    std::iter::once(counts(hub))
        .chain(participants)
        .chain(rooms)
        .chain(measures)
        .chain(reports)
        .chain(rooms_kept)
        .collect()
}

fn participant(hub: &Hub, view: &ParticipantView) -> ListedParticipant {
    let who = &view.who;
    let id = who.chosen_id.as_deref();
    let (_, delivered) = hub.inbox_cursors(who.id).unwrap_or_default();
    let standings = view
        .rooms
        .iter()
        .filter_map(|room| standing(hub, who.id, *room));
    ListedParticipant {
        who: Arc::clone(who),
        attendance: view.presence,
        streams: view.streams,
        rooms: view.rooms.clone(),
        waits_since: view.waiting_since,
        is_muted: view.muted == Muted::Yes,
        address: view.address.0,
        standings: standings.collect(),
        unread: hub.unread(who.id, delivered).unwrap_or_default(),
        by_number: hub.user_by_public_id(&who.id.to_string()),
        by_id: id.and_then(|id| hub.user_by_public_id(id)),
        by_name: hub.user_by_name(&who.name),
    }
}

fn named_room(view: &RoomView) -> ListedRoom {
    let holder = view.holder.zip(view.lease_until);
    ListedRoom {
        room: view.id,
        name: Arc::clone(&view.name),
        members: view.members,
        held: holder.map(|((epoch, holder), until)| (epoch.0, holder, until)),
        claims: view.stick_line,
        next: view.next_in_line.clone(),
    }
}
