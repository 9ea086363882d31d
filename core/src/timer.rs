//! Timers. Deadlines are held by their owners; this module finds the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use chat_types::{RoomId, Time, TimerKind, UserId};

use crate::table::Table;

/// A timer. Timers due at the same instant fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// A participant goes away, or its registration ends. The deadline is `Participant::deadline`.
    Presence(UserId),
    /// A stick's lease ends. The deadline is `Stick::lease_until`.
    Lease(RoomId),
    /// A waiter's patience ends. The deadline is `Queue::patience_until`.
    Patience(UserId),
}

impl Timer {
    /// The timer's kind, and the number of its participant or room.
    pub(crate) const fn kind(self) -> (TimerKind, u64) {
        match self {
            Self::Presence(user) => (TimerKind::Presence, user.0),
            Self::Lease(room) => (TimerKind::Lease, room.0),
            Self::Patience(user) => (TimerKind::Patience, user.0),
        }
    }
}

/// Finds the next deadline.
///
/// Most deadlines move later again and again before they are due: a participant's with every call.
/// So the heap may lag behind the owner: an entry that is found early is put back at the owner's
/// deadline. At most one entry of a timer is valid, the one at the instant in `armed`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    armed: Table<Timer, Time>,
}

impl Timers {
    /// Sets the timer to `deadline`. A move to a later instant costs next to nothing.
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

    /// The next timer that is due at or before `by`, with its deadline as `deadline_of` returns it.
    ///
    /// No entry is later than its owner's deadline. So if the first entry is later than `by`, which
    /// is the usual case, no owner is asked.
    #[inline]
    pub(crate) fn next(
        &mut self,
        by: Time,
        deadline_of: impl Fn(Timer) -> Option<Time>,
    ) -> Option<(Time, Timer)> {
        match self.heap.peek() {
            Some(Reverse((at, _))) if *at <= by => self.next_due(by, deadline_of),
            Some(_) | None => None,
        }
    }

    /// The next timer, where the first entry is due.
    fn next_due(
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
    fn a_moved_deadline_is_found_at_its_new_instant() {
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
    fn a_later_deadline_is_not_next() {
        let mut timers = Timers::default();
        timers.arm(A, Time(10));
        let deadline_of = |_| Some(Time(10));
        assert_eq!(timers.next(Time(9), deadline_of), None);
        assert_eq!(timers.next(Time(10), deadline_of), Some((Time(10), A)));
        // Found early, and put back after the requested instant.
        assert_eq!(timers.next(Time(10), |_| Some(Time(11))), None);
        assert_eq!(
            timers.next(Time(11), |_| Some(Time(11))),
            Some((Time(11), A))
        );
    }

    #[test]
    fn repeatedly_moved_deadlines_do_not_grow_the_heap() {
        let mut timers = Timers::default();
        for round in 0..10_000 {
            timers.arm(A, Time(1_000_000 + round));
            timers.arm(A, Time(60 + round));
        }
        assert!(timers.heap.len() < 10, "{}", timers.heap.len());
    }
}
