//! A participant's inbox: append-only, bounded, read by cursors. A push to the client only says
//! that it grew.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kept::Kept;
use crate::lost::Lost;
use crate::reject::{Outcome, Reject, refuse_if};
use chat_types::{Event, Gap, Page, RoomId, RoomSeq, Seq, UserId};

/// The events that one participant received and has not acknowledged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Inbox {
    /// The place of the last event ever appended. A place before it without an event was dropped or
    /// acknowledged.
    pub(crate) end: Seq,
    kept: Kept,
    /// The end of the last answer whose caller was still connected. A bare `check` continues here.
    pub(crate) delivered: Seq,
    /// The dropped events that were not acknowledged.
    lost: Lost,
}

impl Inbox {
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Appends an event to the inbox of `reader`. Beyond the limit one event is dropped: the oldest
    /// delivered one, otherwise the oldest event of the room with the most. So no room displaces
    /// events of a room that has no more than its share.
    #[inline]
    pub(crate) fn push(&mut self, event: Arc<Event>, limit: usize, reader: UserId) {
        self.end = self.end.next();
        self.kept.push(self.end, event);
        if self.kept.slots() > limit {
            self.overflow(limit, reader);
        }
    }

    /// Continues behind `end`. The places up to it become a gap, which names no rooms.
    pub(crate) fn pass_to(&mut self, end: Seq) {
        self.end = end;
        self.lost.omit(end);
    }

    /// Removes events beyond the limit. Not inlined: `push` rarely calls it.
    #[inline(never)]
    fn overflow(&mut self, limit: usize, reader: UserId) {
        while self.kept.len() > limit {
            let first = self.kept.first();
            let gone = if first.is_some_and(|first| first <= self.delivered) {
                self.kept.pop_first()
            } else {
                self.kept.pop_largest()
            };
            let Some((seq, gone)) = gone else { break };
            self.lost.add(seq, &gone, reader);
        }
    }

    /// Checks that `after` is not beyond the end.
    pub(crate) fn check_cursor(&self, after: Seq) -> Outcome<()> {
        refuse_if(after > self.end, Reject::InvalidCursor { end: self.end.0 })
    }

    /// Removes all events up to `after`, which were received. A place beyond the end counts as the
    /// end.
    pub(crate) fn acknowledge(&mut self, after: Seq) {
        let after = after.min(self.end);
        self.kept.drop_up_to(after);
        self.lost.acknowledge(after);
        self.delivered = self.delivered.max(after);
    }

    /// Records that an answer up to `seq` was sent to a caller that was still connected.
    pub(crate) fn deliver(&mut self, seq: Seq) {
        self.delivered = self.delivered.max(seq.min(self.end));
    }

    /// The place before the room's first event that is not acknowledged, dropped ones included;
    /// `last`, the room's last place, if there is none.
    pub(crate) fn read_to(&self, room: RoomId, last: RoomSeq) -> RoomSeq {
        let kept = || Some(self.kept.first_of(room)?.room_seq);
        let first = self.lost.first_of(room).or_else(kept);
        first.map_or(last, |first| RoomSeq(first.0 - 1))
    }

    /// The number of places after `after`.
    pub(crate) const fn unread(&self, after: Seq) -> u64 {
        self.end.0.saturating_sub(after.0)
    }

    /// Reads the events after `after` that fit into the limits, with the gaps before and between
    /// them. The caller has checked the cursor.
    pub(crate) fn page(&self, after: Seq, limits: PageLimits) -> Page {
        let left = usize::try_from(self.unread(after)).unwrap_or(usize::MAX);
        let mut events = Vec::with_capacity(limits.events.min(left).min(self.kept.len()));
        let mut gaps = Vec::new();
        let (mut cursor, mut fits) = (after, limits.fits());
        let mut is_all = true;
        for (seq, event) in self.kept.after(after) {
            if !fits(event) {
                is_all = false;
                break;
            }
            gaps.extend(self.gap(cursor, seq));
            events.push((seq, Arc::clone(event)));
            cursor = seq;
        }
        if is_all && events.len() < limits.events {
            gaps.extend(self.gap(cursor, self.end.next()));
            cursor = cursor.max(self.end);
        }
        Page {
            gaps,
            events,
            cursor,
            unread: self.unread(cursor),
        }
    }

