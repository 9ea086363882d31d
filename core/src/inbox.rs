//! A participant's inbox: append-only, cursored, bounded. Every push is only a hint that it grew.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{Event, Gap, Most};
use crate::id::{Seq, UserId};
use crate::lost::Lost;
use crate::reject::Reject;

/// The events that one participant was told and has not acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inbox {
    /// How many events are gone from the front: the first one kept has the place after that.
    gone: u64,
    events: VecDeque<Arc<Event>>,
    /// The end of the last answer whose caller was still there: where a bare `check` goes on.
    delivered: Seq,
    /// What the limit took and nobody acknowledged.
    lost: Lost,
}

/// What one reading of an inbox gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// What is gone before the first event, if the reading began before what is left.
    pub gap: Option<Gap>,
    /// The place of the first event.
    pub first: Seq,
    /// The events, in order.
    pub events: Vec<Arc<Event>>,
    /// The place of the last event; without events, where the reading began.
    pub cursor: Seq,
    /// How many events follow.
    pub unread: u64,
}

impl Inbox {
    /// The place of the last event ever put here.
    pub(crate) fn end(&self) -> Seq {
        Seq(self.gone + self.events.len() as u64)
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) const fn delivered(&self) -> Seq {
        self.delivered
    }

    /// Appends an event to the inbox of `reader`. At the limit the oldest goes: those delivered are
    /// always older than those that are not, so they go first.
    pub(crate) fn push(&mut self, event: Arc<Event>, limit: usize, reader: UserId) {
        while self.events.len() >= limit
            && let Some(oldest) = self.events.pop_front()
        {
            self.gone += 1;
            self.lost.add(Seq(self.gone), &oldest, reader);
        }
        self.events.push_back(event);
    }

    /// Whether `after` is a place that a reading may begin behind.
    pub(crate) fn check_cursor(&self, after: Seq) -> Result<(), Reject> {
        if after > self.end() {
            return Err(Reject::InvalidCursor { end: self.end().0 });
        }
        Ok(())
    }

    /// Everything up to `after` was received: it goes. A place beyond the end is taken as the end.
    pub(crate) fn acknowledge(&mut self, after: Seq) {
        let after = after.min(self.end()).0;
        if after < self.gone {
            return;
        }
        while self.gone < after {
            self.events.pop_front();
            self.gone += 1;
        }
        self.lost.clear();
        self.delivered = self.delivered.max(Seq(after));
        // An inbox that once overflowed gives its memory back when it is read.
        if self.events.is_empty() && self.events.capacity() > 16 {
            self.events.shrink_to(8);
        }
    }

    /// An answer up to `seq` went to a caller who was still there.
    pub(crate) fn deliver(&mut self, seq: Seq) {
        self.delivered = self.delivered.max(seq.min(self.end()));
    }

    /// How many events follow `after`.
    pub(crate) fn unread(&self, after: Seq) -> u64 {
        self.end().0.saturating_sub(after.0)
    }

    /// Reads `most` events from behind `after`. The caller has checked the cursor.
    pub(crate) fn page(&self, after: Seq, most: Most) -> Page {
        let gap = (after.0 < self.gone).then(|| {
            let (rooms, rooms_omitted) = self.lost.since(after.next());
            Gap {
                from: after.next(),
                to: Seq(self.gone),
                rooms,
                rooms_omitted,
            }
        });
        let start = after.0.max(self.gone);
        let skip = usize::try_from(start - self.gone).unwrap_or(usize::MAX);
        let events = most.of(self.events.iter().skip(skip));
        let cursor = Seq(start + events.len() as u64);
        Page {
            gap,
            first: Seq(start + 1),
            events,
            cursor,
            unread: self.unread(cursor),
        }
    }

    /// Every event kept, to share their memory again after a restore.
    pub(crate) fn events_mut(&mut self) -> impl Iterator<Item = &mut Arc<Event>> {
        self.events.iter_mut()
    }

    /// What must hold of it, whatever happened.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.gone.checked_add(self.events.len() as u64).is_none() {
            return Err("has no end".into());
        }
        if self.delivered > self.end() {
            return Err(format!(
                "delivered up to {}, the end is {}",
                self.delivered,
                self.end()
            ));
        }
        self.lost.validate(Seq(self.gone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Body, Who};
    use crate::id::{RoomId, RoomSeq, UserId};
    use chat_types::Time;

    fn filled(events: u64) -> Inbox {
        let mut inbox = Inbox::default();
        let who = Arc::new(Who {
            id: UserId(1),
            chosen_id: None,
            name: "ann".into(),
        });
        for seq in 1..=events {
            let event = Event {
                room: RoomId(1),
                room_seq: RoomSeq(seq),
                at: Time(seq),
                body: Body::Away(Arc::clone(&who)),
            };
            inbox.push(Arc::new(event), 1_000, UserId(1));
        }
        inbox
    }

    #[test]
    fn one_that_was_long_gives_its_memory_back_once_it_is_read() {
        let mut inbox = filled(100);
        inbox.acknowledge(Seq(90));
        assert!(inbox.events.capacity() >= 100);
        inbox.acknowledge(Seq(100));
        assert!(inbox.events.capacity() <= 16);
        // A short one keeps its own: it will be as long again.
        let mut inbox = filled(12);
        let before = inbox.events.capacity();
        assert!((12..=16).contains(&before));
        inbox.acknowledge(Seq(12));
        assert_eq!(inbox.events.capacity(), before);
    }

    #[test]
    fn every_event_can_be_shared_again() {
        let mut inbox = filled(3);
        let places: Vec<_> = inbox.events_mut().map(|event| event.room_seq).collect();
        assert_eq!(places, [1, 2, 3].map(RoomSeq));
    }

    #[test]
    fn damage_is_seen() {
        let damaged = |change: fn(&mut Inbox)| {
            let mut inbox = filled(3);
            change(&mut inbox);
            inbox.validate()
        };
        let said = |change| damaged(change).expect_err("it is damaged");
        assert_eq!(damaged(|inbox| inbox.delivered = Seq(3)), Ok(()));
        assert!(said(|inbox| inbox.delivered = Seq(4)).contains("the end is 3"));
        assert_eq!(said(|inbox| inbox.gone = u64::MAX - 2), "has no end");
        let loses = |inbox: &mut Inbox| {
            let event = Arc::clone(&inbox.events[0]);
            inbox.lost.add(Seq(1), &event, UserId(1));
        };
        assert!(said(loses).contains("0 are gone"));
    }
}
