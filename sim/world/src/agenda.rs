//! The clock, and what is to happen when.

use std::collections::VecDeque;

use chat_types::Time;

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
    /// An append is over: its number, and which life of the server began it.
    Committed { life: u32, append: u32 },
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
            Self::Committed { life, .. } => (10, life),
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

/// How many bits a digit of a time has here.
const DIGIT: u32 = 4;

/// How many values a digit has.
const VALUES: usize = 1 << DIGIT;

/// How many digits a time has.
const DIGITS: usize = (u64::BITS / DIGIT) as usize;

/// What is to happen, by time and then by the order in which it was written down: a hierarchical
/// timing wheel.
///
/// Time only moves forward. So what is far off need not be in order yet: it is put in order digit
/// by digit as its time comes near. What has the same time stays in the order in which it was
/// written down.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    now: Time,
    /// What happens now, and what happens after all else of now.
    due: VecDeque<Event>,
    due_last: VecDeque<Event>,
    /// What happens later, by the highest digit in which its time differs from now, and by the
    /// value that this digit has there.
    later: [[Vec<Entry>; VALUES]; DIGITS],
    /// For which values something is there, by digit: a bit for each.
    filled: [u16; DIGITS],
}

/// One line of the agenda.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    turn: Turn,
    event: Event,
}

/// Where an event stands among those of its time.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// In the order in which they were written down.
    Written,
    /// After all of these.
    Last,
}

impl Agenda {
    pub(super) fn new(now: Time) -> Self {
        Self {
            now,
            due: VecDeque::new(),
            due_last: VecDeque::new(),
            later: [const { [const { Vec::new() }; VALUES] }; DIGITS],
            filled: [0; DIGITS],
        }
    }

    pub(super) const fn now(&self) -> Time {
        self.now
    }

    /// Writes an event down. What should have happened already happens now.
    pub(super) fn at(&mut self, at: Time, event: Event) {
        self.write(at, Turn::Written, event);
    }

    /// Writes an event down that comes after all others of its time.
    pub(super) fn last_at(&mut self, at: Time, event: Event) {
        self.write(at, Turn::Last, event);
    }

    fn write(&mut self, at: Time, turn: Turn, event: Event) {
        let at = at.max(self.now);
        self.put(Entry { at, turn, event });
    }

    fn put(&mut self, entry: Entry) {
        match ((entry.at.0 ^ self.now.0).checked_ilog2(), entry.turn) {
            (Some(bit), _) => {
                let digit = bit / DIGIT;
                #[expect(clippy::cast_possible_truncation, reason = "one digit of it is used")]
                let value = (entry.at.0 >> (digit * DIGIT)) as usize % VALUES;
                self.filled[digit as usize] |= 1 << value;
                self.later[digit as usize][value].push(entry);
            }
            (None, Turn::Written) => self.due.push_back(entry.event),
            (None, Turn::Last) => self.due_last.push_back(entry.event),
        }
    }

    /// The next event; time moves to it.
    pub(super) fn next(&mut self) -> Option<(Time, Event)> {
        if self.due.is_empty() && self.due_last.is_empty() {
            return self.move_on().map(|event| (self.now, event));
        }
        let event = self.due.pop_front().or_else(|| self.due_last.pop_front())?;
        Some((self.now, event))
    }

    /// Time moves to what is next, and its first event is taken: it differs from now in the lowest
    /// digit, and there the least.
    fn move_on(&mut self) -> Option<Event> {
        let digit = self.filled.iter().position(|values| *values != 0)?;
        let value = self.filled[digit].trailing_zeros() as usize;
        self.filled[digit] ^= 1 << value;
        if let [only] = self.later[digit][value][..] {
            self.later[digit][value].clear();
            self.now = only.at;
            return Some(only.event);
        }
        let mut entries = std::mem::take(&mut self.later[digit][value]);
        let next = entries.iter().map(|entry| entry.at).min();
        self.now = next.unwrap_or(self.now);
        for entry in entries.drain(..) {
            self.put(entry);
        }
        // Empty, it keeps its memory.
        self.later[digit][value] = entries;
        self.due.pop_front().or_else(|| self.due_last.pop_front())
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
