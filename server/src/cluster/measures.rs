//! What is measured of a member, and what it notices of its log and of itself: a log that is too slow to own,
//! and pauses of the process. A call that waited during one has no effect any more: its client has repeated
//! it at another door, and may have used more request keys since than are remembered.

use std::time::{Duration, Instant};

use chat_cluster::{HEARTBEAT, LEASE, Outcome};
use chat_core::{Span, Time};
use server_chat::metrics::Row;
use server_settings::ClusterSettings;
use tokio::time::sleep;

use super::standing::Membership;

/// The pause between two looks at the log and the connection.
const LOOK: Duration = Duration::from_secs(5);

/// The pause between two questions to the monitoring of the log's servers.
const ASK: Duration = Duration::from_secs(20);

/// An owner appends a heartbeat this long before its lease ends. If that takes longer, it has no lease
/// meanwhile.
const SLOW: Duration = Duration::from_micros(LEASE.0 - HEARTBEAT.0);

/// The pause between two lines of a log that stays slow, and how long one must be fast to be named so.
const AGAIN: Duration = Duration::from_secs(60);

/// The longest time between two turns of a process that runs.
pub(super) const TURN: Duration = Duration::from_millis(500);

/// A longer time between two turns was a pause.
const PAUSE: Span = Span::secs(2);

/// How long after a pause a call may have arrived before it. On a busy machine it takes seconds to be read.
const DOUBT: Span = Span::secs(3);

/// Raises an alarm for each server of the log that does not keep what it acknowledges, again and again,
/// until the driver has stopped. Such a server was down when the member started, or has started with
/// other settings since.
pub(super) async fn watch_servers(member: Membership, options: ClusterSettings) {
    while !member.has_stopped() {
        sleep(ASK).await;
        for fault in server_nats::faults(&options).await {
            let metrics = member.local.metrics();
            metrics.count(Row::ClusterAlarms, "unsafe");
            tracing::error!(%fault, "a server of the log may lose what it acknowledges");
        }
    }
}

/// Measures the log and the connection to it, until the driver has stopped.
pub(super) async fn watch(member: Membership) {
    let metrics = member.local.metrics();
    while !member.has_stopped() {
        let reconnects = member.log.reconnects();
        metrics.set(Row::ClusterConnected, "", reconnects.is_some().into());
        metrics.raise(Row::ClusterReconnects, "", reconnects.unwrap_or(0));
        if let Some(log) = member.log.state().await {
            let behind = log.last.saturating_sub(member.sequence());
            for (row, number) in [
                (Row::ClusterBehind, behind),
                (Row::ClusterLogRecords, log.records),
                (Row::ClusterLogBytes, log.bytes),
                (Row::ClusterSnapshotTime, log.snapshot_at),
            ] {
                metrics.set(row, "", number);
            }
        }
        sleep(LOOK).await;
    }
}

/// Whether appends are too slow.
#[derive(Debug, Default)]
pub(super) struct LogPace {
    /// When the last line said that they are.
    said: Option<Instant>,
    /// When the last one was; none if appends have been fast enough since they were named so.
    slow: Option<Instant>,
}

impl LogPace {
    /// Takes note of an attempt to append.
    pub(super) fn appended(&mut self, outcome: Option<Outcome>, took: Duration) {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match self.is_now_slow(Instant::now(), outcome, took) {
            Some(true) => tracing::warn!(
                took_ms,
                "an append to the log takes a second or more: calls wait, and no member keeps the \
                 ownership. The NATS servers are down, busy, or too far away"
            ),
            Some(false) => {
                tracing::info!(took_ms, "appends to the log take less than a second again");
            }
            None => {}
        }
    }

    /// What a line should say of the log now: that it is slow, or that it is fast again.
    fn is_now_slow(
        &mut self,
        now: Instant,
        outcome: Option<Outcome>,
        took: Duration,
    ) -> Option<bool> {
        let is_slow = match outcome {
            None => true,
            Some(Outcome::Acknowledged(_)) => took >= SLOW,
            // A refusal is fast also by a log that is slow.
            Some(Outcome::WrongLast | Outcome::Busy | Outcome::Rejected) => return None,
        };
        let is_over = |at: &Instant| now.duration_since(*at) >= AGAIN;
        if is_slow {
            self.slow = Some(now);
            if self.said.as_ref().is_none_or(is_over) {
                self.said = Some(now);
                return Some(true);
            }
            return None;
        }
        self.slow.take_if(|slow| is_over(slow))?;
        self.said.take().map(|_| false)
    }
}

/// Watches for pauses. All instants are those of the time since the machine started.
#[derive(Clone, Copy, Debug)]
pub(super) struct PauseWatch {
    last_turn: Time,
    doubted_until: Time,
}

impl PauseWatch {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            last_turn: now,
            doubted_until: now,
        }
    }

    /// A turn begins.
    pub(super) fn turn(&mut self, now: Time) {
        if now.since(self.last_turn) > PAUSE {
            tracing::warn!("this process was paused: calls that waited are refused");
            self.doubted_until = now + DOUBT;
        }
        self.last_turn = now;
    }

    /// Whether a call that is taken now may have waited during a pause.
    pub(super) fn is_in_doubt(&self, now: Time) -> bool {
        now < self.doubted_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_log_is_named_once_a_minute_until_it_was_fast_for_one() {
        let (mut pace, began) = (LogPace::default(), Instant::now());
        let (slow, fast) = (Some(true), Some(false));
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
            let said = pace.is_now_slow(now, outcome, Duration::from_millis(took_ms));
            assert_eq!(said, wanted, "{second}");
        }
    }

    #[test]
    fn calls_are_in_doubt_for_a_while_after_a_pause() {
        let at = |millis| Time(0) + Span::millis(millis);
        let mut watch = PauseWatch::new(at(0));
        watch.turn(at(2_000));
        assert!(!watch.is_in_doubt(at(2_000)));
        watch.turn(at(4_001));
        assert!(watch.is_in_doubt(at(4_001)));
        watch.turn(at(5_500));
        assert!(watch.is_in_doubt(at(7_000)));
        assert!(!watch.is_in_doubt(at(7_001)));
    }
}
