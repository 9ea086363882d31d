//! The results of a run's measurements, by name.

use std::collections::BTreeMap;

use super::{MICROS, Metrics};
use sim_model::outcome::{FairnessResult, GroupResults, MetricResult};
use sim_model::plan::Metric;

impl Metrics {
    /// All metrics, and those about fairness.
    #[must_use]
    pub fn results(
        &self,
    ) -> (
        BTreeMap<String, MetricResult>,
        BTreeMap<String, FairnessResult>,
    ) {
        let waited = |metric, overtaken| match self.measured.get(metric) {
            None => FairnessResult::default(),
            Some(waits) => FairnessResult {
                users: waits.count(),
                max: waits.max() / MICROS,
                mean: waits.mean() / MICROS,
                overtaken,
                ..FairnessResult::default()
            },
        };
        let fairness = [
            (Metric::StickTurns, self.turns.result()),
            (Metric::Matches, self.matches.result()),
            (Metric::QueueWait, waited(Metric::QueueWait, self.overtaken)),
            (Metric::StickWait, waited(Metric::StickWait, 0)),
        ];
        let fairness = fairness.map(|(metric, of)| (metric.name().to_owned(), of));
        let all = Metric::ALL.iter().filter(|metric| metric.is_distribution());
        let nothing = all.map(|metric| (metric.name().to_owned(), MetricResult::default()));
        let mut metrics: BTreeMap<_, _> = nothing.collect();
        metrics.extend(self.measured.results());
        (metrics, fairness.into())
    }

    /// Figures by persona, phase and room.
    #[must_use]
    pub fn by_group(&self) -> GroupResults {
        self.groups.results()
    }

    /// Refusals by code.
    #[must_use]
    pub fn refusals(&self) -> BTreeMap<String, u64> {
        self.refusals
            .iter()
            .map(|&(code, count)| (code.to_owned(), count))
            .collect()
    }
}
