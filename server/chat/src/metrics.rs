//! Metrics in the text formats of Prometheus.
//!
//! Counters and times are updated by calls; sizes are read from the node for each request.
//!
//! A realm has metrics of its own. With several realms each of its series has the label `realm`. Those
//! of the process have none, and are written once.

mod exposition;
mod member;
mod process;
mod sizes;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use chat_core::Time;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use server_storage::history::DiskUse;

use crate::capacity::Capacity;
use crate::refusal::Refusal;
use crate::refused_requests::Kind;
use crate::tools::Tool;

pub use exposition::Exposition;
pub use member::{AlarmKind, AppendResult, Forwarding, LogReading, MemberMetrics, MemberReading};
pub use sizes::Seen;

use process::Process;
use sizes::{Sizes, Used, raise, whole};

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

/// By file of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByFile {
    of: &'static str,
}

/// By part of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPart {
    of: &'static str,
}

/// By route.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRoute {
    route: String,
}

/// By route and status of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByStatus {
    route: String,
    status: u16,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoConnection {
    /// There are as many connections as there may be, of all or of this source.
    Full,
    /// Its source opens too many connections.
    TooFast,
    /// The system gave none, as without free file descriptors.
    NotAccepted,
}

impl NoConnection {
    const ALL: [Self; 3] = [Self::Full, Self::TooFast, Self::NotAccepted];

    const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::TooFast => "too_fast",
            Self::NotAccepted => "not_accepted",
        }
    }
}

/// All metrics. Shared by all parts that update them.
pub struct Metrics {
    /// The series of the process, which are the same for all its realms.
    of_process: Registry,
    /// The series of the realm.
    of_realm: Registry,
    calls: Family<ByTool, Counter>,
    refusals: Family<ByCode, Counter>,
    refused_requests: Family<ByKind, Counter>,
    stale_token_files: Family<ByFile, Gauge>,
    connections: Counter,
    connections_refused: Family<ByKind, Counter>,
    http_responses: Family<ByStatus, Counter>,
    http_request_seconds: Family<ByRoute, Histogram, fn() -> Histogram>,
    call_seconds: Histogram,
    driver_wait_seconds: Histogram,
    driver_turn_seconds: Histogram,
    commit_seconds: Histogram,
    inbox_lag_seconds: Histogram,
    model_bytes: Counter,
    history_lag: Gauge,
    history_copy_lag: Gauge,
    history_damaged: Counter,
    history_lost: Counter,
    disk_bytes: Family<ByPart, Gauge>,
    sizes: Sizes,
    used: Used,
    process: Process,
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
        Self::new(None)
    }
}

/// The part of the registry with the server's own metrics.
fn own(registry: &mut Registry) -> &mut Registry {
    registry.sub_registry_with_prefix("talking_stick")
}

/// The part of a registry with this realm's label.
fn labelled<'a>(registry: &'a mut Registry, realm: &str) -> &'a mut Registry {
    registry.sub_registry_with_label((Cow::Borrowed("realm"), Cow::Owned(realm.to_owned())))
}

impl Metrics {
    /// The metrics of a realm, with its name as a label if there is one.
    #[must_use]
    pub fn new(realm: Option<&str>) -> Self {
        let mut metrics = Self {
            of_process: Registry::default(),
            of_realm: Registry::default(),
            calls: Family::default(),
            refusals: Family::default(),
            refused_requests: Family::default(),
            stale_token_files: Family::default(),
            connections: Counter::default(),
            connections_refused: Family::default(),
            http_responses: Family::default(),
            http_request_seconds: Family::new_with_constructor(times),
            call_seconds: times(),
            driver_wait_seconds: times(),
            driver_turn_seconds: times(),
            commit_seconds: times(),
            inbox_lag_seconds: times(),
            model_bytes: Counter::default(),
            history_lag: Gauge::default(),
            history_copy_lag: Gauge::default(),
            history_damaged: Counter::default(),
            history_lost: Counter::default(),
            disk_bytes: Family::default(),
            sizes: Sizes::default(),
            used: Used::default(),
            process: Process::start(),
        };
        let mut registry = Registry::default();
        metrics.process.register(&mut registry);
        metrics.register_process(own(&mut registry));
        metrics.of_process = registry;
        let mut registry = Registry::default();
        let own = own(&mut registry);
        metrics.register_realm(match realm {
            Some(realm) => labelled(own, realm),
            None => own,
        });
        metrics.of_realm = registry;
        metrics.begin();
        metrics
    }

    /// Begins the series whose labels are known: a rate needs a value to begin with.
    fn begin(&self) {
        for why in NoConnection::ALL {
            let why = ByKind { why: why.name() };
            let _ = self.connections_refused.get_or_create(&why);
        }
        for kind in Kind::ALL {
            let why = ByKind { why: kind.name() };
            let _ = self.refused_requests.get_or_create(&why);
        }
        for code in Refusal::codes() {
            let _ = self.refusals.get_or_create(&ByCode { code });
        }
        for of in ["callers", "operators"] {
            let _ = self.stale_token_files.get_or_create(&ByFile { of });
        }
        for tool in Tool::ALL {
            let _ = self.calls.get_or_create(&ByTool { tool: tool.name() });
        }
    }

    /// Adds the metrics of a member of this realm's cluster.
    #[must_use]
    pub fn with_member(mut self, realm: &str, member: &MemberMetrics) -> Self {
        member.register(labelled(own(&mut self.of_realm), realm));
        self
    }

