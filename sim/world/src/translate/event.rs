//! Events: from the core's types to clients' words.

use std::sync::Arc;

use chat_core::{Body, Event, Gap, UserId, Who};

use chat_types::Time;

use super::shown;
use sim_model::protocol::{InboxEvent, Moderated, Presence, StickChange};

/// An event as the inbox's reader sees it.
#[must_use]
pub fn event(event: &Event, reader: UserId) -> InboxEvent<'_> {
    let (room, room_seq) = (event.room, event.room_seq.0);
    match &event.body {
        Body::Found([a, b]) => {
            let partner = if a.id == reader { b } else { a };
            InboxEvent::Found {
                room,
                room_seq,
                partner: partner.id,
                shown: shown(partner),
            }
        }
        Body::Message {
            sender,
            text,
            epoch,
        } => InboxEvent::Message {
            room,
            room_seq,
            sender: sender.id,
            shown: shown(sender),
            text,
            epoch: epoch.map(|epoch| epoch.0),
        },
        Body::PartnerDisconnected(why) => InboxEvent::Ended {
            room,
            room_seq,
            reason: *why,
        },
        Body::PartnerAway(who) => InboxEvent::PartnerAway {
            room,
            room_seq,
            partner: who.id,
            shown: shown(who),
        },
        Body::PartnerReconnected(who) => InboxEvent::PartnerBack {
            room,
            room_seq,
            partner: who.id,
            shown: shown(who),
        },
        Body::Joined(who) => member(event, who, Presence::Joined),
        Body::Left(who) => member(event, who, Presence::Left),
        Body::Away(who) => member(event, who, Presence::Away),
        Body::Back(who) => member(event, who, Presence::Back),
        Body::StickClaimed { user, place } => {
            stick(event, user, StickChange::Claimed { place: *place })
        }
        Body::StickGranted { user, epoch, lease } => stick(
            event,
            user,
            StickChange::Granted {
                epoch: epoch.0,
                lease: *lease,
            },
        ),
        Body::StickReleased { user, epoch } => {
            stick(event, user, StickChange::Released { epoch: epoch.0 })
        }
        Body::StickExpired { user, epoch } => {
            stick(event, user, StickChange::Expired { epoch: epoch.0 })
        }
        Body::Muted { user, reason } => moderation(event, Some(user), (Moderated::Muted, reason)),
        Body::Kicked { user, reason } => moderation(event, Some(user), (Moderated::Kicked, reason)),
        Body::Closed { reason } => moderation(event, None, (Moderated::Closed, reason)),
    }
}

/// The events of all rooms as an archive takes them, with their instants.
#[must_use]
pub fn posted(events: &[Arc<Event>]) -> Vec<(Time, InboxEvent<'_>)> {
    let nobody = UserId(0);
    let events = events.iter();
    events
        .map(|posted| (posted.at, event(posted, nobody)))
        .collect()
}

fn member<'a>(event: &Event, who: &'a Who, change: Presence) -> InboxEvent<'a> {
    InboxEvent::Member {
        room: event.room,
        room_seq: event.room_seq.0,
        user: who.id,
        shown: shown(who),
        change,
    }
}

fn stick<'a>(event: &Event, who: &'a Who, change: StickChange) -> InboxEvent<'a> {
    InboxEvent::Stick {
        room: event.room,
        room_seq: event.room_seq.0,
        user: who.id,
        shown: shown(who),
        change,
    }
}

fn moderation<'a>(
    event: &Event,
    who: Option<&'a std::sync::Arc<Who>>,
    (act, reason): (Moderated, &'a str),
) -> InboxEvent<'a> {
    InboxEvent::Moderation {
        room: event.room,
        room_seq: event.room_seq.0,
        user: who.map(|who| who.id),
        shown: who.map(|who| shown(who)).unwrap_or_default(),
        act,
        reason,
    }
}

/// A gap as the reader sees it.
#[must_use]
pub fn gap(gap: &Gap) -> InboxEvent<'_> {
    let (from, to) = (gap.from.0, gap.to.0);
    InboxEvent::Gap {
        from,
        to,
        lost: to + 1 - from,
        rooms: &gap.rooms,
    }
}
