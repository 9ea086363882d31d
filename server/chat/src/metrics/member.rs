//! Metrics of a member of a cluster. A server that is alone has none of them.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::sizes::{raise, whole};
use super::times;

/// The roles of a member.
const ROLES: [&str; 6] = [
    "follower",
    "claiming",
    "owner",
    "settling",
    "resigning",
    "stranded",
];

/// By role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRole {
    role: &'static str,
}

/// By what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    outcome: &'static str,
}

/// By the kind of alarm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByAlarm {
    kind: &'static str,
}

/// What an attempt to append came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendResult {
    /// The log has the record.
    Acknowledged,
    /// The log ends elsewhere.
    WrongLast,
    /// The log has no leader.
    Busy,
    /// The log never takes this record.
    Rejected,
    /// No answer came in time, or one that proves nothing.
    Unknown,
}

impl AppendResult {
    const ALL: [Self; 5] = [
        Self::Acknowledged,
        Self::WrongLast,
        Self::Busy,
        Self::Rejected,
        Self::Unknown,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged",
            Self::WrongLast => "wrong_last",
            Self::Busy => "busy",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

/// What an operator must know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmKind {
    /// A replica of the log lacks a record.
    Hole,
    /// A replica of the log has a changed record.
    Damaged,
    /// The member's state differs from the owner's.
    Diverged,
    /// The member cannot apply a record.
    Unreadable,
    /// A server of the log does not keep what it acknowledges.
    Unsafe,
}

impl AlarmKind {
    const ALL: [Self; 5] = [
        Self::Hole,
        Self::Damaged,
        Self::Diverged,
        Self::Unreadable,
        Self::Unsafe,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Hole => "hole",
            Self::Damaged => "damaged",
            Self::Diverged => "diverged",
            Self::Unreadable => "unreadable",
            Self::Unsafe => "unsafe",
        }
    }
}

/// What a call came to that a door passed on to the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// The owner answered.
    Answered,
    /// No owner answered in time.
    Unavailable,
}

impl Forwarding {
    const ALL: [Self; 2] = [Self::Answered, Self::Unavailable];

    const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A member's part in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberReading {
    /// The word for its role.
    pub role: &'static str,
    /// The epoch of the owner that it knows.
    pub epoch: u64,
    /// The sequence of the last record that it has applied.
    pub sequence: u64,
    /// Whether it takes calls.
    pub has_lease: bool,
}

/// The state of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogReading {
    /// The records after the last one that the member has applied.
    pub behind: u64,
    /// The number of records that it holds.
    pub records: u64,
    /// Their size.
    pub bytes: u64,
    /// When the last snapshot was stored, since the epoch of Unix; zero if there is none.
    pub snapshot_at: Duration,
}

/// The metrics of a member. Clones share their values.
#[derive(Clone, Debug)]
pub struct MemberMetrics {
    roles: Family<ByRole, Gauge>,
    epoch: Gauge,
    sequence: Gauge,
    lease: Gauge,
    gained: Counter,
    lost: Counter,
    appends: Family<ByOutcome, Counter>,
    append_seconds: Histogram,
    alarms: Family<ByAlarm, Counter>,
    forwarded: Family<ByOutcome, Counter>,
    refused_for_pause: Counter,
    connected: Gauge,
    reconnects: Counter,
    behind: Gauge,
    records: Gauge,
    bytes: Gauge,
    snapshot_at: Gauge,
}

impl Default for MemberMetrics {
    fn default() -> Self {
        let metrics = Self {
            roles: Family::default(),
            epoch: Gauge::default(),
            sequence: Gauge::default(),
            lease: Gauge::default(),
            gained: Counter::default(),
            lost: Counter::default(),
            appends: Family::default(),
            append_seconds: times(),
            alarms: Family::default(),
            forwarded: Family::default(),
            refused_for_pause: Counter::default(),
            connected: Gauge::default(),
            reconnects: Counter::default(),
            behind: Gauge::default(),
            records: Gauge::default(),
            bytes: Gauge::default(),
            snapshot_at: Gauge::default(),
        };
        // A rate needs a value to begin with.
        for outcome in AppendResult::ALL.map(AppendResult::name) {
            let _ = metrics.appends.get_or_create(&ByOutcome { outcome });
        }
        for kind in AlarmKind::ALL.map(AlarmKind::name) {
            let _ = metrics.alarms.get_or_create(&ByAlarm { kind });
        }
        for outcome in Forwarding::ALL.map(Forwarding::name) {
            let _ = metrics.forwarded.get_or_create(&ByOutcome { outcome });
        }
        for role in ROLES {
            let _ = metrics.roles.get_or_create(&ByRole { role });
        }
        metrics
    }
}

