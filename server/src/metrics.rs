//! Metrics in the text format of Prometheus.
//!
//! Counters and times are updated by calls; sizes are read from the node for each request.

mod sizes;

use std::fmt;
use std::time::Duration;

use chat_core::Time;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::capacity::Capacity;
use crate::tools::Tool;
use crate::turned_away::Kind;

pub use sizes::Seen;

use sizes::Sizes;

/// By tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByTool {
    tool: &'static str,
}

/// A label with the code of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByCode {
    code: &'static str,
}

/// By reason of the refusal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    why: &'static str,
}

/// All metrics. Shared by all parts that update them.
pub struct Metrics {
    registry: Registry,
    calls: Family<ByTool, Counter>,
    refusals: Family<ByCode, Counter>,
    turned_away: Family<ByKind, Counter>,
    call_seconds: Histogram,
    driver_wait_seconds: Histogram,
    driver_turn_seconds: Histogram,
    inbox_lag_seconds: Histogram,
    model_bytes: Counter,
    history_lag: Gauge,
    sizes: Sizes,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics(…)")
    }
}

/// Buckets from 20 µs to about 80 s, each four times as wide as the last.
fn times() -> Histogram {
    Histogram::new(exponential_buckets(0.000_02, 4.0, 12))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("talking_stick"),
            calls: Family::default(),
            refusals: Family::default(),
            turned_away: Family::default(),
            call_seconds: times(),
            driver_wait_seconds: times(),
            driver_turn_seconds: times(),
            inbox_lag_seconds: times(),
            model_bytes: Counter::default(),
            history_lag: Gauge::default(),
            sizes: Sizes::default(),
        };
        metrics.register_counts();
        metrics.sizes.register(&mut metrics.registry);
        metrics
    }
}

impl Metrics {
    fn register_counts(&mut self) {
        let registry = &mut self.registry;
        registry.register("calls", "Calls by tool", self.calls.clone());
        registry.register("refusals", "Refused calls by code", self.refusals.clone());
        registry.register(
            "turned_away",
            "Requests turned away at the door by why",
            self.turned_away.clone(),
        );
        registry.register(
            "call_seconds",
            "From a call to its answer, waits of checks left out",
            self.call_seconds.clone(),
        );
        registry.register(
            "driver_wait_seconds",
            "How long calls lay in the channel before the driver took them",
            self.driver_wait_seconds.clone(),
        );
        registry.register(
            "driver_turn_seconds",
            "How long the driver was busy at a time",
            self.driver_turn_seconds.clone(),
        );
        registry.register(
            "inbox_lag_seconds",
            "From an event to its stream's reader",
            self.inbox_lag_seconds.clone(),
        );
        registry.register(
            "model_bytes",
            "Bytes of text that models were sent to read",
            self.model_bytes.clone(),
        );
        registry.register(
            "history_lag",
            "Entries of the journal that the history lacks",
            self.history_lag.clone(),
        );
    }

    /// Records an answered call of this tool with its duration.
    pub fn called(&self, tool: Tool, took: Duration) {
        self.calls
            .get_or_create(&ByTool { tool: tool.name() })
            .inc();
        // These wait on purpose.
        if !matches!(tool, Tool::Check | Tool::Break(_)) {
            self.call_seconds.observe(took.as_secs_f64());
        }
    }

    /// Counts a refused call.
    pub fn refused(&self, code: &'static str) {
        self.refusals.get_or_create(&ByCode { code }).inc();
    }

    /// Counts a request that the guard refused.
    pub fn turned_away(&self, kind: Kind) {
        let why = ByKind { why: kind.name() };
        self.turned_away.get_or_create(&why).inc();
    }

    /// Records how long a call waited in the driver's channel.
    pub fn waited(&self, span: Duration) {
        self.driver_wait_seconds.observe(span.as_secs_f64());
    }

    /// Records the duration of a turn of the driver.
    pub fn turned(&self, span: Duration) {
        self.driver_turn_seconds.observe(span.as_secs_f64());
    }

