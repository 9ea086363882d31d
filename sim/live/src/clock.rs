//! The only reader of clocks in a live run.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_types::{Span, Time};
use chrono::DateTime;
use cpu_time::{ProcessTime, ThreadTime};

/// Real time since the beginning of a run, and conversion of servers' timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    /// The beginning, in microseconds since the Unix epoch.
    epoch: u64,
}

/// The processor time of the driver, of all its threads and of the thread that owns the users.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worked {
    pub(super) all: Duration,
    pub(super) owner: Duration,
}

impl Clock {
    /// Starts the clock.
    pub(super) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: Instant::now(),
            epoch: micros(since.unwrap_or_default()),
        }
    }

    /// The beginning, by the machine's clock.
    pub(super) const fn began(&self) -> Time {
        Time(self.epoch)
    }

    /// The time since the beginning.
    pub(super) fn now(&self) -> Time {
        Time(micros(self.began.elapsed()))
    }

    /// A number that differs between runs: nanoseconds since the epoch.
    pub(super) fn nonce() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        u64::try_from(nanos & u128::from(u64::MAX)).unwrap_or_default()
    }

    /// A server's timestamp, in microseconds since the epoch, as an instant of the run. Instants
    /// before the beginning count as the beginning.
    pub(super) fn of_server(&self, micros: u64) -> Time {
        Time(micros.saturating_sub(self.epoch))
    }

    /// The processor time of this program and of the calling thread so far.
    pub(super) fn worked() -> Worked {
        Worked {
            all: ProcessTime::now().as_duration(),
            owner: ThreadTime::now().as_duration(),
        }
    }

    /// The time until `due`.
    pub(super) fn until(&self, due: Time) -> Duration {
        let Span(left) = due.since(self.now());
        Duration::from_micros(left)
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// Parses a timestamp of RFC 3339 as microseconds since the epoch. A server truncates digits, so
/// the result is the latest instant that the timestamp can mean.
pub(super) fn timestamp(text: &str) -> Option<u64> {
    let read = DateTime::parse_from_rfc3339(text).ok()?;
    let micros = u64::try_from(read.timestamp_micros()).ok()?;
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let finer = 6_usize.saturating_sub(digits);
    micros.checked_add(10_u64.pow(u32::try_from(finer).ok()?) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_read_as_its_latest_instant() {
        for (text, micros) in [
            ("1970-01-01T00:00:00.000Z", 999),
            ("1970-01-01T00:00:01.5Z", 1_599_999),
            ("2026-11-22T02:38:42.779Z", 1_795_315_122_779_999),
            ("2026-11-22T11:38:42.779123456+09:00", 1_795_315_122_779_123),
            ("2024-02-29T23:59:59Z", 1_709_251_199_999_999),
            ("2024-02-29t23:59:59.12z", 1_709_251_199_129_999),
            ("1969-12-31T22:30:00-01:30", 999_999),
        ] {
            assert_eq!(timestamp(text), Some(micros), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-11-22T02:38:42.779",
            "2026-02-30T00:00:00Z",
            "1969-12-31T23:59:58Z",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }
}