impl MemberMetrics {
    /// Registers the metrics of a member.
    pub(super) fn register(&self, registry: &mut Registry) {
        self.register_standing(registry);
        self.register_log(registry);
        registry.register(
            "cluster_forwarded",
            "Calls that this member passed on to the owner, by outcome",
            self.forwarded.clone(),
        );
        registry.register(
            "cluster_refused_for_pause",
            "Calls refused because they may have waited while the process was paused",
            self.refused_for_pause.clone(),
        );
    }

    fn register_standing(&self, registry: &mut Registry) {
        registry.register(
            "cluster_role",
            "1 for the role that the member has",
            self.roles.clone(),
        );
        registry.register(
            "cluster_epoch",
            "The epoch of the owner that the member knows",
            self.epoch.clone(),
        );
        registry.register(
            "cluster_sequence",
            "The sequence of the last record of the log that the member has applied",
            self.sequence.clone(),
        );
        registry.register(
            "cluster_lease",
            "1 while the member takes the realm's calls",
            self.lease.clone(),
        );
        registry.register(
            "cluster_ownership_gained",
            "How often the member became the owner",
            self.gained.clone(),
        );
        registry.register(
            "cluster_ownership_lost",
            "How often the member was the owner no more",
            self.lost.clone(),
        );
        registry.register(
            "cluster_alarms",
            "What an operator must know of, by kind",
            self.alarms.clone(),
        );
    }

    fn register_log(&self, registry: &mut Registry) {
        registry.register(
            "cluster_appends",
            "Attempts to append a record by outcome",
            self.appends.clone(),
        );
        registry.register(
            "cluster_append_seconds",
            "From an attempt to append to its outcome",
            self.append_seconds.clone(),
        );
        registry.register(
            "cluster_connected",
            "1 while the member is connected to a NATS server",
            self.connected.clone(),
        );
        registry.register(
            "cluster_reconnects",
            "How often a lost connection was made again",
            self.reconnects.clone(),
        );
        registry.register(
            "cluster_behind",
            "Records of the log that the member has not applied",
            self.behind.clone(),
        );
        registry.register(
            "cluster_log_records",
            "Records that the log holds",
            self.records.clone(),
        );
        registry.register(
            "cluster_log_bytes",
            "The size of the log",
            self.bytes.clone(),
        );
        registry.register(
            "cluster_snapshot_time_seconds",
            "When the last snapshot was stored; 0 if there is none",
            self.snapshot_at.clone(),
        );
    }

    /// Sets the member's part in the cluster.
    pub fn stands(&self, reading: MemberReading) {
        for role in ROLES {
            let gauge = self.roles.get_or_create(&ByRole { role });
            gauge.set(i64::from(role == reading.role));
        }
        self.epoch.set(whole(reading.epoch));
        self.sequence.set(whole(reading.sequence));
        self.lease.set(i64::from(reading.has_lease));
    }

    /// Counts that the member became the owner.
    pub fn became_owner(&self) {
        self.gained.inc();
    }

    /// Counts that the member is the owner no more.
    pub fn lost_ownership(&self) {
        self.lost.inc();
    }

    /// Records an attempt to append, with its duration.
    pub fn appended(&self, result: AppendResult, took: Duration) {
        let outcome = result.name();
        self.appends.get_or_create(&ByOutcome { outcome }).inc();
        self.append_seconds.observe(took.as_secs_f64());
    }

    /// Counts an alarm.
    pub fn alarmed(&self, kind: AlarmKind) {
        let kind = kind.name();
        self.alarms.get_or_create(&ByAlarm { kind }).inc();
    }