    /// Records the delay between an event and its delivery.
    pub fn delivered(&self, happened: Time, now: Time) {
        let lag = Duration::from_micros(now.since(happened).0);
        self.inbox_lag_seconds.observe(lag.as_secs_f64());
    }

    /// Counts bytes that were sent to a model.
    pub fn sent_to_model(&self, bytes: usize) {
        self.model_bytes.inc_by(bytes as u64);
    }

    /// Records how many entries of the journal the history lacks.
    pub fn history_lags(&self, entries: u64) {
        self.history_lag
            .set(i64::try_from(entries).unwrap_or(i64::MAX));
    }

    /// Renders all metrics with the current reading of the node; without one, with the last
    /// reading.
    ///
    /// # Errors
    /// Never, as long as text can be written to memory.
    pub fn render(
        &self,
        now: Time,
        seen: Option<Seen>,
        (queued, capacity): (usize, &Capacity),
    ) -> Result<String, fmt::Error> {
        self.sizes.read(queued, capacity);
        if let Some(seen) = seen {
            self.sizes.set(now, seen);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use chat_core::{Address, Counts, Load, Span};

    use super::*;
    use crate::capacity::Share;

    #[test]
    fn what_happened_can_be_read() {
        let metrics = Metrics::default();
        metrics.called(Tool::SendMessage, Duration::from_millis(1));
        metrics.called(Tool::Check, Duration::from_secs(20));
        metrics.refused("stick_required");
        metrics.turned_away(Kind::WrongToken);
        metrics.sent_to_model(120);
        metrics.history_lags(5);
        metrics.delivered(Time(0), Time(1_000));
        let counts = Counts {
            participants: 3,
            of_one_address: 2,
            rooms: 2,
            waiting: 1,
            first_waits_since: Some(Time(0)),
            recent_wait: Some(Span::millis(1_500)),
        };
        let load = Load {
            pending: 4,
            parked: 5,
            streams: 6,
            held: 8,
            addresses: 11,
        };
        let seen = Seen {
            counts,
            load,
            participants: Share { all: 30, each: 5 },
            alerts: 9,
            held: 10,
        };
        let capacity = Capacity::default();
        let _session = capacity.sessions.take(Address(1), 1);
        capacity.memory.measured(12_000);
        metrics.render(Time(1), Some(seen), (6, &capacity)).unwrap();
        let text = metrics.render(Time(2_000_000), Some(seen), (7, &capacity));
        let text = text.unwrap();
        for line in [
            "talking_stick_calls_total{tool=\"send_message\"} 1",
            "talking_stick_call_seconds_count 1",
            "talking_stick_refusals_total{code=\"stick_required\"} 1",
            "talking_stick_turned_away_total{why=\"wrong_token\"} 1",
            "talking_stick_model_bytes_total 120",
            "talking_stick_history_lag 5",
            "talking_stick_inbox_lag_seconds_count 1",
            "talking_stick_participants 3",
            "talking_stick_queue_first_wait_seconds 2.0",
            "talking_stick_queue_recent_wait_seconds 1.5",
            "talking_stick_streams 6",
            "talking_stick_driver_queued 7",
            "talking_stick_held_answers 8",
            "talking_stick_boss_alerts_total 9",
            "talking_stick_breaks_held_total 10",
            "talking_stick_held{resource=\"sessions\"} 1",
            "talking_stick_held_by_one_limit{resource=\"sessions\"} 625",
            "talking_stick_held{resource=\"participants\"} 3",
            "talking_stick_held_by_one{resource=\"participants\"} 2",
            "talking_stick_held_by_one_limit{resource=\"participants\"} 5",
            "talking_stick_held_limit{resource=\"participants\"} 30",
            "talking_stick_rated_addresses 11",
            "talking_stick_held_refused_total{resource=\"sessions\"} 0",
            "talking_stick_resident_bytes 12000",
            "talking_stick_memory_limit_bytes 0",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
