//! What a gap says of the events that are gone, room by room. // 12.4

use std::sync::Arc;

use sim_model::protocol::{
    EndReason, LostRange, Membership, Moderated, Presence, Room, StickChange, StickLoss, User,
};
use sim_model::server::Gap;

use super::{Event, What};

/// A gap names at most so many rooms. // 1
const MAX_ROOMS: usize = 256;

/// One lost event, with its place in the inbox.
type Lost = (u64, Arc<Event>);

/// The gap from `from` on, for a reader whose inbox lost these events since it acknowledged.
pub(super) fn of(lost: &[Lost], reader: User, from: u64) -> Gap {
    let mut rooms: Vec<(Room, Vec<&Lost>)> = Vec::new();
    let mut omitted = 0;
    for one in lost {
        let room = one.1.room;
        if !rooms.iter().any(|(known, _)| *known == room) {
            if rooms.len() >= MAX_ROOMS {
                omitted = omitted.max(drop_oldest(&mut rooms));
            }
            rooms.push((room, Vec::new()));
        }
        if let Some((_, events)) = rooms.iter_mut().find(|(known, _)| *known == room) {
            events.push(one);
        }
    }
    let named = rooms.iter().filter(|(_, events)| last(events) >= from);
    Gap {
        from,
        to: lost.last().map_or(0, |one| one.0),
        rooms: named
            .map(|(room, events)| range(*room, events, reader, from))
            .collect(),
        rooms_omitted: omitted >= from,
    }
}

/// The room whose last event went first is no longer named: the place of that event.
fn drop_oldest(rooms: &mut Vec<(Room, Vec<&Lost>)>) -> u64 {
    let ages = rooms.iter().enumerate();
    let Some((index, place)) = ages
        .map(|(index, (_, events))| (index, last(events)))
        .min_by_key(|(_, place)| *place)
    else {
        return 0;
    };
    rooms.remove(index);
    place
}

fn last(events: &[&Lost]) -> u64 {
    events.last().map_or(0, |one| one.0)
}

fn range(room: Room, events: &[&Lost], reader: User, from: u64) -> LostRange {
    let in_gap = || events.iter().rev().filter(|one| one.0 >= from);
    let newest = |room_seq: Option<&&Lost>| room_seq.map_or(0, |one| one.1.room_seq);
    let messages = events
        .iter()
        .filter(|one| matches!(one.1.what, What::Message { .. }));
    LostRange {
        room,
        from: newest(events.first()),
        to: newest(events.last()),
        // No more messages than places.
        messages: (messages.count() as u64).min(last(events) + 1 - from),
        you: in_gap().find_map(|one| membership(&one.1.what, reader)),
        members_changed: in_gap().any(|one| changes_others(&one.1.what, reader)),
        stick: in_gap().find_map(|one| stick(&one.1.what, Some(reader))),
        stick_changed: in_gap().any(|one| {
            stick(&one.1.what, None).is_some() && stick(&one.1.what, Some(reader)).is_none()
        }),
        ended: in_gap().find_map(|one| end(&one.1.what)),
    }
}

/// The reader's own coming or going.
fn membership(what: &What, reader: User) -> Option<Membership> {
    match what {
        What::Found { .. } => Some(Membership::Matched),
        What::Member { user, change } if *user == reader => match change {
            Presence::Joined => Some(Membership::Joined),
            Presence::Left => Some(Membership::Left),
            Presence::Away | Presence::Back => None,
        },
        What::Moderation {
            user: Some(user),
            act: Moderated::Kicked,
            ..
        } if *user == reader => Some(Membership::Kicked),
        What::Member { .. }
        | What::Moderation { .. }
        | What::Message { .. }
        | What::Ended { .. }
        | What::PartnerAway
        | What::PartnerBack
        | What::Stick { .. } => None,
    }
}

/// Whether another member came, went, went away or came back.
fn changes_others(what: &What, reader: User) -> bool {
    match what {
        What::Member { user, .. }
        | What::Moderation {
            user: Some(user),
            act: Moderated::Kicked,
            ..
        } => *user != reader,
        What::PartnerAway | What::PartnerBack => true,
        What::Found { .. }
        | What::Moderation { .. }
        | What::Message { .. }
        | What::Ended { .. }
        | What::Stick { .. } => false,
    }
}

/// How the stick changed hands; with an owner, that owner's stick alone.
fn stick(what: &What, owner: Option<User>) -> Option<StickLoss> {
    let What::Stick { user, change } = what else {
        return None;
    };
    if owner.is_some_and(|owner| owner != *user) {
        return None;
    }
    match *change {
        StickChange::Claimed { .. } => None,
        StickChange::Granted { epoch, .. } => Some(StickLoss::Granted(epoch)),
        StickChange::Released { epoch } => Some(StickLoss::Released(epoch)),
        StickChange::Expired { epoch } => Some(StickLoss::Expired(epoch)),
    }
}

fn end(what: &What) -> Option<EndReason> {
    match what {
        What::Ended { reason } => Some(*reason),
        What::Moderation {
            act: Moderated::Closed,
            ..
        } => Some(EndReason::Closed),
        What::Moderation { .. }
        | What::Found { .. }
        | What::Member { .. }
        | What::Message { .. }
        | What::PartnerAway
        | What::PartnerBack
        | What::Stick { .. } => None,
    }
}
