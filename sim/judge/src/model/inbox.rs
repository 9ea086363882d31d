//! The inbox: events under `seq`, losses, pages, and the content of a gap: what is lost, room by
//! room. // 12

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule names the events that it is about; no other concerns it"
)]

use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::ops::RangeInclusive;
use std::sync::Arc;

use chat_types::{Gap, Item, Page, RoomSeq, Seq};
use rustc_hash::FxHashMap;
use sim_model::protocol::{EndReason, LostRange, Membership, Room, StickLoss, User};

use super::{Body, Event};

/// The events of one participant. // 12.1
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    /// The `seq` of the last event; 0 at first.
    pub(crate) end: u64,
    /// The position up to which events were delivered, as far as the journal knows.
    pub(crate) delivered: u64,
    /// In the order of their positions.
    kept: VecDeque<(u64, Arc<Event>)>,
    /// The events removed by the limit.
    lost: Losses,
}

/// The limits of a page. // 12.4
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLimits {
    /// The number of events, at most `max_answer`; the caller ensures this.
    pub(crate) events: usize,
    /// The bytes of texts; a first event of any length is allowed.
    pub(crate) bytes: usize,
}

/// Whether a page tells all of its gaps and events, each gap before the events behind it.
pub(crate) fn is_ordered(page: &Page) -> bool {
    let mut ends = vec![Seq(0)];
    ends.extend(page.items().map(|item| match item {
        Item::Gap(gap) => gap.to,
        Item::Event(seq, _) => seq,
    }));
    let is_whole = ends.len() == 1 + page.gaps.len() + page.events.len();
    is_whole && ends.is_sorted_by(|before, end| before < end)
}

/// The number of these events that fit into an answer. // 8.5, 12.4
pub(super) fn fitting<'e>(events: impl Iterator<Item = &'e Arc<Event>>, most: PageLimits) -> usize {
    let (mut count, mut bytes) = (0, 0);
    for event in events.take(most.events) {
        bytes += event.body.message().map_or(0, |(_, text)| text.len());
        if count > 0 && bytes > most.bytes {
            break;
        }
        count += 1;
    }
    count
}

impl Inbox {
    /// The number of kept events.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The event of this `seq`, if it is kept.
    pub(crate) fn event(&self, seq: u64) -> Option<&Arc<Event>> {
        let index = self.kept.binary_search_by_key(&seq, |one| one.0).ok()?;
        self.kept.get(index).map(|(_, event)| event)
    }