    /// Counts a call that was passed on to the owner.
    pub fn forwarded(&self, forwarding: Forwarding) {
        let outcome = forwarding.name();
        self.forwarded.get_or_create(&ByOutcome { outcome }).inc();
    }

    /// Counts a call that is refused because it may have waited during a pause.
    pub fn refused_for_pause(&self) {
        self.refused_for_pause.inc();
    }

    /// Records that the member is connected to a server of the log, after this many reconnections.
    pub fn connected(&self, reconnects: u64) {
        self.connected.set(1);
        raise(&self.reconnects, reconnects);
    }

    /// Records that the member is connected to no server of the log.
    pub fn disconnected(&self) {
        self.connected.set(0);
    }

    /// Sets the state of the log.
    pub fn log_is(&self, reading: LogReading) {
        self.behind.set(whole(reading.behind));
        self.records.set(whole(reading.records));
        self.bytes.set(whole(reading.bytes));
        self.snapshot_at.set(whole(reading.snapshot_at.as_secs()));
    }
}

#[cfg(test)]
mod tests {
    use chat_core::Time;

    use super::*;
    use crate::metrics::Metrics;

    /// A line with its labels in the order of their names.
    fn in_order(line: &str) -> String {
        let Some((name, rest)) = line.split_once('{') else {
            return line.to_owned();
        };
        let (labels, value) = rest.split_once('}').unwrap_or((rest, ""));
        let mut labels: Vec<&str> = labels.split(',').collect();
        labels.sort_unstable();
        format!("{name}{{{}}}{value}", labels.join(","))
    }

    #[test]
    fn a_member_of_a_cluster_has_metrics_that_a_server_alone_has_not() {
        let member = MemberMetrics::default();
        let metrics = Metrics::default().with_member("main", &member);
        member.stands(MemberReading {
            role: "owner",
            epoch: 4,
            sequence: 608,
            has_lease: true,
        });
        member.became_owner();
        member.appended(AppendResult::Unknown, Duration::from_secs(1));
        member.alarmed(AlarmKind::Diverged);
        member.forwarded(Forwarding::Answered);
        member.refused_for_pause();
        member.connected(2);
        member.log_is(LogReading {
            behind: 1,
            records: 30,
            bytes: 4_096,
            snapshot_at: Duration::from_secs(1_700_000_000),
        });
        let render = |metrics: &Metrics| metrics.of_realm(Time(1), None, 0).unwrap();
        let text = render(&metrics);
        for line in [
            "cluster_role{role=\"owner\",realm=\"main\"} 1",
            "cluster_role{role=\"follower\",realm=\"main\"} 0",
            "cluster_epoch{realm=\"main\"} 4",
            "cluster_sequence{realm=\"main\"} 608",
            "cluster_lease{realm=\"main\"} 1",
            "cluster_ownership_gained_total{realm=\"main\"} 1",
            "cluster_ownership_lost_total{realm=\"main\"} 0",
            "cluster_appends_total{outcome=\"unknown\",realm=\"main\"} 1",
            "cluster_appends_total{outcome=\"acknowledged\",realm=\"main\"} 0",
            "cluster_append_seconds_count{realm=\"main\"} 1",
            "cluster_alarms_total{kind=\"diverged\",realm=\"main\"} 1",
            "cluster_forwarded_total{outcome=\"answered\",realm=\"main\"} 1",
            "cluster_refused_for_pause_total{realm=\"main\"} 1",
            "cluster_connected{realm=\"main\"} 1",
            "cluster_reconnects_total{realm=\"main\"} 2",
            "cluster_behind{realm=\"main\"} 1",
            "cluster_log_records{realm=\"main\"} 30",
            "cluster_log_bytes{realm=\"main\"} 4096",
            "cluster_snapshot_time_seconds{realm=\"main\"} 1700000000",
        ] {
            let line = in_order(&format!("talking_stick_{line}"));
            assert!(
                text.lines().any(|found| in_order(found) == line),
                "{line}\n{text}"
            );
        }
        member.disconnected();
        let text = render(&metrics);
        assert!(
            text.contains("cluster_connected{realm=\"main\"} 0"),
            "{text}"
        );
        assert!(!render(&Metrics::default()).contains("cluster"));
    }
}
