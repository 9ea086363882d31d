//! The clock of one machine that shows the time since its start: it may run too fast or too slow, or
//! stand still with the machine.

use chat_types::{Span, Time};

/// A rate is so many hundredths of the right one.
pub(super) const RIGHT: u32 = 100;

/// A clock whose rate changed last at `since`, when it showed `shown`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachineClock {
    since: Time,
    shown: Time,
    rate: u32,
}

impl MachineClock {
    /// A right clock, which shows this at `since`.
    pub(super) const fn new(since: Time, shown: Time) -> Self {
        Self {
            since,
            shown,
            rate: RIGHT,
        }
    }

    /// What it shows at an instant, not before the last change of its rate.
    pub(super) fn at(&self, at: Time) -> Time {
        self.shown + Span(at.since(self.since).0 * u64::from(self.rate) / u64::from(RIGHT))
    }

    /// When it shows this.
    pub(super) fn when(&self, shows: Time) -> Time {
        let rest = shows.since(self.shown).0 * u64::from(RIGHT);
        self.since + Span(rest.div_ceil(u64::from(self.rate)))
    }

    /// It stands still until then.
    pub(super) fn stand(&mut self, now: Time, until: Time) {
        self.turn(now, self.rate);
        self.since = self.since.max(until);
    }

    /// It stands still no longer.
    pub(super) fn go_on(&mut self, now: Time) {
        self.since = self.since.min(now);
    }

    /// Whether it is too slow by more than this.
    pub(super) const fn is_slower_by(&self, percent: u32) -> bool {
        self.rate < RIGHT - percent
    }

    /// From now on it runs at this rate, which is not 0.
    pub(super) fn turn(&mut self, now: Time, rate: u32) {
        *self = Self {
            since: self.since.max(now),
            shown: self.at(now),
            rate,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time(1_000_000);

    #[test]
    fn a_clock_gains_and_loses_by_its_rate() {
        let mut clock = MachineClock::new(START, Time(0));
        clock.turn(START + Span::secs(1), RIGHT + 10);
        assert_eq!(clock.at(START + Span::secs(11)), Time(12_000_000));
        clock.turn(START + Span::secs(11), RIGHT - 50);
        assert_eq!(clock.at(START + Span::secs(13)), Time(13_000_000));
        clock.turn(START + Span::secs(13), RIGHT);
        assert_eq!(clock.at(START + Span::secs(14)), Time(14_000_000));
    }

    #[test]
    fn a_clock_stands_still_and_goes_on() {
        let mut clock = MachineClock::new(START, Time(0));
        clock.stand(START + Span::secs(1), START + Span::secs(5));
        assert_eq!(clock.at(START + Span::secs(3)), Time(1_000_000));
        assert_eq!(clock.at(START + Span::secs(6)), Time(2_000_000));
    }

    #[test]
    fn an_instant_is_when_the_clock_shows_it() {
        let mut clock = MachineClock::new(START, Time(0));
        clock.turn(START, RIGHT - 30);
        for shows in [1, 2, 3, 10, 999_999, 1_000_001] {
            let when = clock.when(Time(shows));
            assert!(clock.at(when) >= Time(shows));
            assert!(clock.at(Time(when.0 - 1)) < Time(shows));
        }
    }
}
