//! The values of a metric: approximate quantiles from a histogram, and exact maximum and mean; and
//! those of all metrics whose values are recorded one by one.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use sim_model::outcome::MetricResult;
use sim_model::plan::{Figure, Metric};

use super::{MICROS, Sample};

/// The largest value of the histogram: a day in microseconds.
const LARGEST: u64 = 24 * 3_600 * 1_000_000;

/// Significant decimal digits of a quantile. Two keep the table within the processor's cache, with
/// an error below one percent.
const DIGITS: u8 = 2;

/// A distribution of whole numbers.
#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram<u64>,
    sum: u64,
    max: u64,
    /// How many values are lengths so far, of what has begun and not ended.
    unfinished: u64,
    unserved: u64,
    longest_unserved: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the bounds are constants that the histogram accepts"
        )]
        let histogram = Histogram::new_with_bounds(1, LARGEST, DIGITS).expect("valid bounds");
        Self {
            histogram,
            sum: 0,
            max: 0,
            unfinished: 0,
            unserved: 0,
            longest_unserved: 0,
        }
    }
}

impl Distribution {
    /// Records one value.
    pub fn record(&mut self, value: u64) {
        self.histogram.saturating_record(value);
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    /// Counts the length of something that ended in another way than what is measured. It is no value.
    pub fn count_unserved(&mut self, value: u64) {
        self.unserved += 1;
        self.longest_unserved = self.longest_unserved.max(value);
    }

    /// Adds the values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so no value is out of range.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
        self.unfinished += other.unfinished;
        self.unserved += other.unserved;
        self.longest_unserved = self.longest_unserved.max(other.longest_unserved);
    }

    /// The number of recorded values.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The value below which `percent` of all values lie, never more than the largest.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.histogram.value_at_percentile(percent).min(self.max) as f64
    }

    /// The largest value; 0 if there is none.
    pub fn max(&self) -> f64 {
        self.max as f64
    }

    /// The mean of all values; 0 if there is none.
    pub fn mean(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.sum as f64 / count as f64,
        }
    }

    /// A figure of the values, divided by `unit`; none if there are no values.
    pub(crate) fn figure(&self, figure: Figure, unit: f64) -> Option<f64> {
        if self.count() == 0 {
            return None;
        }
        match figure {
            Figure::Percentile(percent) => Some(self.percentile(percent) / unit),
            Figure::Max => Some(self.max() / unit),
            Figure::Mean => Some(self.mean() / unit),
            Figure::Count => Some(self.count() as f64),
            Figure::Overtaken | Figure::Jain | Figure::Rate => None,
        }
    }

    /// The results, each divided by `unit`.
    pub fn result(&self, unit: f64) -> MetricResult {
        let figure = |figure| self.figure(figure, unit);
        let percentile = |percent| figure(Figure::Percentile(percent));
        MetricResult {
            count: self.count(),
            p50: percentile(50.0),
            p90: percentile(90.0),
            p95: percentile(95.0),
            p99: percentile(99.0),
            p999: percentile(99.9),
            max: figure(Figure::Max),
            mean: figure(Figure::Mean),
            unfinished: self.unfinished,
            unserved: self.unserved,
            longest_unserved: self.longest_unserved as f64 / unit,
        }
    }
}

/// The distribution of each metric that has values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measurements([Option<Box<Distribution>>; Metric::ALL.len()]);

impl Measurements {
    /// The values of a metric, if there are some.
    pub(crate) fn get(&self, metric: Metric) -> Option<&Distribution> {
        self.0[metric as usize].as_deref()
    }

    pub(crate) fn of(&mut self, metric: Metric) -> &mut Distribution {
        self.0[metric as usize].get_or_insert_default()
    }

    pub(crate) fn add(&mut self, sample: Sample) {
        let distribution = self.of(sample.what);
        distribution.record(sample.took);
        distribution.unfinished += u64::from(sample.open);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(theirs);
            }
        }
    }

    /// The metrics with values, with these.
    pub(super) fn all(&self) -> impl Iterator<Item = (Metric, &Distribution)> {
        let measured = Metric::ALL.iter().zip(&self.0);
        measured.filter_map(|(metric, of)| Some((*metric, of.as_deref()?)))
    }

    /// The results of the metrics with values, by name.
    pub(super) fn results(&self) -> BTreeMap<String, MetricResult> {
        let results = self.all();
        results
            .map(|(metric, of)| (metric.name().to_owned(), of.result(unit(metric))))
            .collect()
    }
}

/// What the values of a metric are divided by: results have milliseconds and bytes.
pub(super) const fn unit(metric: Metric) -> f64 {
    if metric.is_duration() { MICROS } else { 1.0 }
}
