//! What somebody's stress may be, as far as its answers tell.

use super::{Micros, Window};

/// The most there is.
pub(super) const MOST: i64 = 100;
/// How long one point takes to come.
const MINUTE: Micros = 60_000_000;

/// What was left by the last break, and when that was: anything from the first to the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stress {
    left: (i64, i64),
    since: (Micros, Micros),
}

impl Stress {
    /// Somebody came within this time, at ease.
    pub(super) const fn fresh(born: Window) -> Self {
        Self {
            left: (0, 0),
            since: (born.from, born.to),
        }
    }

    /// There may have been a break, of whatever effect, up to this time.
    pub(super) fn doubt(&mut self, until: Micros) {
        self.left = (0, MOST);
        self.since.1 = self.since.1.max(until);
    }

    /// How many whole minutes may have passed at some time of this window.
    fn minutes(&self, at: Window) -> (i64, i64) {
        let passed = |from: Micros, to: Micros| if to > from { (to - from) / MINUTE } else { 0 };
        (passed(self.since.1, at.from), passed(self.since.0, at.to))
    }

    /// What it may be at some time of this window.
    fn bounds(&self, at: Window) -> (i64, i64) {
        let (few, many) = self.minutes(at);
        (
            (self.left.0 + few).min(MOST),
            (self.left.1 + many).min(MOST),
        )
    }

    /// It was told, as of some time of this window.
    pub(super) fn read(&mut self, at: Window, told: i64) -> Result<(), String> {
        let (least, most) = self.bounds(at);
        if !(least..=most).contains(&told) {
            return Err(format!(
                "a stress of {told} was told, where one point for each whole minute since the \
                 last break makes {least} to {most}"
            ));
        }
        if told == MOST {
            return Ok(());
        }
        let (few, many) = self.minutes(at);
        self.left = (self.left.0.max(told - many), self.left.1.min(told - few));
        if self.left.0 == self.left.1 {
            let minutes = (told - self.left.0) * MINUTE;
            self.since.0 = self.since.0.max(at.from - minutes - MINUTE + 1);
            self.since.1 = self.since.1.min(at.to - minutes);
        }
        Ok(())
    }

    /// A break was taken at some time of `rolled`; the answer told this, up to `minutes` later.
    pub(super) fn take(&mut self, rolled: Window, minutes: i64, told: i64) -> Result<(), String> {
        let (_, most) = self.bounds(rolled);
        let least_left = (told - minutes).max(0);
        if least_left > (most - 1).max(0) {
            return Err(format!(
                "a break left a stress of {told}, where at most {most} was there before"
            ));
        }
        self.left = (least_left, told);
        self.since = (rolled.from, rolled.to);
        Ok(())
    }
}

/// Whole minutes within so much time.
pub(super) const fn minutes(length: Micros) -> i64 {
    length / MINUTE
}
