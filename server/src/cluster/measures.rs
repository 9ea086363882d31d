//! What operators measure of a member.

use std::time::Duration;

use chat_cluster::{Alarm, Outcome};
use chat_core::Reject;
use server_chat::driver::Answered;
use server_chat::metrics::{AlarmKind, AppendResult, Forwarding, LogReading, MemberMetrics};
use server_nats::{LogOptions, StateReader};
use tokio::time::sleep;

use super::standing::Standings;

/// The pause between two looks at the log and the connection.
const PAUSE: Duration = Duration::from_secs(5);

/// The pause between two questions to the monitoring of the log's servers.
const AGAIN: Duration = Duration::from_secs(20);

/// Raises an alarm for each server of the log that does not keep what it acknowledges, again and again,
/// until the driver has stopped. Such a server was down when the member started, or has started with
/// other settings since.
pub(super) async fn watch_servers(
    options: LogOptions,
    standing: Standings,
    metrics: MemberMetrics,
) {
    while standing.has_changed().is_ok() {
        sleep(AGAIN).await;
        for fault in server_nats::faults(&options).await {
            metrics.alarmed(AlarmKind::Unsafe);
            tracing::error!(%fault, "a server of the log may lose what it acknowledges");
        }
    }
}

/// Measures the log and the connection to it, until the driver has stopped.
pub(super) async fn watch(reader: StateReader, standing: Standings, metrics: MemberMetrics) {
    while standing.has_changed().is_ok() {
        match reader.reconnects() {
            Some(reconnects) => metrics.connected(reconnects),
            None => metrics.disconnected(),
        }
        if let Some(log) = reader.read().await {
            metrics.log_is(LogReading {
                behind: log.last.saturating_sub(standing.borrow().sequence),
                records: log.records,
                bytes: log.bytes,
                snapshot_at: log.snapshot_at,
            });
        }
        sleep(PAUSE).await;
    }
}

pub(super) const fn append_result(outcome: Option<Outcome>) -> AppendResult {
    match outcome {
        Some(Outcome::Acknowledged(_)) => AppendResult::Acknowledged,
        Some(Outcome::WrongLast) => AppendResult::WrongLast,
        Some(Outcome::Busy) => AppendResult::Busy,
        Some(Outcome::Rejected) => AppendResult::Rejected,
        None => AppendResult::Unknown,
    }
}

pub(super) const fn alarm_kind(alarm: &Alarm) -> AlarmKind {
    match alarm {
        Alarm::Hole { .. } => AlarmKind::Hole,
        Alarm::Damaged { .. } => AlarmKind::Damaged,
        Alarm::Diverged { .. } => AlarmKind::Diverged,
        Alarm::Unreadable { .. } => AlarmKind::Unreadable,
    }
}

/// What a call came to that a door passed on.
pub(super) const fn forwarding(answered: &Answered) -> Forwarding {
    match answered.outcome {
        Err(Reject::StorageUnavailable { .. }) => Forwarding::Unavailable,
        Ok(_) | Err(_) => Forwarding::Answered,
    }
}
