//! Metrics in the text formats of Prometheus.
//!
//! Each metric is a row. Counters and times are updated by calls; sizes are read from the node for each
//! request.
//!
//! A realm has metrics of its own. With several realms each of its series has the label `realm`. Those
//! of the process have none, and are written once.

mod exposition;
mod rows;
mod sizes;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use server_storage::history::History;
use server_storage::lock;

use crate::tools::Tool;

pub use exposition::Exposition;
pub use rows::Row;
pub use sizes::Seen;

use rows::Scope;

/// The upper bounds of the buckets for times, in seconds: from 20 µs to about 80 s, each four times as
/// wide as the last.
const BOUNDS: [f64; 12] = {
    let mut bounds = [0.000_02; 12];
    let mut next = 1;
    while next < bounds.len() {
        bounds[next] = bounds[next - 1] * 4.0;
        next += 1;
    }
    bounds
};

/// A sample. The shape of its row says which of the fields it has.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// The number, or the number of times.
    number: u64,
    /// The seconds, or the sum of the times.
    seconds: f64,
    /// The number of times in each bucket.
    buckets: [u64; BOUNDS.len()],
}

/// The samples of a row by the values of its labels, which blanks separate.
type Labelled = BTreeMap<Box<str>, Sample>;

/// The samples of one scope.
#[derive(Debug)]
pub struct Samples {
    realm: Option<Box<str>>,
    /// In the order of the rows.
    rows: Vec<Mutex<Labelled>>,
}

impl Samples {
    fn new(scope: Scope, realm: Option<&str>) -> Self {
        let first = |row: &Row| {
            let labels = (row.about().scope == scope).then(|| row.first());
            let labels = labels.into_iter().flatten();
            let samples = labels.map(|label| (label.into(), Sample::default()));
            Mutex::new(samples.collect())
        };
        Self {
            realm: realm.map(Into::into),
            rows: Row::ALL.iter().map(first).collect(),
        }
    }

    fn of(&self, row: Row) -> MutexGuard<'_, Labelled> {
        lock(&self.rows[row as usize])
    }

    fn change(&self, row: Row, label: &str, change: impl FnOnce(&mut Sample)) {
        let mut samples = self.of(row);
        match samples.get_mut(label) {
            Some(sample) => change(sample),
            None => change(samples.entry(label.into()).or_default()),
        }
    }
}

/// The metrics of a realm and of its process. Shared by all parts that update them.
#[derive(Debug)]
pub struct Metrics {
    /// The samples of the process. With several realms, those of the first are written.
    process: Samples,
    realm: Samples,
    /// What the realm's member of a cluster has.
    member: Option<Samples>,
    /// When the process was read last.
    process_read: Mutex<Option<Instant>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Metrics {
    /// The metrics of a realm, with its name as a label if there is one.
    #[must_use]
    pub fn new(realm: Option<&str>) -> Self {
        let metrics = Self {
            process: Samples::new(Scope::Process, None),
            realm: Samples::new(Scope::Realm, realm),
            member: None,
            process_read: Mutex::default(),
        };
        metrics.begin_process();
        metrics
    }

    /// Adds the metrics of a member of this realm's cluster.
    #[must_use]
    pub fn with_member(self, realm: &str) -> Self {
        let member = Some(Samples::new(Scope::Member, Some(realm)));
        Self { member, ..self }
    }

    fn change(&self, row: Row, label: &str, change: impl FnOnce(&mut Sample)) {
        let samples = match row.about().scope {
            Scope::Process => Some(&self.process),
            Scope::Realm => Some(&self.realm),
            Scope::Member => self.member.as_ref(),
        };
        if let Some(samples) = samples {
            samples.change(row, label, change);
        }
    }

    /// Counts one more. A row without labels has the empty one.
    pub fn count(&self, row: Row, label: &str) {
        self.change(row, label, |sample| sample.number += 1);
    }

    /// Sets a number.
    pub fn set(&self, row: Row, label: &str, number: u64) {
        // Readers have signed integers.
        let number = number.min(i64::MAX.unsigned_abs());
        self.change(row, label, |sample| sample.number = number);
    }

    /// Sets the number of this label to 1, and those of all others to 0.
    pub fn set_one(&self, row: Row, label: &str) {
        for other in row.first() {
            self.set(row, other, 0);
        }
        self.set(row, label, 1);
    }

    /// Raises a counter to a count that is kept elsewhere; never lowers it.
    pub fn raise(&self, row: Row, label: &str, now: u64) {
        self.change(row, label, |sample| sample.number = sample.number.max(now));
    }

    fn set_seconds(&self, row: Row, seconds: f64) {
        self.change(row, "", |sample| sample.seconds = seconds);
    }

    fn raise_seconds(&self, row: Row, now: f64) {
        self.change(row, "", |sample| sample.seconds = sample.seconds.max(now));
    }

    /// Records how long something took.
    pub fn took(&self, row: Row, label: &str, span: Duration) {
        let seconds = span.as_secs_f64();
        self.change(row, label, |sample| {
            sample.number += 1;
            sample.seconds += seconds;
            if let Some(bucket) = BOUNDS.iter().position(|bound| *bound >= seconds) {
                sample.buckets[bucket] += 1;
            }
        });
    }

    /// Records an answered call of this tool with its duration.
    pub fn called(&self, tool: Tool, took: Duration) {
        self.count(Row::Calls, tool.name());
        // These wait on purpose.
        if !matches!(tool, Tool::Check | Tool::Break(_)) {
            self.took(Row::CallSeconds, "", took);
        }
    }

    /// Counts bytes that were sent to a model.
    pub fn sent_to_model(&self, bytes: usize) {
        self.change(Row::ModelBytes, "", |sample| sample.number += bytes as u64);
    }

    /// Reads how far the history and its copy are, what was damaged, and the sizes on the disk.
    pub fn read_history(&self, history: &History) {
        self.set(Row::HistoryLag, "", history.lag());
        self.set(Row::HistoryCopyLag, "", history.copy_lag().unwrap_or(0));
        let (files, rows) = history.damage();
        self.raise(Row::HistoryDamaged, "", files);
        self.raise(Row::HistoryLost, "", rows);
        for (of, bytes) in history.disk() {
            self.set(Row::DiskBytes, of, bytes);
        }
    }

    /// The series of the realm, and of its member of a cluster.
    pub fn of_realm(&self) -> impl Iterator<Item = &Samples> {
        [&self.realm].into_iter().chain(&self.member)
    }
}

#[cfg(test)]
mod tests;
