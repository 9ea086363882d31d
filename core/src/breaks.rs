//! Breaks: how stressed one participant is, and how alert its boss.
//!
//! The rules are those of the `ChillMCP` mission. Both values follow from stored instants, so that
//! time moves them and reading does not.

use chat_types::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::dice::Dice;

/// The highest stress level.
const MAX_STRESS: u8 = 100;
/// The largest relief that one break gives.
const MAX_RELIEF: u64 = 100;
/// The time in which stress rises by one point.
const STRESS_EVERY: Span = Span::secs(60);
/// The highest alert level of a boss.
const MAX_ALERT: u8 = 5;
/// The delay of an answer while the boss is at `MAX_ALERT`.
const HELD: Span = Span::secs(20);
/// The cool-down that applies where the operator configured zero.
const LEAST_COOLDOWN: Span = Span::secs(1);
/// The number of flavours, from which the texts of an answer are chosen.
const FLAVOURS: u64 = 1 << 32;

/// The behaviour of bosses, which the operator configures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boss {
    /// The percentage of breaks that raise the alert level.
    pub(crate) alertness: u32,
    /// The time in which the alert level falls by one.
    pub(crate) cooldown: Span,
}

impl Boss {
    fn cooldown(self) -> Span {
        match self.cooldown {
            Span::ZERO => LEAST_COOLDOWN,
            cooldown => cooldown,
        }
    }
}

/// The result of one break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BreakOutcome {
    /// Whether the break raised the alert level. If not, then by chance, or because it
    /// is at its maximum.
    pub(crate) is_noticed: bool,
    /// The earliest instant at which the answer may leave.
    pub(crate) answer_at: Time,
    /// A random number by which the texts of the answer are chosen.
    pub(crate) flavour: u32,
}

/// The break state of one participant: stress and alert level, each with the instant at which it
/// was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Breaks {
    /// The stress right after the last break, or on registration.
    stress: u8,
    relaxed_at: Time,
    /// The alert level right after the last break that raised it.
    alert: u8,
    alerted_at: Time,
}

