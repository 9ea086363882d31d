//! The results of a run's measurements, by name.

use std::collections::BTreeMap;

use super::distribution::Distribution;
use super::shares::Shares;
use super::{MICROS, Metrics};
use sim_model::outcome::{FairnessResult, MetricResult};

impl Metrics {
    /// All metrics, and those about fairness.
    #[must_use]
    pub fn results(
        &self,
    ) -> (
        BTreeMap<String, MetricResult>,
        BTreeMap<String, FairnessResult>,
    ) {
        let metrics = [
            ("message_latency", self.message_latency.result(MICROS)),
            ("queue_wait", self.queue_wait.result(MICROS)),
            ("stick_wait", self.stick_wait.result(MICROS)),
            ("request_latency", self.request_latency.result(MICROS)),
            ("commit_latency", self.commit_latency.result(MICROS)),
            ("bytes_per_message", self.bytes_per_message.result(1.0)),
        ];
        let shared = |shares: &Shares| FairnessResult {
            jain: shares.jain(),
            max: shares.max().unwrap_or(0.0),
            mean: shares.mean().unwrap_or(0.0),
            overtaken: 0,
        };
        let waited = |distribution: &Distribution, overtaken| FairnessResult {
            jain: None,
            max: distribution.max() / MICROS,
            mean: distribution.mean() / MICROS,
            overtaken,
        };
        let fairness = [
            ("stick_turns", shared(&self.turns())),
            ("matches", shared(&self.matches())),
            ("queue_wait", waited(&self.queue_wait, self.overtaken.queue)),
            ("stick_wait", waited(&self.stick_wait, self.overtaken.stick)),
        ];
        (
            metrics
                .into_iter()
                .map(|(name, m)| (name.to_owned(), m))
                .collect(),
            fairness
                .into_iter()
                .map(|(name, f)| (name.to_owned(), f))
                .collect(),
        )
    }

    /// Refusals by code.
    #[must_use]
    pub fn refusals(&self) -> BTreeMap<String, u64> {
        self.refusals
            .iter()
            .map(|&(code, count)| (code.to_owned(), count))
            .collect()
    }

    pub(super) fn turns(&self) -> Shares {
        let mut shares = self.merged_turns.clone();
        for user in &self.users {
            shares.add(user.turns);
        }
        shares
    }

    pub(super) fn matches(&self) -> Shares {
        let mut shares = self.merged_matches.clone();
        for user in &self.users {
            shares.add(user.matches);
        }
        shares
    }
}