    /// The gap between two places; none if they are adjacent.
    fn gap(&self, before: Seq, behind: Seq) -> Option<Gap> {
        let (from, to) = (before.next(), Seq(behind.0 - 1));
        (from <= to).then(|| {
            let (rooms, rooms_omitted) = self.lost.within(from, to);
            Gap {
                from,
                to,
                rooms,
                rooms_omitted,
            }
        })
    }

    /// All kept events, so that a restore can share them again.
    pub(crate) fn events_mut(&mut self) -> impl Iterator<Item = &mut Arc<Event>> {
        self.kept.events_mut()
    }

    /// Checks the invariants.
    pub(crate) fn validate(&self) -> Result<(), String> {
        refuse_if(self.end == Seq(u64::MAX), "has no end")?;
        if self.delivered > self.end {
            return Err(format!(
                "delivered up to {}, the end is {}",
                self.delivered, self.end
            ));
        }
        self.kept.validate(self.end)?;
        self.lost.validate(self.end)?;
        let mut kept = self.kept.iter();
        // Events of one room are dropped oldest first.
        match kept.find(|(seq, event)| self.lost.last_of(event.room) >= *seq) {
            Some((seq, _)) => Err(format!("keeps {seq}, and lost a later one of its room")),
            None => Ok(()),
        }
    }
}

/// The limits of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLimits {
    /// The largest number of events.
    pub(crate) events: usize,
    /// The largest size of all texts, in bytes. The first event is exempt: otherwise a longer one
    /// could never be delivered.
    pub(crate) bytes: usize,
}

