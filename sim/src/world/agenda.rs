//! The clock, and what is to happen when.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use chat_core::Time;

use super::slots::Slot;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The next user comes.
    Arrival,
    /// A user's own clock.
    Timer(u32),
    /// A request reaches the server.
    AtServer(Slot),
    /// The server has given a request its time.
    Served(Slot),
    /// An answer reaches its client.
    AtClient(Slot),
    /// The news that a stream is open reaches its client.
    StreamUp(Slot),
    /// Pushed events reach their client.
    Pushed(Slot),
    /// The news that a stream broke reaches its client.
    StreamDown { agent: u32, stream: u32 },
    /// The news that a client dropped a connection reaches the server.
    GoneAtServer(Slot),
    /// The server looks whether a slow reader has read anything.
    Stalled(Slot),
    /// The journal has the batch; which life of the server appended it.
    Committed(u32),
    /// The node wants to be called.
    NodeDue,
    /// A fault of the plan begins.
    FaultBegins(u32),
    /// And ends.
    FaultEnds(u32),
    /// The server comes back.
    Restart,
    /// A step of the steps form.
    Script(u32),
    /// Faults are over.
    Heal,
    /// The run is over.
    End,
}

impl Event {
    /// What tells one event from another, for the trace hash.
    pub(super) fn word(self) -> u64 {
        let (tag, id) = match self {
            Self::Arrival => (0, 0),
            Self::Timer(agent) => (1, agent),
            Self::AtServer(slot) => (2, slot.index),
            Self::Served(slot) => (3, slot.index),
            Self::AtClient(slot) => (4, slot.index),
            Self::StreamUp(slot) => (5, slot.index),
            Self::Pushed(slot) => (6, slot.index),
            Self::StreamDown { agent, .. } => (7, agent),
            Self::GoneAtServer(slot) => (8, slot.index),
            Self::Stalled(slot) => (9, slot.index),
            Self::Committed(life) => (10, life),
            Self::NodeDue => (11, 0),
            Self::FaultBegins(index) => (12, index),
            Self::FaultEnds(index) => (13, index),
            Self::Restart => (14, 0),
            Self::Script(index) => (15, index),
            Self::Heal => (16, 0),
            Self::End => (17, 0),
        };
        (tag << 58) | (u64::from(id) << 24)
    }
}

/// What is to happen, by time and then by the order in which it was written down.
#[derive(Debug)]
pub(super) struct Agenda {
    now: Time,
    written: u64,
    heap: BinaryHeap<Entry>,
}

/// One line of the agenda. Time and number are one integer, so that comparing two is one step.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The time in the upper half, the number in the lower.
    key: u128,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the greatest: the heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl Agenda {
    pub(super) fn new(now: Time) -> Self {
        Self {
            now,
            written: 0,
            heap: BinaryHeap::new(),
        }
    }

    pub(super) const fn now(&self) -> Time {
        self.now
    }

    /// Writes an event down. What should have happened already happens now.
    pub(super) fn at(&mut self, at: Time, event: Event) {
        self.written += 1;
        let key = (u128::from(at.max(self.now).0) << 64) | u128::from(self.written);
        self.heap.push(Entry { key, event });
    }

    /// The next event; time moves to it.
    pub(super) fn next(&mut self) -> Option<(Time, Event)> {
        let Entry { key, event } = self.heap.pop()?;
        self.now = Time((key >> 64) as u64);
        Some((self.now, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_once_comes_in_the_order_it_was_written_down() {
        let mut agenda = Agenda::new(Time(5));
        for (at, agent) in [(9, 1), (7, 2), (9, 3), (1, 4)] {
            agenda.at(Time(at), Event::Timer(agent));
        }
        let order: Vec<_> = std::iter::from_fn(|| agenda.next()).collect();
        let timer = |at, agent| (Time(at), Event::Timer(agent));
        assert_eq!(order, [timer(5, 4), timer(7, 2), timer(9, 1), timer(9, 3)]);
    }
}
