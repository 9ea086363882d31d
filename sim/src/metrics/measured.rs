//! The metrics as the runner knows them: something that merges over seeds and says what it came to.

use std::collections::BTreeMap;

use super::{Metrics, judged_by_thresholds};
use crate::charts::Charts;
use crate::plan::Plan;
use crate::result::{Counts, FairnessResult, MetricResult, PropertyResult, ThresholdResult};
use crate::runner::Measured;

impl Measured for Metrics {
    fn merge(&mut self, other: &Self) {
        Self::merge(self, other);
    }

    fn results(
        &self,
    ) -> (
        BTreeMap<String, MetricResult>,
        BTreeMap<String, FairnessResult>,
    ) {
        Self::results(self)
    }

    fn thresholds(&self, plan: &Plan, counts: &Counts, stuck: u64) -> Vec<ThresholdResult> {
        Self::thresholds(self, plan, counts, stuck)
    }

    fn judged_by_thresholds(
        plan: &Plan,
        results: &[ThresholdResult],
    ) -> BTreeMap<&'static str, PropertyResult> {
        judged_by_thresholds(plan, results)
    }

    fn refusals(&self) -> BTreeMap<String, u64> {
        Self::refusals(self)
    }

    fn charts(&self) -> Charts {
        Self::charts(self)
    }
}
