//! The checks of one participant: which are under way, and which answers say for sure how far its
//! inbox was read out.
//!
//! A check without a cursor goes on from the end of the last answer that left for a caller who was
//! still there. That answer may have been lost. So after a check that was tried again, given up or
//! overlapped by another, nobody knows where the next one goes on, until one of them has been
//! asked and answered alone.

use chat_core::{Span, Time};

use crate::protocol::CallId;

/// Checks under way that are remembered for each participant.
const REMEMBERED: usize = 16;

/// A check under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    id: CallId,
    pub(crate) wait: Span,
    /// When its latest attempt left.
    pub(crate) left_at: Time,
    /// Whether it is the only thing that reads this inbox by checks: no other has been under way
    /// since it left, no attempt of it was tried again, and none before it can still arrive.
    alone: bool,
}

/// How an answered check was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// At the end of the answer before: all that lies between the two ends has come.
    AtTheLastEnd(u64),
    /// Wherever an answer ended that nobody may have had.
    Somewhere,
}

/// What is known of one participant's checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    open: Vec<Check>,
    /// Whether an answer may have left since the last one that came of a check asked alone.
    shaken: bool,
    /// Until when an attempt may still reach the server that its caller does not wait for.
    stray_until: Time,
    /// The end of the last answer.
    end: u64,
}

impl Checks {
    /// A check left.
    pub(crate) fn called(&mut self, id: CallId, wait: Span, now: Time) {
        if self.open.len() == REMEMBERED {
            self.open.remove(0);
        }
        for other in &mut self.open {
            other.alone = false;
        }
        self.shaken |= !self.open.is_empty();
        self.open.push(Check {
            id,
            wait,
            left_at: now,
            alone: self.open.is_empty() && now > self.stray_until,
        });
    }

    /// A check was tried again; the attempt before may reach the server within `stray`. Gives the
    /// check as it was.
    pub(crate) fn retried(&mut self, id: CallId, now: Time, stray: Span) -> Option<Check> {
        let check = self.open.iter_mut().find(|check| check.id == id)?;
        let before = *check;
        check.left_at = now;
        check.alone = false;
        self.stray(before.wait, now, stray);
        Some(before)
    }

    /// A check was given up.
    pub(crate) fn abandoned(&mut self, id: CallId, now: Time, stray: Span) {
        if let Some(index) = self.open.iter().position(|check| check.id == id) {
            let check = self.open.remove(index);
            self.stray(check.wait, now, stray);
        }
    }

    fn stray(&mut self, wait: Span, now: Time, stray: Span) {
        self.shaken = true;
        // What arrives late may then wait for something to come, and be answered to nobody.
        self.stray_until = self.stray_until.max(now + stray + wait);
    }

    /// A check was answered, up to `end`.
    pub(crate) fn answered(&mut self, id: CallId, end: u64) -> Begins {
        let alone = match self.open.iter().position(|check| check.id == id) {
            Some(index) => self.open.remove(index).alone,
            None => false,
        };
        let before = self.end;
        self.end = before.max(end);
        if alone && !self.shaken {
            return Begins::AtTheLastEnd(before);
        }
        self.shaken &= !alone;
        Begins::Somewhere
    }

    /// A check was refused.
    pub(crate) fn refused(&mut self, id: CallId) {
        self.open.retain(|check| check.id != id);
    }

    /// The check that is waiting, if there is one and nothing else reads.
    pub(crate) fn waiting(&self) -> Option<&Check> {
        match self.open.as_slice() {
            [check] if check.alone => Some(check),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CallId = CallId(1);
    const B: CallId = CallId(2);

    fn at(seconds: u64) -> Time {
        Time(0) + Span::secs(seconds)
    }

    #[test]
    fn the_next_answer_begins_where_the_last_one_ended() {
        let mut checks = Checks::default();
        checks.called(A, Span::ZERO, at(1));
        assert!(checks.waiting().is_some());
        assert_eq!(checks.answered(A, 5), Begins::AtTheLastEnd(0));
        checks.called(B, Span::ZERO, at(2));
        assert_eq!(checks.answered(B, 5), Begins::AtTheLastEnd(5));
    }

    #[test]
    fn an_answer_that_may_be_lost_leaves_it_open_until_one_was_asked_alone() {
        let mut checks = Checks::default();
        checks.called(A, Span::secs(3), at(1));
        let before = checks.retried(A, at(5), Span::secs(2));
        assert_eq!(before.map(|check| check.left_at), Some(at(1)));
        assert_eq!(checks.answered(A, 5), Begins::Somewhere);
        // The first attempt may still arrive, and wait.
        checks.called(A, Span::ZERO, at(10));
        assert!(checks.waiting().is_none());
        assert_eq!(checks.answered(A, 6), Begins::Somewhere);
        for (seconds, begins) in [(11, Begins::Somewhere), (12, Begins::AtTheLastEnd(7))] {
            checks.called(B, Span::ZERO, at(seconds));
            assert_eq!(checks.answered(B, 7), begins);
        }
    }

    #[test]
    fn of_two_at_once_neither_is_alone() {
        let mut checks = Checks::default();
        checks.called(A, Span::ZERO, at(1));
        checks.called(B, Span::ZERO, at(1));
        assert!(checks.waiting().is_none());
        assert_eq!(checks.answered(B, 9), Begins::Somewhere);
        checks.abandoned(A, at(2), Span::ZERO);
        checks.called(A, Span::ZERO, at(3));
        assert_eq!(checks.answered(A, 9), Begins::Somewhere);
        checks.called(A, Span::ZERO, at(4));
        assert_eq!(checks.answered(A, 12), Begins::AtTheLastEnd(9));
    }
}
