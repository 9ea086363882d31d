//! The inbox: events under `seq`, what is gone from its front, and pages. // 12

use std::collections::VecDeque;
use std::sync::Arc;

use sim_model::protocol::User;
use sim_model::server::{Gap, Page};

use super::{Event, gap};

/// The events of one participant. // 12.1
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    /// How many events are gone from the front.
    start: u64,
    delivered: u64,
    kept: VecDeque<Arc<Event>>,
    /// What the limit took from the front since the last acknowledgement.
    lost: Vec<(u64, Arc<Event>)>,
}

/// How much a page holds. // 12.4
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Events; at most `max_answer`: the caller sees to it.
    pub events: usize,
    /// Bytes of texts, but for a first event of any length.
    pub bytes: usize,
}

impl Inbox {
    /// The `seq` of the last event; 0 at first.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.kept.len() as u64
    }

    /// How many events are gone from the front.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// How far events were delivered, as far as the journal knows.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The event of this `seq`, if it is kept.
    #[must_use]
    pub fn event(&self, seq: u64) -> Option<&Arc<Event>> {
        let index = seq.checked_sub(self.start + 1)?;
        self.kept.get(usize::try_from(index).ok()?)
    }

    /// How many events a page holds that begins with this one. // 12.4
    fn count(&self, first: u64, most: Most) -> usize {
        let (mut count, mut bytes) = (0, 0);
        for seq in (first..=self.end()).take(most.events) {
            bytes += self.event(seq).map_or(0, |event| event.text_bytes());
            if count > 0 && bytes > most.bytes {
                break;
            }
            count += 1;
        }
        count
    }

    /// The page behind `after`. // 12.4
    #[must_use]
    pub fn page(&self, reader: User, after: u64, most: Most) -> Page<'_> {
        let gap = (after < self.start).then(|| Gap {
            from: after + 1,
            to: self.start,
            ..gap::of(&self.lost, reader, after + 1)
        });
        let first = after.max(self.start) + 1;
        let events: Vec<_> = (first..=self.end())
            .take(self.count(first, most))
            .filter_map(|seq| {
                let event = self.event(seq)?;
                Some((seq, event.at, event.seen_by(reader)))
            })
            .collect();
        let cursor = events.last().map_or(first - 1, |(seq, ..)| *seq);
        Page {
            gap,
            events,
            cursor,
            more: self.end() > cursor,
        }
    }

    /// Whether a page without a gap is the one behind `after`.
    #[must_use]
    pub fn is_page(&self, reader: User, after: u64, most: Most, page: &Page<'_>) -> bool {
        let count = self.count(after + 1, most);
        let owed = (after + 1..=self.end()).take(count);
        let mut pairs = owed.zip(&page.events);
        after >= self.start
            && page.gap.is_none()
            && page.events.len() == count
            && page.cursor == after + count as u64
            && page.more == (self.end() > page.cursor)
            && pairs.all(|(seq, seen)| {
                let event = self.event(seq);
                event.is_some_and(|event| (seq, event.at, event.seen_by(reader)) == *seen)
            })
    }

    /// Appends an event; the oldest go until there is room. // 12.2
    pub(super) fn append(&mut self, event: Arc<Event>, limit: u32) {
        while self.kept.len() >= limit as usize {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.start += 1;
            self.lost.push((self.start, oldest));
        }
        self.kept.push_back(event);
    }

    /// The implied *read*. // 12.3
    pub(super) fn read(&mut self, acknowledged: u64, delivered: u64) {
        let known = acknowledged.min(self.end());
        if known >= self.start {
            while self.start < known {
                self.kept.pop_front();
                self.start += 1;
            }
            self.lost.clear();
            self.delivered = self.delivered.max(known);
        }
        self.delivered = self.delivered.max(delivered.min(self.end()));
    }
}