impl PageLimits {
    /// The longest prefix of these events that fits into one answer.
    pub(crate) fn of<'a>(self, events: impl Iterator<Item = &'a Arc<Event>>) -> Vec<Arc<Event>> {
        let mut fits = self.fits();
        events.take_while(|event| fits(event)).cloned().collect()
    }

    /// Adds one event after another to an answer, if it has space. After the first refusal the answer is
    /// complete.
    fn fits(self) -> impl FnMut(&Event) -> bool {
        let (mut events, mut bytes) = (0, 0_usize);
        move |event: &Event| {
            let text = event.body.message().map_or(0, |(_, text)| text.len());
            let with_it = bytes.saturating_add(text);
            if events >= self.events || (with_it > self.bytes && events > 0) {
                return false;
            }
            (events, bytes) = (events + 1, with_it);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat_types::{Body, Item, Time, Who};

    const ANN: UserId = UserId(1);

    fn event(room: u64, room_seq: u64) -> Arc<Event> {
        Arc::new(Event {
            room: RoomId(room),
            room_seq: RoomSeq(room_seq),
            at: Time(room_seq),
            body: Body::Away(Who::unnamed(ANN)),
        })
    }

    /// An inbox with this limit that received one event of each of these rooms.
    fn of_rooms(limit: usize, rooms: &[u64]) -> Inbox {
        let mut inbox = Inbox::default();
        for (seq, room) in (1..).zip(rooms) {
            inbox.push(event(*room, seq), limit, ANN);
            assert_eq!(inbox.validate(), Ok(()));
        }
        inbox
    }

    /// A page as text: gaps in brackets with the rooms that they name, and events.
    fn page(inbox: &Inbox, after: u64, events: usize) -> String {
        let bytes = usize::MAX;
        let page = inbox.page(Seq(after), PageLimits { events, bytes });
        let items = page.items().map(|item| match item {
            Item::Gap(gap) => {
                let rooms: Vec<_> = gap.rooms.iter().map(|lost| lost.room.0).collect();
                format!("[{}-{} {rooms:?}]", gap.from, gap.to)
            }
            Item::Event(seq, event) => format!("{seq}:{}", event.room.0),
        });
        let items: Vec<_> = items.collect();
        format!("{} | {} +{}", items.join(" "), page.cursor, page.unread)
    }

    #[test]
    fn a_busy_room_evicts_only_its_own_events() {
        let mut inbox = of_rooms(4, &[1, 2, 2, 1, 2, 2, 2, 2]);
        assert_eq!(
            page(&inbox, 0, 9),
            "1:1 [2-3 []] 4:1 [5-6 [2]] 7:2 8:2 | 8 +0"
        );
        // None of the three rooms has two of the four events; each of the other two drops one.
        for (room, seq) in [(3, 9), (3, 10), (2, 11)] {
            inbox.push(event(room, seq), 4, ANN);
        }
        let left = "[1-3 [1]] 4:1 [5-8 [2]] 9:3 10:3 11:2 | 11 +0";
        assert_eq!(page(&inbox, 0, 9), left);
    }

    #[test]
    fn delivered_events_are_evicted_first() {
        let mut inbox = of_rooms(4, &[1, 2, 2, 2]);
        inbox.deliver(Seq(1));
        inbox.push(event(2, 5), 4, ANN);
        assert_eq!(page(&inbox, 0, 9), "[1-1 [1]] 2:2 3:2 4:2 5:2 | 5 +0");
    }

    #[test]
    fn a_page_begins_and_ends_anywhere_and_has_the_gaps_before_its_events() {
        let inbox = of_rooms(4, &[1, 2, 2, 1, 2, 2, 2, 2]);
        assert_eq!(page(&inbox, 0, 1), "1:1 | 1 +7");
        assert_eq!(page(&inbox, 1, 1), "[2-3 []] 4:1 | 4 +4");
        assert_eq!(page(&inbox, 2, 1), "[3-3 []] 4:1 | 4 +4");
        assert_eq!(page(&inbox, 5, 1), "[6-6 [2]] 7:2 | 7 +1");
        assert_eq!(page(&inbox, 6, 9), "7:2 8:2 | 8 +0");
        assert_eq!(page(&inbox, 8, 9), " | 8 +0");
        let (events, bytes) = (9, usize::MAX);
        assert!(inbox.page(Seq(8), PageLimits { events, bytes }).is_empty());
    }

    #[test]
    fn an_acknowledgement_takes_events_and_rooms_that_were_told() {
        let mut inbox = of_rooms(4, &[1, 2, 2, 1, 2, 2, 2, 2]);
        inbox.acknowledge(Seq(4));
        assert_eq!((inbox.len(), inbox.delivered), (2, Seq(4)));
        assert_eq!(page(&inbox, 4, 9), "[5-6 [2]] 7:2 8:2 | 8 +0");
        inbox.acknowledge(Seq(6));
        assert_eq!(page(&inbox, 4, 9), "[5-6 []] 7:2 8:2 | 8 +0");
        inbox.acknowledge(Seq(9));
        assert_eq!(page(&inbox, 4, 9), "[5-8 []] | 8 +0");
        assert_eq!(inbox.validate(), Ok(()));
    }

    #[test]
    fn an_inbox_frees_its_memory_once_it_is_read() {
        let mut inbox = of_rooms(1_000, &[1; 100]);
        inbox.acknowledge(Seq(90));
        assert!(inbox.kept.capacity() >= 100);
        inbox.acknowledge(Seq(100));
        assert!(inbox.kept.capacity() <= 16);
        // A short inbox keeps its memory: it will grow to that length again.
        let mut inbox = of_rooms(1_000, &[1; 12]);
        let before = inbox.kept.capacity();
        assert!((12..=16).contains(&before));
        inbox.acknowledge(Seq(12));
        assert_eq!(inbox.kept.capacity(), before);
    }

    #[test]
    fn every_event_can_be_shared_again() {
        let mut inbox = of_rooms(9, &[1, 2, 1]);
        let places: Vec<_> = inbox.events_mut().map(|event| event.room_seq).collect();
        assert_eq!(places, [1, 2, 3].map(RoomSeq));
    }

    #[test]
    fn damage_is_seen() {
        let damaged = |change: fn(&mut Inbox)| {
            let mut inbox = of_rooms(9, &[1, 1, 1]);
            change(&mut inbox);
            inbox.validate()
        };
        let said = |change| damaged(change).expect_err("it is damaged");
        assert_eq!(damaged(|inbox| inbox.delivered = Seq(3)), Ok(()));
        assert!(said(|inbox| inbox.delivered = Seq(4)).contains("the end is 3"));
        assert_eq!(said(|inbox| inbox.end = Seq(u64::MAX)), "has no end");
        assert!(said(|inbox| inbox.end = Seq(2)).contains("places that are none"));
        let loses = |inbox: &mut Inbox| inbox.lost.add(Seq(2), &event(1, 2), ANN);
        assert!(said(loses).contains("lost a later one"));
    }
}
