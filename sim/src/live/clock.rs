//! The one place of a live run that reads clocks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_core::{Span, Time};

/// Real time since the beginning of a run, and what the clocks of servers say in its terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    /// When that was, in microseconds since the Unix epoch.
    epoch: u64,
}

impl Clock {
    /// The run begins now.
    pub(super) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: Instant::now(),
            epoch: micros(since.unwrap_or_default()),
        }
    }

    /// Since the beginning.
    pub(super) fn now(&self) -> Time {
        Time(micros(self.began.elapsed()))
    }

    /// What tells this run from every other, as far as clocks can: nanoseconds since the epoch.
    pub(super) fn nonce() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        u64::try_from(nanos & u128::from(u64::MAX)).unwrap_or_default()
    }

    /// A server's timestamp, in microseconds since the epoch, as an instant of the run. Whatever
    /// was before the beginning is at it.
    pub(super) fn of_server(&self, micros: u64) -> Time {
        Time(micros.saturating_sub(self.epoch))
    }

    /// How long to wait until then.
    pub(super) fn until(&self, due: Time) -> Duration {
        let Span(left) = due.since(self.now());
        Duration::from_micros(left)
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// Reads a timestamp of RFC 3339 as microseconds since the epoch: the latest instant that it can
/// mean, since a server cuts off what is finer than it writes.
pub(super) fn timestamp(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| all)
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = text.get(19..)?;
    let digits = rest.strip_prefix('.').map_or(0, |fraction| {
        let end = fraction.bytes().position(|byte| !byte.is_ascii_digit());
        end.unwrap_or(fraction.len())
    });
    let (fraction, zone) = match digits {
        0 => (0, rest),
        _ => (number(20, 20 + digits.min(6))?, rest.get(1 + digits..)?),
    };
    let scale = 10_u64.pow(6 - u32::try_from(digits.min(6)).ok()?);
    let fraction = fraction * scale + (scale - 1);
    let days = days_from_civil(i64::try_from(year).ok()?, month, day)?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let seconds = i64::try_from(seconds).ok()? - offset(zone)?;
    u64::try_from(seconds)
        .ok()?
        .checked_mul(1_000_000)?
        .checked_add(fraction)
}

/// Seconds east of UTC: `Z`, or `+09:00`.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(sign * (hours * 3_600 + minutes * 60))
}

/// Days since 1970-01-01 of the Gregorian calendar (Hinnant, `chrono`-compatible algorithms).
fn days_from_civil(year: i64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = i64::try_from((month + 9) % 12).ok()?;
    let of_year = (153 * shifted + 2) / 5 + i64::try_from(day).ok()? - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    u64::try_from(era * 146_097 + day_of_era - 719_468).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_the_latest_that_they_can_mean() {
        for (text, micros) in [
            ("1970-01-01T00:00:00.000Z", 999),
            ("1970-01-01T00:00:01.5Z", 1_599_999),
            ("2026-11-22T02:38:42.779Z", 1_795_315_122_779_999),
            ("2026-11-22T11:38:42.779123456+09:00", 1_795_315_122_779_123),
            ("2024-02-29T23:59:59Z", 1_709_251_199_999_999),
        ] {
            assert_eq!(timestamp(text), Some(micros), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-11-22T02:38:42.779",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }
}
