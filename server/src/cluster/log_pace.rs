//! Notices a log that is too slow to own, and says so in this member's log.

use std::time::{Duration, Instant};

use chat_cluster::{HEARTBEAT, LEASE, Outcome};

/// An owner appends a heartbeat this long before its lease ends. If that takes longer, it has no lease
/// meanwhile.
const SLOW: Duration = Duration::from_micros(LEASE.0 - HEARTBEAT.0);

/// The pause between two lines of a log that stays slow, and how long one must be fast to be named so.
const AGAIN: Duration = Duration::from_secs(60);

/// Whether appends are too slow.
#[derive(Debug, Default)]
pub(super) struct LogPace {
    /// When the last line said that they are.
    said: Option<Instant>,
    /// When the last one was; none if appends have been fast enough since they were named so.
    slow: Option<Instant>,
}

/// What a line says of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PaceNews {
    Slow,
    FastAgain,
}

impl LogPace {
    /// Takes note of an attempt to append.
    pub(super) fn appended(&mut self, outcome: Option<Outcome>, took: Duration) {
        match self.news(Instant::now(), outcome, took) {
            Some(PaceNews::Slow) => tracing::warn!(
                took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "an append to the log takes a second or more: calls wait, and no member keeps the \
                 ownership. The NATS servers are down, busy, or too far away"
            ),
            Some(PaceNews::FastAgain) => tracing::info!(
                took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "appends to the log take less than a second again"
            ),
            None => {}
        }
    }

    fn news(&mut self, now: Instant, outcome: Option<Outcome>, took: Duration) -> Option<PaceNews> {
        let is_slow = match outcome {
            None => true,
            Some(Outcome::Acknowledged(_)) => took >= SLOW,
            // A refusal is fast also by a log that is slow.
            Some(Outcome::WrongLast | Outcome::Busy | Outcome::Rejected) => return None,
        };
        let is_over = |at: &Instant| now.duration_since(*at) >= AGAIN;
        if is_slow {
            self.slow = Some(now);
            let is_due = self.said.as_ref().is_none_or(is_over);
            return is_due.then(|| {
                self.said = Some(now);
                PaceNews::Slow
            });
        }
        self.slow.take_if(|slow| is_over(slow))?;
        self.said.take().map(|_| PaceNews::FastAgain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_log_is_named_once_a_minute_until_it_was_fast_for_one() {
        let (mut pace, began) = (LogPace::default(), Instant::now());
        let (slow, fast) = (Some(PaceNews::Slow), Some(PaceNews::FastAgain));
        let appended = Some(Outcome::Acknowledged(1));
        for (second, outcome, took_ms, wanted) in [
            (0, appended, 999, None),
            (1, None, 1_000, slow),
            (2, appended, 900, None),
            (3, appended, 1_200, None),
            (61, appended, 1_000, slow),
            (62, appended, 900, None),
            (121, Some(Outcome::WrongLast), 900, None),
            (121, appended, 900, fast),
            (122, appended, 1, None),
            (123, None, 1_000, slow),
        ] {
            let now = began + Duration::from_secs(second);
            let news = pace.news(now, outcome, Duration::from_millis(took_ms));
            assert_eq!(news, wanted, "{second}");
        }
    }
}
