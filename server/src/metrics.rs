//! Metrics in the text format of Prometheus.
//!
//! Counters and times are updated by calls; sizes are read from the node for each request.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use chat_core::{Counts, Load, Node, Time};
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

/// A label with the tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByTool {
    tool: &'static str,
}

/// A label with the code of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByCode {
    code: &'static str,
}

/// A label with the work of a rate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByWork {
    of: &'static str,
}

/// A label with the resource of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResource {
    resource: &'static str,
}

/// A label with the reason of a refusal.
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
    sizes: Sizes,
}

/// The sizes that are read from the node for each request.
#[derive(Debug, Default)]
struct Sizes {
    participants: Gauge,
    rooms: Gauge,
    queue_length: Gauge,
    queue_first_wait_seconds: Gauge<f64, AtomicU64>,
    queue_recent_wait_seconds: Gauge<f64, AtomicU64>,
    streams: Gauge,
    waiting_checks: Gauge,
    held_answers: Gauge,
    journal_pending: Gauge,
    driver_queued: Gauge,
    boss_alerts: Counter,
    breaks_held: Counter,
    used: Used,
}

/// The use of pools and rates.
#[derive(Debug, Default)]
struct Used {
    held: Family<ByResource, Gauge>,
    most_of_one: Family<ByResource, Gauge>,
    limit: Family<ByResource, Gauge>,
    limit_of_one: Family<ByResource, Gauge>,
    refused: Family<ByResource, Counter>,
    resident_bytes: Gauge,
    memory_limit_bytes: Gauge,
    refused_for_memory: Counter,
    waited: Family<ByWork, Counter>,
    refused_for_rate: Family<ByWork, Counter>,
}

impl Used {
    fn register(&self, registry: &mut Registry) {
        let mut by_resource = |name, help, family: &Family<ByResource, Gauge>| {
            registry.register(name, help, family.clone());
        };
        by_resource("held", "What is held of a resource", &self.held);
        by_resource(
            "held_by_one",
            "What the source holds of it that holds most",
            &self.most_of_one,
        );
        by_resource("held_limit", "What there is of it", &self.limit);
        by_resource(
            "held_by_one_limit",
            "What one source may hold of it",
            &self.limit_of_one,
        );
        registry.register(
            "held_refused",
            "How often there was no more of it",
            self.refused.clone(),
        );
        registry.register(
            "resident_bytes",
            "The memory of the process",
            self.resident_bytes.clone(),
        );
        registry.register(
            "memory_limit_bytes",
            "The memory above which nothing is taken that holds some; 0 for no limit",
            self.memory_limit_bytes.clone(),
        );
        registry.register(
            "memory_refused",
            "How often something was refused for want of memory",
            self.refused_for_memory.clone(),
        );
        registry.register(
            "rate_waited",
            "How often a source was faster than it may be, and waited",
            self.waited.clone(),
        );
        registry.register(
            "rate_refused",
            "How often a source would have had to wait too long, and was refused",
            self.refused_for_rate.clone(),
        );
    }

    fn read(&self, capacity: &Capacity) {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        for pool in capacity.pools() {
            let by = ByResource {
                resource: pool.resource().name(),
            };
            let share = pool.share();
            for (family, now) in [
                (&self.held, pool.held()),
                (&self.most_of_one, pool.most_of_one()),
                (&self.limit, share.all),
                (&self.limit_of_one, share.each),
            ] {
                family.get_or_create(&by).set(whole(now));
            }
            raise(&self.refused.get_or_create(&by), pool.refused());
        }
        let memory = &capacity.memory;
        self.resident_bytes.set(whole(memory.resident()));
        let limit = memory.limit().unwrap_or(0);
        self.memory_limit_bytes.set(whole(limit));
        raise(&self.refused_for_memory, memory.refused());
        for rate in capacity.rates() {
            let by = ByWork {
                of: rate.of().name(),
            };
            raise(&self.waited.get_or_create(&by), rate.waited());
            let refused = self.refused_for_rate.get_or_create(&by);
            raise(&refused, rate.refused());
        }
    }
}

