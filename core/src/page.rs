//! The limits of one answer with events.

use std::sync::Arc;

use chat_types::Event;

/// The limits of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLimits {
    /// The largest number of events.
    pub(crate) events: usize,
    /// The largest size of all texts, in bytes. The first event is exempt: otherwise a longer one
    /// could never be delivered.
    pub(crate) bytes: usize,
}

/// An answer while events are added to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageBuilder {
    limits: PageLimits,
    events: usize,
    bytes: usize,
}

impl PageLimits {
    /// An answer without an event.
    pub(crate) const fn begin(self) -> PageBuilder {
        PageBuilder {
            limits: self,
            events: 0,
            bytes: 0,
        }
    }

    /// The longest prefix of these events that fits into one answer.
    pub(crate) fn of<'a>(self, events: impl Iterator<Item = &'a Arc<Event>>) -> Vec<Arc<Event>> {
        let mut answer = self.begin();
        events
            .take_while(|event| answer.try_add(event))
            .cloned()
            .collect()
    }
}

impl PageBuilder {
    /// Adds the event if the answer has space for it. After the first refusal the answer is
    /// complete.
    pub(crate) fn try_add(&mut self, event: &Event) -> bool {
        let bytes = self.bytes.saturating_add(text_bytes(event));
        let is_first = self.events == 0;
        if self.events >= self.limits.events || (bytes > self.limits.bytes && !is_first) {
            return false;
        }
        self.events += 1;
        self.bytes = bytes;
        true
    }
}

/// The size of the event's text in bytes of UTF-8.
fn text_bytes(event: &Event) -> usize {
    event.body.message().map_or(0, |(_, text)| text.len())
}