    /// The kept events after a position.
    pub(crate) fn behind(&self, after: u64) -> Iter<'_, (u64, Arc<Event>)> {
        let first = self.kept.partition_point(|one| one.0 <= after);
        self.kept.range(first..)
    }

    /// The first event of a room that is not acknowledged, as its place in the room's order: kept, or
    /// lost. 1 if it is unknown of which rooms events are lost. // 8.5
    pub(super) fn first_unread(&self, room: Room) -> Option<u64> {
        let lost = self.lost.rooms.iter().flat_map(|(_, events)| events);
        let all = self.kept.iter().chain(lost);
        let of_room = all.filter(|(_, event)| event.room == room);
        let waiting = of_room.map(|(_, event)| event.room_seq.0);
        let unknown = (self.lost.omitted > 0).then_some(1);
        waiting.chain(unknown).min()
    }

    /// The page after `after`. // 12.4
    pub(crate) fn page(&self, reader: User, after: u64, most: PageLimits) -> Page {
        let (mut page, mut cursor) = (Page::default(), after);
        let behind = self.behind(after);
        let count = fitting(behind.clone().map(|(_, event)| event), most);
        for (seq, event) in behind.clone().take(count) {
            page.gaps.extend(self.gap(reader, cursor, *seq));
            page.events.push((Seq(*seq), Arc::clone(event)));
            cursor = *seq;
        }
        if count < most.events && count == behind.len() {
            page.gaps.extend(self.gap(reader, cursor, self.end + 1));
            cursor = self.end;
        }
        page.cursor = Seq(cursor);
        page.unread = self.end - cursor;
        page
    }

    /// Whether a page can show this gap now: no event in it is kept, and its rooms are
    /// the same.
    pub(crate) fn has_gap(&self, reader: User, gap: &Gap) -> bool {
        let (from, to) = (gap.from.0, gap.to.0);
        let next = self.behind(from.saturating_sub(1)).next();
        next.is_none_or(|one| one.0 > to)
            && (1..=to).contains(&from)
            && self.end >= to
            && self.lost.gap(reader, from, to).rooms == gap.rooms
    }

    /// The gap between two positions, if there is one. // 12.6
    fn gap(&self, reader: User, before: u64, behind: u64) -> Option<Gap> {
        let (from, to) = (before + 1, behind - 1);
        (from <= to).then(|| self.lost.gap(reader, from, to))
    }

    /// Whether a page without a gap is the one after `after`.
    pub(crate) fn is_page(&self, after: u64, most: PageLimits, page: &Page) -> bool {
        let behind = self.behind(after);
        let count = fitting(behind.clone().map(|(_, event)| event), most);
        let is_cut = count == most.events || count < behind.len();
        let cursor = page.cursor.0;
        let mut owed = behind.take(count).zip(after + 1..).zip(&page.events);
        page.gaps.is_empty()
            && page.events.len() == count
            && owed.all(|((owed, place), seen)| {
                (owed.0, seen.0.0) == (place, place) && owed.1 == seen.1
            })
            && cursor == after + count as u64
            && (is_cut || cursor == self.end)
            && (page.unread > 0) == (self.end > cursor)
    }

    /// Goes on behind `end`. The positions up to it are gone. // 2.7
    pub(super) fn pass_to(&mut self, end: u64) {
        self.end = end;
        self.lost.omitted = end;
    }

    /// Appends an event, and removes events beyond the limit. // 12.2
    pub(super) fn append(&mut self, event: Arc<Event>, limit: u32) {
        self.end += 1;
        self.kept.push_back((self.end, event));
        while self.kept.len() > limit as usize {
            let out = self.next_to_go();
            if let Some((seq, event)) = self.kept.remove(out) {
                self.lost.add(seq, event);
            }
        }
    }

    /// The index of the event to remove: the oldest delivered one, else the oldest of the room with
    /// most events. // 12.2
    fn next_to_go(&self) -> usize {
        if self.kept.front().is_some_and(|one| one.0 <= self.delivered) {
            return 0;
        }
        let mut sizes: FxHashMap<Room, u64> = FxHashMap::default();
        for (_, event) in &self.kept {
            *sizes.entry(event.room).or_default() += 1;
        }
        let most = sizes.values().max();
        let is_of_largest = |one: &(u64, Arc<Event>)| sizes.get(&one.1.room) == most;
        self.kept.iter().position(is_of_largest).unwrap_or(0)
    }

    /// The implied *read*. // 12.3
    pub(super) fn read(&mut self, acknowledged: u64, delivered: u64) {
        let known = acknowledged.min(self.end);
        while self.kept.pop_front_if(|one| one.0 <= known).is_some() {}
        self.lost.acknowledge(known);
        self.delivered = self.delivered.max(known).max(delivered.min(self.end));
    }
}

/// The most rooms that a gap names. // 1
const MAX_ROOMS: usize = 256;

/// One lost event, with its position in the inbox.
type Lost = (u64, Arc<Event>);

/// The losses of an inbox, by room: L. // 12.6
#[derive(Clone, Debug, Default)]
struct Losses {
    /// In the order in which the first event of each was lost.
    rooms: Vec<(Room, Vec<Lost>)>,
    /// The last position of a room that is no longer in L, or of a lost life.
    omitted: u64,
}

impl Losses {
    fn add(&mut self, seq: u64, event: Arc<Event>) {
        let room = event.room;
        if let Some((_, events)) = self.rooms.iter_mut().find(|one| one.0 == room) {
            return events.push((seq, event));
        }
        if self.rooms.len() >= MAX_ROOMS {
            self.drop_oldest();
        }
        self.rooms.push((room, vec![(seq, event)]));
    }

    /// Removes the room whose last event has the lowest position.
    fn drop_oldest(&mut self) {
        let oldest = self.rooms.iter().map(|(_, events)| last(events)).min();
        self.rooms
            .retain(|(_, events)| Some(last(events)) != oldest);
        self.omitted = self.omitted.max(oldest.unwrap_or(0));
    }

    /// Removes the rooms whose last event is acknowledged. // 12.3
    fn acknowledge(&mut self, known: u64) {
        self.rooms.retain(|(_, events)| last(events) > known);
        if self.omitted <= known {
            self.omitted = 0;
        }
    }

    /// The gap from `from` to `to` of this reader.
    fn gap(&self, reader: User, from: u64, to: u64) -> Gap {
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
