//! Events: from the core's types to clients' words.

use std::sync::Arc;

use chat_core::{Body, EndReason as CoreReason, Event, Gap, UserId, Who};

use chat_types::Time;

use super::shown;
use sim_model::protocol::{
    EndReason, InboxEvent, LostRange, Membership, Moderated, Presence, StickChange, StickLoss,
};

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
            reason: reason(*why),
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

pub(super) fn reason(reason: CoreReason) -> EndReason {
    match reason {
        CoreReason::Left => EndReason::Left,
        CoreReason::Timeout => EndReason::Timeout,
        CoreReason::Blocked => EndReason::Blocked,
        CoreReason::TurnLimit => EndReason::TurnLimit,
        CoreReason::Closed => EndReason::Closed,
    }
}

/// A gap as the reader sees it; `rooms` are its rooms.
#[must_use]
pub fn gap<'a>(gap: &Gap, rooms: &'a [LostRange]) -> InboxEvent<'a> {
    let (from, to) = (gap.from.0, gap.to.0);
    InboxEvent::Gap {
        from,
        to,
        lost: to + 1 - from,
        rooms,
    }
}

/// A gap's rooms as the reader sees them.
#[must_use]
pub fn lost_ranges(gap: &Gap) -> Vec<LostRange> {
    gap.rooms.iter().map(lost_range).collect()
}

fn lost_range(lost: &chat_core::LostRange) -> LostRange {
    let you = |change| match change {
        chat_core::Membership::Matched => Membership::Matched,
        chat_core::Membership::Joined => Membership::Joined,
        chat_core::Membership::Left => Membership::Left,
        chat_core::Membership::Kicked => Membership::Kicked,
    };
    let stick = |loss| match loss {
        chat_core::StickLoss::Granted(epoch) => StickLoss::Granted(epoch.0),
        chat_core::StickLoss::Released(epoch) => StickLoss::Released(epoch.0),
        chat_core::StickLoss::Expired(epoch) => StickLoss::Expired(epoch.0),
    };
    LostRange {
        room: lost.room,
        from: lost.from.0,
        to: lost.to.0,
        messages: lost.messages,
        you: lost.you.map(you),
        members_changed: lost.members_changed,
        stick: lost.stick.map(stick),
        stick_changed: lost.stick_changed,
        ended: lost.ended.map(reason),
    }
}