impl Breaks {
    /// The state of a new participant: no stress, no alert.
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            stress: 0,
            relaxed_at: now,
            alert: 0,
            alerted_at: now,
        }
    }

    /// The stress level, from 0 to 100, and the boss's alert level, from 0 to 5, at `now`. Stress
    /// rises by one for each whole minute; the alert level falls by one for each whole cool-down.
    pub(crate) fn mood(&self, now: Time, boss: Boss) -> (u8, u8) {
        let minutes = now.since(self.relaxed_at).0 / STRESS_EVERY.0;
        let calmed = now.since(self.alerted_at).0 / boss.cooldown().0;
        let left = |count: u64, most: u8| u8::try_from(count).map_or(most, |n| n.min(most));
        let stress = self.stress.saturating_add(left(minutes, MAX_STRESS));
        let boss_alert = self.alert.saturating_sub(left(calmed, MAX_ALERT));
        (stress.min(MAX_STRESS), boss_alert)
    }

    /// Takes a break at `now`.
    pub(crate) fn take(&mut self, now: Time, boss: Boss, dice: &mut Dice) -> BreakOutcome {
        let (stress, boss_alert) = self.mood(now, boss);
        let relief = 1 + dice.below(MAX_RELIEF);
        self.stress = u8::try_from(u64::from(stress).saturating_sub(relief)).unwrap_or(0);
        self.relaxed_at = now;
        let sees = dice.below(100) < u64::from(boss.alertness);
        // At the maximum the level does not change, so the cool-down keeps its start.
        let is_noticed = sees && boss_alert < MAX_ALERT;
        if is_noticed {
            self.alert = boss_alert + 1;
            self.alerted_at = now;
        }
        let alarmed = self.mood(now, boss).1 == MAX_ALERT;
        BreakOutcome {
            is_noticed,
            answer_at: if alarmed { now + HELD } else { now },
            flavour: u32::try_from(dice.below(FLAVOURS)).unwrap_or(0),
        }
    }

    /// Stores the alert level at `now`, before the cool-down changes from that of `before` to that
    /// of `after`. The part of a cool-down that has passed counts towards the new one. If it
    /// exceeds the new one, the level falls by one, not by more.
    pub(crate) fn settle(&mut self, now: Time, before: Boss, after: Boss) {
        let (_, level) = self.mood(now, before);
        let falls = u64::from(self.alert - level);
        self.alert = level;
        self.alerted_at += before.cooldown().times(falls);
        let earliest = Time(now.0.saturating_sub(after.cooldown().0));
        self.alerted_at = self.alerted_at.max(earliest);
    }

    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.stress > MAX_STRESS || self.alert > MAX_ALERT {
            return Err("is more stressed, or its boss more alert, than can be".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chat_types::{BreakKind, Position};

    use super::{Boss, BreakOutcome, Breaks, Dice, MAX_ALERT, Span, Time};

    const START: Time = Time(1_000_000);
    const MINUTE: Span = Span::secs(60);
    const ALWAYS: Boss = boss(100, 300);
    const NEVER: Boss = boss(0, 300);

    const fn boss(alertness: u32, cooldown_seconds: u64) -> Boss {
        Boss {
            alertness,
            cooldown: Span::secs(cooldown_seconds),
        }
    }

    fn take(breaks: &mut Breaks, now: Time, boss: Boss, position: u64) -> BreakOutcome {
        breaks.take(now, boss, &mut Dice::of(42, Position(position)))
    }

    /// A participant with the highest stress, under a boss of this alert level.
    fn worn_out(alert: u8) -> Breaks {
        Breaks {
            stress: 100,
            alert,
            ..Breaks::new(START)
        }
    }

    #[test]
    fn every_break_is_found_by_its_name() {
        assert_eq!(BreakKind::ALL.len(), 11);
        for kind in BreakKind::ALL {
            assert_eq!(BreakKind::named(kind.name()), Some(*kind));
        }
        assert_eq!(BreakKind::named("work"), None);
    }

    #[test]
    fn stress_rises_each_minute_to_a_hundred_however_often_it_is_read() {
        let breaks = Breaks::new(START);
        let minute = |minutes| START + MINUTE.times(minutes);
        for (now, stress) in [
            (Time(0), 0),
            (START, 0),
            (Time(minute(10).0 - 1), 9),
            (minute(10), 10),
            (minute(10), 10),
            (minute(99), 99),
            (minute(100), 100),
            (minute(101), 100),
            (minute(1_000_000), 100),
        ] {
            assert_eq!(breaks.mood(now, NEVER).0, stress, "{now:?}");
        }
    }

    #[test]
    fn stress_counts_whole_minutes_from_the_last_break() {
        let mut breaks = worn_out(0);
        let now = START + Span::secs(59);
        take(&mut breaks, now, NEVER, 1);
        let left = breaks.mood(now, NEVER).0;
        assert!(left < 100, "a break takes one at least");
        assert_eq!(breaks.mood(now + Span(MINUTE.0 - 1), NEVER).0, left);
        assert_eq!(breaks.mood(now + MINUTE, NEVER).0, left + 1);
    }

    #[test]
    fn a_break_takes_away_one_to_a_hundred_each_as_often() {
        let mut counts = [0_u32; 101];
        for position in 0..100_000 {
            let mut breaks = worn_out(0);
            take(&mut breaks, START, NEVER, position);
            counts[usize::from(100 - breaks.stress)] += 1;
        }
        assert_eq!(counts[0], 0, "no break is for nothing");
        // Six standard deviations of a count of 1,000 are 190.
        for count in &counts[1..] {
            assert!(count.abs_diff(1_000) < 190, "{counts:?}");
        }
    }

    #[test]
    fn values_stay_in_range_over_a_hundred_thousand_breaks() {
        let mut breaks = Breaks::new(START);
        let mut now = START;
        let mut seen = [[0_u32; 101], [0; 101]];
        for position in 0..100_000 {
            let mut dice = Dice::of(7, Position(position));
            let most = if dice.below(10) == 0 { 20_000 } else { 600 };
            now += Span::secs(dice.below(most));
            let before = breaks.mood(now, ALWAYS);
            take(&mut breaks, now, boss(50, 300), position);
            let after = breaks.mood(now, ALWAYS);
            assert!(after.0 <= 100 && after.1 <= MAX_ALERT);
            assert!(after.0 < before.0 || before.0 == 0);
            assert!(after.1.wrapping_sub(before.1) <= 1);
            seen[0][usize::from(before.0)] += 1;
            seen[1][usize::from(after.1)] += 1;
        }
        assert!(seen[0][0] > 0 && seen[0][100] > 0, "both ends are reached");
        assert!(seen[1][..6].iter().all(|n| *n > 0), "and every level");
    }

    #[test]
    fn the_boss_notices_its_configured_percentage() {
        for alertness in [0, 25, 50, 80, 100] {
            let noticed = (0..100_000)
                .filter(|position| {
                    let mut breaks = Breaks::new(START);
                    take(&mut breaks, START, boss(alertness, 300), *position).is_noticed
                })
                .count();
            let expected = alertness as usize * 1_000;
            // Five standard deviations: of 100,000 throws at one half they are 791.
            let p = f64::from(alertness) / 100.0;
            let slack = 5.0 * (100_000.0 * p * (1.0 - p)).sqrt();
            let off = noticed.abs_diff(expected);
            assert!(off as f64 <= slack, "{alertness}: {noticed}");
        }
    }

    #[test]
    fn the_level_rises_by_one_and_ends_at_five() {
        let mut breaks = Breaks::new(START);
        for (position, level) in [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 5)] {
            let taken = take(&mut breaks, START, ALWAYS, position);
            assert_eq!(breaks.mood(START, ALWAYS).1, level);
            let held = if level == 5 {
                Span::secs(20)
            } else {
                Span::ZERO
            };
            assert_eq!(taken.answer_at, START + held);
            assert_eq!(taken.is_noticed, position < 6);
        }
    }

    #[test]
    fn the_level_falls_by_one_each_cool_down() {
        for (cooldown, each) in [(0, 1), (1, 1), (10, 10), (300, 300)] {
            let boss = boss(100, cooldown);
            let breaks = Breaks {
                alert: 5,
                ..Breaks::new(START)
            };
            for falls in 0..8 {
                let level = 5_u64.saturating_sub(falls);
                let at = |seconds: u64| u64::from(breaks.mood(START + Span::secs(seconds), boss).1);
                assert_eq!(at(falls * each), level, "{cooldown} s, {falls} falls");
                let next = Time((START + Span::secs((falls + 1) * each)).0 - 1);
                assert_eq!(u64::from(breaks.mood(next, boss).1), level);
            }
        }
    }

    #[test]
    fn an_unchanged_alert_level_does_not_restart_the_cool_down() {
        let cooldown = Span::secs(300);
        // A break changes nothing if the level is at its maximum, or if the boss does not notice
        // it.
        for (level, boss) in [(5, ALWAYS), (3, NEVER)] {
            let mut breaks = worn_out(level);
            take(&mut breaks, START + Span::secs(299), boss, 1);
            assert_eq!(breaks.mood(START + Span::secs(299), boss).1, level);
            assert_eq!(breaks.mood(START + cooldown, boss).1, level - 1);
        }
        // A break that raises the level restarts the cool-down.
        let mut breaks = worn_out(3);
        take(&mut breaks, START + Span::secs(299), ALWAYS, 1);
        assert_eq!(breaks.mood(START + cooldown, ALWAYS).1, 4);
        assert_eq!(breaks.mood(START + Span::secs(598), ALWAYS).1, 4);
        assert_eq!(breaks.mood(START + Span::secs(599), ALWAYS).1, 3);
    }

    #[test]
    fn the_cool_down_counts_from_the_last_fall() {
        let mut breaks = worn_out(5);
        // The level falls to 4 at 300 s and rises again at 450 s.
        take(&mut breaks, START + Span::secs(450), ALWAYS, 1);
        assert_eq!(breaks.mood(START + Span::secs(749), ALWAYS).1, 5);
        assert_eq!(breaks.mood(START + Span::secs(750), ALWAYS).1, 4);
    }

    #[test]
    fn a_changed_cool_down_counts_from_the_change_and_lets_one_level_fall_when_it_comes() {
        let (slow, fast) = (boss(50, 300), boss(50, 10));
        // When it comes, the level then, and how long until that falls.
        for (comes, level, falls) in [(305, 4, 5), (309, 4, 1), (310, 3, 10), (599, 3, 10)] {
            let mut breaks = worn_out(5);
            breaks.settle(START + Span::secs(comes), slow, fast);
            let at = |seconds: u64| breaks.mood(START + Span::secs(comes + seconds), fast).1;
            let levels = (at(0), at(falls - 1), at(falls));
            assert_eq!(levels, (level, level, level - 1), "{comes} s");
        }
    }

    #[test]
    fn an_impossible_state_of_breaks_is_invalid() {
        assert_eq!(worn_out(5).validate(), Ok(()));
        assert!(worn_out(6).validate().is_err());
        let stressed = Breaks {
            stress: 101,
            ..worn_out(0)
        };
        assert!(stressed.validate().is_err());
    }
}
