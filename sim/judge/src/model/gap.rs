//! The content of a gap: what is lost, room by room. // 12.4

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule names the events that it is about; no other concerns it"
)]

use std::ops::RangeInclusive;
use std::sync::Arc;

use chat_types::{RoomSeq, Seq};
use sim_model::protocol::{EndReason, LostRange, Membership, Room, StickLoss, User};
use sim_model::server::Gap;

use super::{Body, Event};

/// The most rooms that a gap names. // 1
const MAX_ROOMS: usize = 256;

/// One lost event, with its position in the inbox.
type Lost = (u64, Arc<Event>);

/// The losses of an inbox, by room: L. // 12.6
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// In the order in which the first event of each was lost.
    rooms: Vec<(Room, Vec<Lost>)>,
    /// The last position of a room that is no longer in L, or of a lost life.
    omitted: u64,
}

impl Losses {
    pub(super) fn add(&mut self, seq: u64, event: Arc<Event>) {
        let room = event.room;
        if !self.rooms.iter().any(|(known, _)| *known == room) {
            if self.rooms.len() >= MAX_ROOMS {
                self.drop_oldest();
            }
            self.rooms.push((room, Vec::new()));
        }
        if let Some((_, events)) = self.rooms.iter_mut().find(|one| one.0 == room) {
            events.push((seq, event));
        }
    }

    /// A lost life had events up to this position. // 2.7
    pub(super) const fn omit(&mut self, end: u64) {
        self.omitted = end;
    }

    /// Removes the room whose last event has the lowest position.
    fn drop_oldest(&mut self) {
        let oldest = self.rooms.iter().map(|(_, events)| last(events)).min();
        self.rooms
            .retain(|(_, events)| Some(last(events)) != oldest);
        self.omitted = self.omitted.max(oldest.unwrap_or(0));
    }

    /// Removes the rooms whose last event is acknowledged. // 12.3
    pub(super) fn acknowledge(&mut self, known: u64) {
        self.rooms.retain(|(_, events)| last(events) > known);
        if self.omitted <= known {
            self.omitted = 0;
        }
    }

    /// The gap from `from` to `to` of this reader.
    pub(super) fn gap(&self, reader: User, from: u64, to: u64) -> Gap {
        let ranges = self.rooms.iter();
        Gap {
            from: Seq(from),
            to: Seq(to),
            rooms: ranges
                .filter_map(|(room, events)| range(*room, events, reader, &(from..=to)))
                .collect(),
            rooms_omitted: self.omitted >= from,
        }
    }
}

fn last(events: &[Lost]) -> u64 {
    events.last().map_or(0, |one| one.0)
}

/// The part of the gap about a room that lost these events: the last event of each kind, if it is
/// in the gap. `None` if none is.
fn range(
    room: Room,
    events: &[Lost],
    reader: User,
    gap: &RangeInclusive<u64>,
) -> Option<LostRange> {
    let newest = |one: Option<&Lost>| one.map_or(0, |one| one.1.room_seq.0);
    let bare = LostRange {
        room,
        from: RoomSeq(newest(events.first())),
        to: RoomSeq(newest(events.last())),
        ..LostRange::default()
    };
    let is_message = |what: &Body| what.message().map(drop);
    let messages = events.iter().filter_map(|one| is_message(&one.1.body));
    let others_change = |what: &Body| changes_others(what, reader).then_some(());
    let others_stick =
        |what: &Body| stick(what, None).filter(|_| stick(what, Some(reader)).is_none());
    let range = LostRange {
        messages: told(events, gap, is_message).map_or(0, |()| messages.count() as u64),
        you: told(events, gap, |what| membership(what, reader)),
        members_changed: told(events, gap, others_change).is_some(),
        stick: told(events, gap, |what| stick(what, Some(reader))),
        stick_changed: told(events, gap, others_stick).is_some(),
        ended: told(events, gap, end),
        ..bare
    };
    (gap.contains(&last(events)) || range != bare).then_some(range)
}

/// The value from the last event of a kind, if that event is in the gap.
fn told<T>(
    events: &[Lost],
    gap: &RangeInclusive<u64>,
    kind: impl Fn(&Body) -> Option<T>,
) -> Option<T> {
    let mut of_kind = events
        .iter()
        .rev()
        .filter_map(|one| Some((one.0, kind(&one.1.body)?)));
    let (seq, said) = of_kind.next()?;
    gap.contains(&seq).then_some(said)
}

/// The reader's own change of membership or presence.
fn membership(what: &Body, reader: User) -> Option<Membership> {
    let (who, change) = match what {
        Body::Found(_) => return Some(Membership::Matched),
        Body::Joined(who) => (who, Membership::Joined),
        Body::Left(who) => (who, Membership::Left),
        Body::Kicked { user, .. } => (user, Membership::Kicked),
        _ => return None,
    };
    (who.id == reader).then_some(change)
}

/// Whether another member's membership or presence changed.
fn changes_others(what: &Body, reader: User) -> bool {
    match what {
        Body::Joined(who)
        | Body::Left(who)
        | Body::Away(who)
        | Body::Back(who)
        | Body::Kicked { user: who, .. } => who.id != reader,
        Body::PartnerAway(_) | Body::PartnerReconnected(_) => true,
        _ => false,
    }
}

/// How the stick changed hands; with an owner, only that owner's stick.
fn stick(what: &Body, owner: Option<User>) -> Option<StickLoss> {
    let (user, change) = match what {
        Body::StickGranted { user, epoch, .. } => (user, StickLoss::Granted(*epoch)),
        Body::StickReleased { user, epoch } => (user, StickLoss::Released(*epoch)),
        Body::StickExpired { user, epoch } => (user, StickLoss::Expired(*epoch)),
        _ => return None,
    };
    owner.is_none_or(|owner| owner == user.id).then_some(change)
}

const fn end(what: &Body) -> Option<EndReason> {
    match what {
        Body::PartnerDisconnected(reason) => Some(*reason),
        Body::Closed { .. } => Some(EndReason::Closed),
        _ => None,
    }
}
