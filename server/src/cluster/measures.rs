//! What operators measure of a member.

use std::sync::Arc;
use std::time::Duration;

use chat_cluster::{Alarm, Outcome};
use chat_core::Reject;
use server_chat::driver::Answered;
use server_chat::metrics::{Metrics, Row};
use server_nats::{LogOptions, LogReader};
use tokio::time::sleep;

use super::standing::Standings;

/// The pause between two looks at the log and the connection.
const PAUSE: Duration = Duration::from_secs(5);

/// The pause between two questions to the monitoring of the log's servers.
const AGAIN: Duration = Duration::from_secs(20);

/// Raises an alarm for each server of the log that does not keep what it acknowledges, again and again,
/// until the driver has stopped. Such a server was down when the member started, or has started with
/// other settings since.
pub(super) async fn watch_servers(options: LogOptions, standing: Standings, metrics: Arc<Metrics>) {
    while standing.has_changed().is_ok() {
        sleep(AGAIN).await;
        for fault in server_nats::faults(&options).await {
            metrics.count(Row::ClusterAlarms, "unsafe");
            tracing::error!(%fault, "a server of the log may lose what it acknowledges");
        }
    }
}

/// Measures the log and the connection to it, until the driver has stopped.
pub(super) async fn watch(reader: LogReader, standing: Standings, metrics: Arc<Metrics>) {
    while standing.has_changed().is_ok() {
        let reconnects = reader.reconnects();
        metrics.set(Row::ClusterConnected, "", reconnects.is_some().into());
        metrics.raise(Row::ClusterReconnects, "", reconnects.unwrap_or(0));
        if let Some(log) = reader.state().await {
            let behind = log.last.saturating_sub(standing.borrow().sequence);
            for (row, number) in [
                (Row::ClusterBehind, behind),
                (Row::ClusterLogRecords, log.records),
                (Row::ClusterLogBytes, log.bytes),
                (Row::ClusterSnapshotTime, log.snapshot_at.as_secs()),
            ] {
                metrics.set(row, "", number);
            }
        }
        sleep(PAUSE).await;
    }
}

pub(super) const fn append_result(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Acknowledged(_)) => "acknowledged",
        Some(Outcome::WrongLast) => "wrong_last",
        Some(Outcome::Busy) => "busy",
        Some(Outcome::Rejected) => "rejected",
        None => "unknown",
    }
}

pub(super) const fn alarm_kind(alarm: &Alarm) -> &'static str {
    match alarm {
        Alarm::Hole { .. } => "hole",
        Alarm::Damaged { .. } => "damaged",
        Alarm::Diverged { .. } => "diverged",
        Alarm::Unreadable { .. } => "unreadable",
    }
}

/// What a call came to that a door passed on.
pub(super) const fn forwarding(answered: &Answered) -> &'static str {
    match answered.outcome {
        Err(Reject::StorageUnavailable { .. }) => "unavailable",
        Ok(_) | Err(_) => "answered",
    }
}
