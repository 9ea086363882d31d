//! The results of a run's measurements, by name.

use std::collections::BTreeMap;

use super::distribution::Distribution;
use super::{MICROS, Metrics};
use sim_model::outcome::{FairnessResult, GroupResults, MetricResult};

impl Metrics {
    /// All metrics, and those about fairness.
    #[must_use]
    pub fn results(
        &self,
    ) -> (
        BTreeMap<String, MetricResult>,
        BTreeMap<String, FairnessResult>,
    ) {
        let waited = |distribution: &Distribution, overtaken| FairnessResult {
            users: distribution.count(),
            max: distribution.max() / MICROS,
            mean: distribution.mean() / MICROS,
            overtaken,
            ..FairnessResult::default()
        };
        let fairness = [
            ("stick_turns", self.turns.result()),
            ("matches", self.matches.result()),
            ("queue_wait", waited(&self.queue_wait, self.overtaken)),
            ("stick_wait", waited(&self.stick_wait, 0)),
        ];
        (
            self.distributions()
                .into_iter()
                .map(|(name, distribution, unit)| (name.to_owned(), distribution.result(unit)))
                .collect(),
            fairness
                .into_iter()
                .map(|(name, f)| (name.to_owned(), f))
                .collect(),
        )
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
