//! The values of all metrics whose values are recorded one by one.

use std::collections::BTreeMap;

use super::distribution::Distribution;
use super::{MICROS, Sample};
use sim_model::outcome::MetricResult;
use sim_model::plan::Metric;

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
        if sample.open {
            distribution.record_unfinished(sample.took);
        } else {
            distribution.record(sample.took);
        }
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