/// Raises a counter to a value that is counted elsewhere.
fn raise(counter: &Counter, now: u64) {
    counter.inc_by(now.saturating_sub(counter.get()));
}

/// A reading of the node.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    counts: Counts,
    load: Load,
    /// Breaks that a boss noticed.
    alerts: u64,
    /// Breaks whose answers were delayed.
    held: u64,
}

impl Seen {
    /// Reads this node.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let figures = node.hub().counters();
        Self {
            counts: node.hub().counts(),
            load: node.load(),
            alerts: figures.alerts(),
            held: figures.held(),
        }
    }
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

impl Sizes {
    fn register(&self, registry: &mut Registry) {
        registry.register(
            "participants",
            "Registered participants",
            self.participants.clone(),
        );
        registry.register("rooms", "Rooms, ended ones among them", self.rooms.clone());
        registry.register(
            "queue_length",
            "Waiting for a partner",
            self.queue_length.clone(),
        );
        registry.register(
            "queue_first_wait_seconds",
            "How long the first in that line has been waiting",
            self.queue_first_wait_seconds.clone(),
        );
        registry.register(
            "queue_recent_wait_seconds",
            "How long recent waits for a partner were on average",
            self.queue_recent_wait_seconds.clone(),
        );
        registry.register("streams", "Open event streams", self.streams.clone());
        registry.register(
            "waiting_checks",
            "Checks that wait for something to come",
            self.waiting_checks.clone(),
        );
        registry.register(
            "held_answers",
            "Answers of breaks that are held back, or may have to be",
            self.held_answers.clone(),
        );
        registry.register(
            "boss_alerts",
            "Breaks that made a boss more alert",
            self.boss_alerts.clone(),
        );
        registry.register(
            "breaks_held",
            "Breaks whose answers were held back, under a boss who was fully alert",
            self.breaks_held.clone(),
        );
        registry.register(
            "journal_pending",
            "Commands that wait for the journal",
            self.journal_pending.clone(),
        );
        registry.register(
            "driver_queued",
            "Calls that lie in the driver's channel",
            self.driver_queued.clone(),
        );
        self.used.register(registry);
    }
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
        self.sizes
            .driver_queued
            .set(i64::try_from(queued).unwrap_or(i64::MAX));
        self.sizes.used.read(capacity);
        if let Some(Seen {
            counts,
            load,
            alerts,
            held,
        }) = seen
        {
            let sizes = &self.sizes;
            let whole = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
            let seconds = |micros: u64| Duration::from_micros(micros).as_secs_f64();
            sizes.participants.set(whole(counts.participants));
            sizes.rooms.set(whole(counts.rooms));
            sizes.queue_length.set(whole(counts.waiting));
            let first = counts
                .first_waits_since
                .map_or(0, |since| now.since(since).0);
            sizes.queue_first_wait_seconds.set(seconds(first));
            let recent = counts.recent_wait.map_or(0, |wait| wait.0);
            sizes.queue_recent_wait_seconds.set(seconds(recent));
            sizes.streams.set(whole(load.streams));
            sizes.waiting_checks.set(whole(load.parked));
            sizes.held_answers.set(whole(load.held));
            sizes.journal_pending.set(whole(load.pending));
            // The node counts these itself, and never down.
            raise(&sizes.boss_alerts, alerts);
            raise(&sizes.breaks_held, held);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use chat_core::{Address, Span};

    use super::*;

    #[test]
    fn what_happened_can_be_read() {
        let metrics = Metrics::default();
        metrics.called(Tool::SendMessage, Duration::from_millis(1));
        metrics.called(Tool::Check, Duration::from_secs(20));
        metrics.refused("stick_required");
        metrics.turned_away(Kind::WrongToken);
        metrics.sent_to_model(120);
        metrics.delivered(Time(0), Time(1_000));
        let counts = Counts {
            participants: 3,
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
        };
        let seen = Seen {
            counts,
            load,
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
            "talking_stick_held_by_one_limit{resource=\"sessions\"} 2500",
            "talking_stick_held_refused_total{resource=\"sessions\"} 0",
            "talking_stick_resident_bytes 12000",
            "talking_stick_memory_limit_bytes 0",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
