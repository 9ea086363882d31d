//! The inbox: events under `seq`, losses, and pages. // 12

use std::collections::vec_deque::Iter;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chat_types::{Gap, Item, Page, Seq};
use sim_model::protocol::{Room, User};

use super::Event;
use super::gap::Losses;

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

/// A page of the items of a page, which are what servers write, and whether each gap precedes the
/// events behind it.
pub(crate) fn read(page: &Page) -> (Page, bool) {
    let (cursor, unread) = (page.cursor, page.unread);
    let (mut gaps, mut events) = (Vec::new(), Vec::new());
    let (mut last, mut is_ordered) = (Seq(0), true);
    for item in page.items() {
        let (Item::Gap(Gap { to: end, .. }) | Item::Event(end, _)) = &item;
        is_ordered &= *end > last;
        last = *end;
        match item {
            Item::Gap(gap) => gaps.push(gap.clone()),
            Item::Event(seq, event) => events.push((seq, Arc::clone(event))),
        }
    }
    let read = Page {
        gaps,
        events,
        cursor,
        unread,
    };
    (read, is_ordered)
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

    /// The number of these events that fit into a page. // 12.4
    fn count(events: Iter<'_, (u64, Arc<Event>)>, most: PageLimits) -> usize {
        let (mut count, mut bytes) = (0, 0);
        for (_, event) in events.take(most.events) {
            bytes += text_bytes(event);
            if count > 0 && bytes > most.bytes {
                break;
            }
            count += 1;
        }
        count
    }

    /// The page after `after`. // 12.4
    pub(crate) fn page(&self, reader: User, after: u64, most: PageLimits) -> Page {
        let (mut page, mut cursor) = (Page::default(), after);
        let behind = self.behind(after);
        let count = Self::count(behind.clone(), most);
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
        let count = Self::count(behind.clone(), most);
        let is_cut = count == most.events || count < behind.len();
        let cursor = page.cursor.0;
        let mut owed = behind.take(count).zip(after + 1..);
        let mut items = page.items();
        let mut is_next = |((seq, event), place): (&(u64, Arc<Event>), u64)| {
            let item = items.next();
            *seq == place
                && matches!(item, Some(Item::Event(at, seen)) if at.0 == place && seen == event)
        };
        owed.all(&mut is_next)
            && items.next().is_none()
            && cursor == after + count as u64
            && (is_cut || cursor == self.end)
            && (page.unread > 0) == (self.end > cursor)
    }

    /// Goes on behind `end`. The positions up to it are gone. // 2.7
    pub(super) fn pass_to(&mut self, end: u64) {
        self.end = end;
        self.lost.omit(end);
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
        let mut sizes: BTreeMap<Room, usize> = BTreeMap::new();
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

/// The number of bytes of an event's text in an answer, in UTF-8. // 12.4
pub(super) fn text_bytes(event: &Event) -> usize {
    event.body.message().map_or(0, |(_, text)| text.len())
}
