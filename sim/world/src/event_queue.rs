//! The clock and the event queue.

use std::collections::VecDeque;

use chat_types::{Ticket, Time};

use super::slab::index_of;

/// An event of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The next user arrives.
    Arrival,
    /// A user's timer is due.
    Timer(u32),
    /// A request reaches the server.
    AtServer(Ticket),
    /// The server's service time of a request is over.
    Served(Ticket),
    /// An answer reaches its client.
    AtClient(Ticket),
    /// The message that a stream is open reaches its client.
    StreamUp(Ticket),
    /// Pushed events reach their client.
    Pushed(Ticket),
    /// The break of a stream becomes known to its client.
    StreamDown { agent: u32, stream: u32 },
    /// A dropped connection becomes known to the server.
    GoneAtServer(Ticket),
    /// The server checks whether a slow reader has read anything.
    Stalled(Ticket),
    /// An append ends: its number, and the life of the server that began it.
    Committed { life: u32, append: u32 },
    /// The node's timer is due.
    NodeDue,
    /// A fault of the plan begins.
    FaultBegins(u32),
    /// A fault of the plan ends.
    FaultEnds(u32),
    /// A suspended client continues.
    Awake(u32),
    /// The server restarts.
    Restart,
    /// Something arrives between servers and their log.
    Packet(Ticket),
    /// A member's timer is due.
    MemberDue(u32),
    /// One of several servers starts again.
    MemberStarts(u32),
    /// The suspension or the cut of a server may be over.
    MemberContinues(u32),
    /// The timer of a user's waker is due.
    WakerDue(u32),
    /// A knock reaches its user.
    Knock(u32),
    /// A step of the steps form.
    Script(u32),
    /// All faults end.
    Heal,
    /// All users drain their inboxes again.
    DrainAgain,
    /// The run is over.
    End,
}

impl Event {
    /// Whether the process of the server handles it.
    pub(super) const fn is_of_server(self) -> bool {
        matches!(
            self,
            Self::Served(_) | Self::GoneAtServer(_) | Self::Stalled(_)
        )
    }

    /// The event as a number, for the trace hash.
    pub(super) fn hash_word(self) -> u64 {
        let (tag, id) = match self {
            Self::Arrival => (0, 0),
            Self::Timer(agent) => (1, agent),
            Self::AtServer(ticket) => (2, index_of(ticket)),
            Self::Served(ticket) => (3, index_of(ticket)),
            Self::AtClient(ticket) => (4, index_of(ticket)),
            Self::StreamUp(ticket) => (5, index_of(ticket)),
            Self::Pushed(ticket) => (6, index_of(ticket)),
            Self::StreamDown { agent, .. } => (7, agent),
            Self::GoneAtServer(ticket) => (8, index_of(ticket)),
            Self::Stalled(ticket) => (9, index_of(ticket)),
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
            Self::Packet(ticket) => (20, index_of(ticket)),
            Self::MemberDue(server) => (21, server),
            Self::MemberStarts(server) => (22, server),
            Self::MemberContinues(server) => (23, server),
            Self::WakerDue(agent) => (24, agent),
            Self::Knock(agent) => (25, agent),
        };
        (tag << 58) | (u64::from(id) << 24)
    }
}

/// The number of bits of a digit of a time.
const DIGIT: u32 = 6;

/// The number of values of a digit.
const VALUES: usize = 1 << DIGIT;

/// The number of digits of a time.
const DIGITS: usize = u64::BITS.div_ceil(DIGIT) as usize;

/// The event queue, ordered by time and then by the order of scheduling: a hierarchical timing
/// wheel.
///
/// Time never goes back. So events far ahead need not be ordered yet: they are sorted digit by
/// digit as their time comes near. Events with the same time stay in the order of scheduling.
#[derive(Clone, Debug)]
pub(super) struct EventQueue {
    now: Time,
    /// The events of now, and those that follow all others of now.
    due: VecDeque<Event>,
    due_last: VecDeque<Event>,
    /// Later events, by the highest digit in which their time differs from now, and by its value.
    later: [[Vec<(Time, Event)>; VALUES]; DIGITS],
    /// For each digit, a bit for each value with events.
    filled: [u64; DIGITS],
}

impl EventQueue {
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

