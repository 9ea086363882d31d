//! Deadlines. Their owners keep them; this only finds the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use chat_types::{Time, listed};

use crate::id::{RoomId, UserId};
use crate::table::Table;

/// What is due at a deadline. Those due at the same instant fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// A participant goes away, or is forgotten. The deadline: `Participant::deadline`.
    Presence(UserId),
    /// A stick's lease runs out. The deadline: `Stick::lease_until`.
    Lease(RoomId),
    /// A waiter will take anyone from now on. The deadline: `Queue::patience_until`.
    Patience(UserId),
}

listed! {
    /// The kinds of timers: what can be due at a deadline, but for whose it is.
    TimerKind {
        /// A participant goes away, or is forgotten.
        Presence "presence",
        /// A stick's lease runs out.
        Lease "lease",
        /// A waiter will take anyone from now on.
        Patience "patience",
    }
}

impl Timer {
    /// What kind of timer it is, and the number of the participant or room that it is for.
    pub(crate) const fn kind(self) -> (TimerKind, u32) {
        match self {
            Self::Presence(user) => (TimerKind::Presence, user.0),
            Self::Lease(room) => (TimerKind::Lease, room.0),
            Self::Patience(user) => (TimerKind::Patience, user.0),
        }
    }
}

/// Finds the next deadline.
///
/// Most deadlines move later again and again (a participant's with every call) before one is due.
/// So the heap may lag behind the owner: an entry found early is put back at the owner's deadline.
/// For each timer at most one entry counts, the one whose time `armed` holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    armed: Table<Timer, Time>,
}

impl Timers {
    /// The owner's deadline is now `deadline`. Costs nothing to speak of when it moved later.
    pub(crate) fn arm(&mut self, timer: Timer, deadline: Time) {
        match self.armed.get_mut(&timer) {
            Some(armed) if *armed <= deadline => {}
            Some(armed) => {
                *armed = deadline;
                self.heap.push(Reverse((deadline, timer)));
            }
            None => {
                self.armed.insert(timer, deadline);
                self.heap.push(Reverse((deadline, timer)));
            }
        }
    }

    /// Whether this deadline will be found in time.
    pub(crate) fn finds(&self, timer: Timer, deadline: Time) -> bool {
        self.armed
            .get(&timer)
            .is_some_and(|armed| *armed <= deadline)
    }

    /// The next timer due by `by`, and its deadline, as `deadline_of` its owner has it.
    ///
    /// No entry is later than its owner's deadline, so where the first of all entries is later
    /// than `by`, which is nearly always, nobody need be asked.
    pub(crate) fn next(
        &mut self,
        by: Time,
        deadline_of: impl Fn(Timer) -> Option<Time>,
    ) -> Option<(Time, Timer)> {
        while let Some(&Reverse((at, timer))) = self.heap.peek()
            && at <= by
        {
            if self.armed.get(&timer) != Some(&at) {
                self.heap.pop();
                continue;
            }
            match deadline_of(timer) {
                Some(deadline) if deadline <= at => return Some((deadline, timer)),
                Some(deadline) => {
                    self.heap.pop();
                    self.armed.insert(timer, deadline);
                    self.heap.push(Reverse((deadline, timer)));
                }
                None => {
                    self.heap.pop();
                    self.armed.remove(&timer);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Timer = Timer::Presence(UserId(1));
    const B: Timer = Timer::Lease(RoomId(1));

    #[test]
    fn a_deadline_that_moved_is_found_where_it_is() {
        let mut timers = Timers::default();
        timers.arm(A, Time(10));
        timers.arm(B, Time(20));
        assert_eq!(
            timers.next(Time::MAX, |t| Some(if t == A {
                Time(30)
            } else {
                Time(20)
            })),
            Some((Time(20), B))
        );
        assert_eq!(
            timers.next(Time::MAX, |t| (t == A).then_some(Time(30))),
            Some((Time(30), A))
        );
        timers.arm(A, Time(5));
        assert_eq!(
            timers.next(Time::MAX, |t| (t == A).then_some(Time(5))),
            Some((Time(5), A))
        );
        assert_eq!(timers.next(Time::MAX, |_| None), None);
    }

    #[test]
    fn what_is_due_later_is_not_next_yet() {
        let mut timers = Timers::default();
        timers.arm(A, Time(10));
        let deadline_of = |_| Some(Time(10));
        assert_eq!(timers.next(Time(9), deadline_of), None);
        assert_eq!(timers.next(Time(10), deadline_of), Some((Time(10), A)));
        // Found early, and put back behind the instant that was asked for.
        assert_eq!(timers.next(Time(10), |_| Some(Time(11))), None);
        assert_eq!(
            timers.next(Time(11), |_| Some(Time(11))),
            Some((Time(11), A))
        );
    }

    #[test]
    fn flapping_deadlines_leave_no_heap_behind() {
        let mut timers = Timers::default();
        for round in 0..10_000 {
            timers.arm(A, Time(1_000_000 + round));
            timers.arm(A, Time(60 + round));
        }
        assert!(timers.heap.len() < 10, "{}", timers.heap.len());
    }
}
