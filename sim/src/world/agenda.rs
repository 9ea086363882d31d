//! The clock, and what is to happen when.

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
    /// A client whose process was stopped goes on.
    Awake(u32),
    /// The server comes back.
    Restart,
    /// A step of the steps form.
    Script(u32),
    /// Faults are over.
    Heal,
    /// All read their inboxes once more.
    DrainAgain,
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
            Self::DrainAgain => (18, 0),
            Self::Awake(agent) => (19, agent),
        };
        (tag << 58) | (u64::from(id) << 24)
    }
}

/// How many children an entry of the heap has. Four lie side by side in two cache lines, and make
/// the heap half as deep as two would: with ten thousand users that is what a pop costs.
const CHILDREN: usize = 4;

/// What is to happen, by time and then by the order in which it was written down.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    now: Time,
    written: u64,
    /// A heap: no entry is later than its children, which stand at `CHILDREN * place + 1` and on.
    heap: Vec<Entry>,
}

/// Added to the number of what comes last at its time.
const LAST: u64 = 1 << 63;

/// One line of the agenda. Time and number are one integer, so that comparing two is one step.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The time in the upper half, the number in the lower.
    key: u128,
    event: Event,
}

impl Agenda {
    pub(super) fn new(now: Time) -> Self {
        Self {
            now,
            written: 0,
            heap: Vec::new(),
        }
    }

    pub(super) const fn now(&self) -> Time {
        self.now
    }

    /// Writes an event down. What should have happened already happens now.
    pub(super) fn at(&mut self, at: Time, event: Event) {
        self.write(at, 0, event);
    }

    /// Writes an event down that comes after all others of its time.
    pub(super) fn last_at(&mut self, at: Time, event: Event) {
        self.write(at, LAST, event);
    }

    fn write(&mut self, at: Time, turn: u64, event: Event) {
        self.written += 1;
        let key = (u128::from(at.max(self.now).0) << 64) | u128::from(turn | self.written);
        let entry = Entry { key, event };
        let mut place = self.heap.len();
        self.heap.push(entry);
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent].key <= key {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    /// The next event; time moves to it.
    pub(super) fn next(&mut self) -> Option<(Time, Event)> {
        let last = self.heap.pop()?;
        let Entry { key, event } = match self.heap.first().copied() {
            None => last,
            Some(first) => {
                self.sink(last);
                first
            }
        };
        self.now = Time((key >> 64) as u64);
        Some((self.now, event))
    }

    /// Puts an entry in the place of the first, and then as deep as it belongs.
    fn sink(&mut self, entry: Entry) {
        let mut place = 0;
        loop {
            let first = CHILDREN * place + 1;
            let rest = self.heap.get(first..).unwrap_or_default();
            // All places but one have as many children as there can be, or none.
            let least = match rest.first_chunk::<CHILDREN>() {
                Some(children) => least(children),
                None if rest.is_empty() => break,
                None => least(rest),
            };
            if rest[least].key >= entry.key {
                break;
            }
            self.heap[place] = rest[least];
            place = first + least;
        }
        self.heap[place] = entry;
    }
}

/// Which of these comes first. In line, so that where their number is known it is a few
/// comparisons without a loop.
#[inline(always)]
fn least(entries: &[Entry]) -> usize {
    let (mut least, mut key) = (0, entries[0].key);
    for (place, entry) in entries.iter().enumerate().skip(1) {
        if entry.key < key {
            (least, key) = (place, entry.key);
        }
    }
    least
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

    #[test]
    fn what_comes_last_comes_after_what_is_written_down_later() {
        let mut agenda = Agenda::new(Time(0));
        agenda.last_at(Time(7), Event::Script(0));
        agenda.last_at(Time(7), Event::Script(1));
        agenda.at(Time(8), Event::Heal);
        agenda.at(Time(7), Event::Timer(2));
        let order: Vec<_> = std::iter::from_fn(|| agenda.next().map(|(_, event)| event)).collect();
        let script = Event::Script;
        assert_eq!(order, [Event::Timer(2), script(0), script(1), Event::Heal]);
    }

    #[test]
    fn many_events_come_in_order() {
        let mut agenda = Agenda::new(Time(0));
        let mut seen = Vec::new();
        for round in 0..2_000_u64 {
            agenda.at(Time(agenda.now().0 + (round * 7_919) % 1_009), Event::Heal);
            agenda.at(Time(agenda.now().0 + (round * 104_729) % 977), Event::End);
            seen.extend(agenda.next().map(|(at, _)| at));
        }
        seen.extend(std::iter::from_fn(|| agenda.next()).map(|(at, _)| at));
        assert_eq!(seen.len(), 4_000);
        assert!(seen.is_sorted());
    }
}