    /// Schedules an event. An event of the past is scheduled for now. A step of a script comes after all
    /// others of its time.
    pub(super) fn schedule(&mut self, at: Time, event: Event) {
        let at = at.max(self.now);
        if let Some(bit) = (at.0 ^ self.now.0).checked_ilog2() {
            let digit = bit / DIGIT;
            #[expect(clippy::cast_possible_truncation, reason = "one digit of it is used")]
            let value = (at.0 >> (digit * DIGIT)) as usize % VALUES;
            self.filled[digit as usize] |= 1 << value;
            self.later[digit as usize][value].push((at, event));
        } else if let Event::Script(_) = event {
            // A step follows all arrivals of its instant, because it may react to them.
            self.due_last.push_back(event);
        } else {
            self.due.push_back(event);
        }
    }

    /// Removes the next event, and advances the clock to it.
    pub(super) fn pop(&mut self) -> Option<(Time, Event)> {
        let due = self.due.pop_front().or_else(|| self.due_last.pop_front());
        let event = due.or_else(|| self.advance())?;
        Some((self.now, event))
    }

    /// Advances the clock to the next events: those that differ from now in the lowest digit, and
    /// there by the least.
    fn advance(&mut self) -> Option<Event> {
        let digit = self.filled.iter().position(|values| *values != 0)?;
        let value = self.filled[digit].trailing_zeros() as usize;
        self.filled[digit] ^= 1 << value;
        if let [(at, event)] = self.later[digit][value][..] {
            self.later[digit][value].clear();
            self.now = at;
            return Some(event);
        }
        let mut entries = std::mem::take(&mut self.later[digit][value]);
        let next = entries.iter().map(|(at, _)| *at).min();
        self.now = next.unwrap_or(self.now);
        for (at, event) in entries.drain(..) {
            self.schedule(at, event);
        }
        // The empty vector keeps its memory.
        self.later[digit][value] = entries;
        self.due.pop_front().or_else(|| self.due_last.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_come_in_the_order_of_scheduling() {
        let mut events = EventQueue::new(Time(5));
        for (at, agent) in [(9, 1), (7, 2), (9, 3), (1, 4)] {
            events.schedule(Time(at), Event::Timer(agent));
        }
        let order: Vec<_> = std::iter::from_fn(|| events.pop()).collect();
        let timer = |at, agent| (Time(at), Event::Timer(agent));
        assert_eq!(order, [timer(5, 4), timer(7, 2), timer(9, 1), timer(9, 3)]);
    }

    #[test]
    fn steps_of_a_script_come_after_events_scheduled_later_for_the_same_instant() {
        let mut events = EventQueue::new(Time(0));
        events.schedule(Time(7), Event::Script(0));
        events.schedule(Time(7), Event::Script(1));
        events.schedule(Time(8), Event::Heal);
        events.schedule(Time(7), Event::Timer(2));
        let order: Vec<_> = std::iter::from_fn(|| events.pop().map(|(_, event)| event)).collect();
        let script = Event::Script;
        assert_eq!(order, [Event::Timer(2), script(0), script(1), Event::Heal]);
    }

    #[test]
    fn events_of_all_digits_come_in_the_order_of_time() {
        let bits = (0..u64::BITS).map(|bit| 1_u64 << bit);
        let mut times: Vec<u64> = bits.flat_map(|time| [time - 1, time]).collect();
        times.push(u64::MAX);
        let mut events = EventQueue::new(Time(0));
        for time in times.iter().rev() {
            events.schedule(Time(*time), Event::Heal);
        }
        times.sort_unstable();
        let seen = std::iter::from_fn(|| events.pop()).map(|(at, _)| at.0);
        assert_eq!(seen.collect::<Vec<_>>(), times);
    }

    #[test]
    fn many_events_come_in_the_order_of_time() {
        let mut events = EventQueue::new(Time(0));
        let mut seen = Vec::new();
        for round in 0..2_000_u64 {
            events.schedule(Time(events.now().0 + (round * 7_919) % 1_009), Event::Heal);
            events.schedule(Time(events.now().0 + (round * 104_729) % 977), Event::End);
            seen.extend(events.pop().map(|(at, _)| at));
        }
        seen.extend(std::iter::from_fn(|| events.pop()).map(|(at, _)| at));
        assert_eq!(seen.len(), 4_000);
        assert!(seen.is_sorted());
    }
}
