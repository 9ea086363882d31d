//! The content of a gap: what is lost, room by room. // 12.4

use std::ops::RangeInclusive;
use std::sync::Arc;

use chat_types::{Epoch, RoomSeq, Seq};
use sim_model::protocol::{
    EndReason, LostRange, Membership, Moderated, Presence, Room, StickChange, StickLoss, User,
};
use sim_model::server::Gap;

use super::{Event, EventKind};

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
        for (_, events) in self.rooms.iter_mut().filter(|one| one.0 == room) {
            events.push((seq, Arc::clone(&event)));
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
    let newest = |one: Option<&Lost>| one.map_or(0, |one| one.1.room_seq);
    let mut range = LostRange {
        room,
        from: RoomSeq(newest(events.first())),
        to: RoomSeq(newest(events.last())),
        ..LostRange::default()
    };
    let is_message = |what: &EventKind| what.message().map(drop);
    let mut is_named = gap.contains(&last(events));
    if told(events, gap, is_message).is_some() {
        range.messages = events
            .iter()
            .filter_map(|one| is_message(&one.1.what))
            .count() as u64;
        is_named = true;
    }
    range.you = told(events, gap, |what| membership(what, reader));
    range.members_changed = told(events, gap, |what| {
        changes_others(what, reader).then_some(())
    })
    .is_some();
    range.stick = told(events, gap, |what| stick(what, Some(reader)));
    range.stick_changed = told(events, gap, |what| {
        stick(what, None).filter(|_| stick(what, Some(reader)).is_none())
    })
    .is_some();
    range.ended = told(events, gap, end);
    is_named |= range.you.is_some() || range.stick.is_some() || range.ended.is_some();
    is_named |= range.members_changed || range.stick_changed;
    is_named.then_some(range)
}

/// The value from the last event of a kind, if that event is in the gap.
fn told<T>(
    events: &[Lost],
    gap: &RangeInclusive<u64>,
    kind: impl Fn(&EventKind) -> Option<T>,
) -> Option<T> {
    let mut of_kind = events
        .iter()
        .rev()
        .filter_map(|one| Some((one.0, kind(&one.1.what)?)));
    let (seq, said) = of_kind.next()?;
    gap.contains(&seq).then_some(said)
}

/// The reader's own change of membership or presence.
fn membership(what: &EventKind, reader: User) -> Option<Membership> {
    match what {
        EventKind::Found { .. } => Some(Membership::Matched),
        EventKind::Member { user, change } if *user == reader => match change {
            Presence::Joined => Some(Membership::Joined),
            Presence::Left => Some(Membership::Left),
            Presence::Away | Presence::Back => None,
        },
        EventKind::Moderation {
            user: Some(user),
            act: Moderated::Kicked,
            ..
        } if *user == reader => Some(Membership::Kicked),
        EventKind::Member { .. }
        | EventKind::Moderation { .. }
        | EventKind::Message { .. }
        | EventKind::Ended { .. }
        | EventKind::PartnerAway
        | EventKind::PartnerBack
        | EventKind::Stick { .. } => None,
    }
}

/// Whether another member's membership or presence changed.
fn changes_others(what: &EventKind, reader: User) -> bool {
    match what {
        EventKind::Member { user, .. }
        | EventKind::Moderation {
            user: Some(user),
            act: Moderated::Kicked,
            ..
        } => *user != reader,
        EventKind::PartnerAway | EventKind::PartnerBack => true,
        EventKind::Found { .. }
        | EventKind::Moderation { .. }
        | EventKind::Message { .. }
        | EventKind::Ended { .. }
        | EventKind::Stick { .. } => false,
    }
}

/// How the stick changed hands; with an owner, only that owner's stick.
fn stick(what: &EventKind, owner: Option<User>) -> Option<StickLoss> {
    let EventKind::Stick { user, change } = what else {
        return None;
    };
    if owner.is_some_and(|owner| owner != *user) {
        return None;
    }
    match *change {
        StickChange::Claimed { .. } => None,
        StickChange::Granted { epoch, .. } => Some(StickLoss::Granted(Epoch(epoch))),
        StickChange::Released { epoch } => Some(StickLoss::Released(Epoch(epoch))),
        StickChange::Expired { epoch } => Some(StickLoss::Expired(Epoch(epoch))),
    }
}

fn end(what: &EventKind) -> Option<EndReason> {
    match what {
        EventKind::Ended { reason } => Some(*reason),
        EventKind::Moderation {
            act: Moderated::Closed,
            ..
        } => Some(EndReason::Closed),
        EventKind::Moderation { .. }
        | EventKind::Found { .. }
        | EventKind::Member { .. }
        | EventKind::Message { .. }
        | EventKind::PartnerAway
        | EventKind::PartnerBack
        | EventKind::Stick { .. } => None,
    }
}
