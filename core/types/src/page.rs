//! Pages of an inbox.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Event, Gap, Seq};

/// The result of reading an inbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The gaps before and between the events, in order.
    pub gaps: Vec<Gap>,
    /// The events with their places, in order.
    pub events: Vec<(Seq, Arc<Event>)>,
    /// The last place of the page. For an empty page, the place after which it was read.
    pub cursor: Seq,
    /// The number of places after the page.
    pub unread: u64,
}

/// An element of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A range of dropped places.
    Gap(&'a Gap),
    /// An event with its place.
    Event(Seq, &'a Arc<Event>),
}

impl Page {
    /// Gaps and events, in the order of their places.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let mut gaps = self.gaps.iter().peekable();
        let mut events = self.events.iter().peekable();
        std::iter::from_fn(move || {
            let next = events.peek().map(|(seq, _)| *seq);
            let gap = gaps.next_if(|gap| next.is_none_or(|next| gap.to < next));
            if let Some(gap) = gap {
                return Some(Item::Gap(gap));
            }
            let (seq, event) = events.next()?;
            Some(Item::Event(*seq, event))
        })
    }

    /// The place of the first event; if there is none, the place after the page.
    #[must_use]
    pub fn first(&self) -> Seq {
        let first = self.events.first().map(|(seq, _)| *seq);
        first.unwrap_or_else(|| self.cursor.next())
    }

    /// Whether the page has neither gaps nor events.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.gaps.is_empty() && self.events.is_empty()
    }
}