    fn register_process(&self, registry: &mut Registry) {
        registry.register(
            "build",
            "The server's version, and what it was built for",
            Info::new(vec![
                ("version", env!("CARGO_PKG_VERSION")),
                ("commit", option_env!("TALKING_STICK_COMMIT").unwrap_or("")),
                ("os", std::env::consts::OS),
                ("arch", std::env::consts::ARCH),
            ]),
        );
        registry.register(
            "connections",
            "Connections that were accepted",
            self.connections.clone(),
        );
        registry.register(
            "connections_refused",
            "Connections that were refused by why",
            self.connections_refused.clone(),
        );
        self.used.register(registry);
    }

    fn register_realm(&self, registry: &mut Registry) {
        self.register_counts(registry);
        self.sizes.register(registry);
        registry.register(
            "disk_bytes",
            "Bytes of the journal, of its WAL, of the history with its own, and free on their disk",
            self.disk_bytes.clone(),
        );
        registry.register(
            "http_responses",
            "Answers by route and status",
            self.http_responses.clone(),
        );
        registry.register(
            "http_request_seconds",
            "From a request's head to its answer's by route, waits of checks among it",
            self.http_request_seconds.clone(),
        );
    }

    fn register_counts(&self, registry: &mut Registry) {
        registry.register(
            "calls",
            "Calls by tool, refused ones among them",
            self.calls.clone(),
        );
        registry.register("refusals", "Refused calls by code", self.refusals.clone());
        registry.register(
            "turned_away",
            "Requests refused by the guard, by why",
            self.refused_requests.clone(),
        );
        registry.register(
            "stale_token_files",
            "Files of tokens that cannot be read again, so that their tokens of before are valid",
            self.stale_token_files.clone(),
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
            "commit_seconds",
            "How long the journal took to keep a batch of calls, on its disk with fsync",
            self.commit_seconds.clone(),
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
        registry.register(
            "history_copy_lag",
            "Entries of the journal that the copy of the history in PostgreSQL lacks",
            self.history_copy_lag.clone(),
        );
        registry.register(
            "history_damaged",
            "Damaged files of the history, each of which was built anew",
            self.history_damaged.clone(),
        );
        registry.register(
            "history_lost",
            "Rows of the history that were damaged, and that the journal no longer had",
            self.history_lost.clone(),
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
    pub fn count_refused_request(&self, kind: Kind) {
        let why = ByKind { why: kind.name() };
        self.refused_requests.get_or_create(&why).inc();
    }

    /// Records how many files of tokens, `of` callers or operators, cannot be read again.
    pub fn token_files_are_stale(&self, of: &'static str, number: i64) {
        self.stale_token_files
            .get_or_create(&ByFile { of })
            .set(number);
    }

    /// Counts an accepted connection.
    pub fn connected(&self) {
        self.connections.inc();
    }

    /// Counts a refused connection.
    pub fn not_connected(&self, why: NoConnection) {
        let why = ByKind { why: why.name() };
        self.connections_refused.get_or_create(&why).inc();
    }

    /// Records an answered request with the time until the answer began. There must be a bounded
    /// number of routes.
    pub fn requested(&self, route: &str, status: u16, took: Duration) {
        let route = route.to_owned();
        let by = ByRoute {
            route: route.clone(),
        };
        let histogram = self.http_request_seconds.get_or_create(&by);
        histogram.observe(took.as_secs_f64());
        drop(histogram);
        self.http_responses
            .get_or_create(&ByStatus { route, status })
            .inc();
    }

    /// Records how long a call waited in the driver's channel.
    pub fn waited(&self, span: Duration) {
        self.driver_wait_seconds.observe(span.as_secs_f64());
    }

    /// Records the duration of a turn of the driver.
    pub fn record_turn(&self, span: Duration) {
        self.driver_turn_seconds.observe(span.as_secs_f64());
    }

    /// Records how long a batch took from its append until its fate was known.
    pub fn committed(&self, span: Duration) {
        self.commit_seconds.observe(span.as_secs_f64());
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

    /// Records how many entries of the journal the history and its copy lack, how many of its files
    /// were damaged, and how many rows were lost.
    pub fn history_is(&self, (lag, of_copy): (u64, Option<u64>), (damaged, lost): (u64, u64)) {
        self.history_lag.set(whole(lag));
        self.history_copy_lag.set(whole(of_copy.unwrap_or(0)));
        raise(&self.history_damaged, damaged);
        raise(&self.history_lost, lost);
    }

    /// Records the sizes of the files on the disk.
    pub fn disk_is(&self, disk: &DiskUse) {
        let number = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        for (of, bytes) in [
            ("journal", disk.journal),
            ("journal_wal", disk.wal),
            ("history", disk.history),
            ("free", disk.free),
        ] {
            self.disk_bytes
                .get_or_create(&ByPart { of })
                .set(number(bytes));
        }
    }

    /// The series of the process, in `OpenMetrics`.
    ///
    /// # Errors
    /// Never, as long as text can be written to memory.
    pub fn of_process(&self, capacity: &Capacity) -> Result<String, fmt::Error> {
        self.process.read();
        self.used.read(capacity);
        let mut text = String::new();
        encode(&mut text, &self.of_process)?;
        Ok(text)
    }

    /// The series of the realm, in `OpenMetrics`, with the current reading of the node; without one,
    /// with the last reading.
    ///
    /// # Errors
    /// Never, as long as text can be written to memory.
    pub fn of_realm(
        &self,
        now: Time,
        seen: Option<Seen>,
        queued: usize,
    ) -> Result<String, fmt::Error> {
        self.sizes.queued(queued);
        if let Some(seen) = seen {
            self.sizes.set(now, seen);
        }
        let mut text = String::new();
        encode(&mut text, &self.of_realm)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
