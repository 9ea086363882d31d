//! Compares one scenario on a virtual and a live server under rising load. The virtual server has
//! the measured times of the live one. The comparison only shows the differences; it has no pass or
//! fail.

use std::collections::BTreeMap;

use serde::Serialize;

use sim_model::outcome::{MetricResult, RunResult, Verdict};

/// The durations measured on both servers, in the order of display.
pub(crate) const METRICS: [&str; 4] = [
    "request_latency",
    "message_latency",
    "queue_wait",
    "stick_wait",
];

/// What the virtual server does not model.
pub(crate) const NOT_IN_IT: &str = "The virtual server has one time for every command, and pushes cost it \
    nothing. Not in it is what a live one takes to tell everybody in a room, what clients of MCP \
    take to read an inbox that has grown, and what a driver on its machine takes from its cores.";

/// The quantiles that are compared.
pub(crate) const QUANTILES: [&str; 3] = ["p50", "p95", "p99"];

/// A scenario on both servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerComparison {
    /// The scenario's name.
    pub scenario: String,
    /// Its file.
    pub file: String,
    /// The seed of every run.
    pub seed: u64,
    /// From the lowest load to the highest.
    pub scales: Vec<LoadStage>,
    /// The differences between the servers, for each metric that both measured.
    pub parts: Vec<MetricDifference>,
}

/// Both servers under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadStage {
    /// The factor of the arrivals.
    pub rate_scale: f64,
    /// The virtual server's run.
    #[serde(rename = "virtual")]
    pub simulated: ServerRun,
    /// The live server's run.
    pub live: ServerRun,
    /// The ratios of live to virtual, by metric, in the order of `QUANTILES`; `None` if either is
    /// missing.
    pub ratios: BTreeMap<&'static str, [Option<f64>; 3]>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerRun {
    /// The number of users.
    pub users: u64,
    /// Calls per second that users intended to make, until the end of arrivals.
    pub offered_per_second: f64,
    /// Calls per second that were answered.
    pub achieved_per_second: f64,
    /// The verdict of the run.
    pub verdict: Verdict,
    /// The first violation, if any.
    pub violation: Option<String>,
    /// The durations, in milliseconds.
    pub metrics: BTreeMap<&'static str, MetricResult>,
    /// Further remarks.
    pub remarks: Vec<String>,
}

/// The difference between the servers in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricDifference {
    /// The metric.
    pub metric: &'static str,
    /// The lowest and highest ratio of live to virtual, over all loads and quantiles.
    pub least: f64,
    /// See `least`.
    pub most: f64,
    /// The largest difference: the load, the quantile, and the milliseconds of both sides.
    pub furthest: LargestDifference,
}

/// The largest difference between two servers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct LargestDifference {
    pub rate_scale: f64,
    pub quantile: &'static str,
    #[serde(rename = "virtual")]
    pub simulated: f64,
    pub live: f64,
}

impl ServerRun {
    /// The side of a run, with its offered and answered calls per second.
    #[must_use]
    pub fn of(result: &RunResult, (offered, achieved): (f64, f64), remarks: Vec<String>) -> Self {
        let metric = |name: &'static str| {
            let metric = result.metrics.get(name).copied()?;
            (metric.count > 0).then_some((name, metric))
        };
        let violation = result.violations.first();
        Self {
            users: result.users,
            offered_per_second: offered,
            achieved_per_second: achieved,
            verdict: result.verdict,
            violation: violation.map(|one| format!("{}: {}", one.property, one.detail)),
            metrics: METRICS.into_iter().filter_map(metric).collect(),
            remarks,
        }
    }

    /// The compared quantiles of a metric, in milliseconds, if it was measured.
    pub(crate) fn quantiles(&self, metric: &str) -> Option<[f64; 3]> {
        let metric = self.metrics.get(metric)?;
        Some([metric.p50?, metric.p95?, metric.p99?])
    }

    /// The exit code for this verdict. Thresholds and expected points do not count, because they
    /// were set for the scenario's own load and server.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self.verdict {
            Verdict::Safety | Verdict::Liveness => self.verdict.exit_code(),
            Verdict::Pass | Verdict::Unjudged | Verdict::Threshold | Verdict::Interrupted => 0,
        }
    }
}

impl LoadStage {
    /// Both sides, with their ratios.
    #[must_use]
    pub fn of(rate_scale: f64, simulated: ServerRun, live: ServerRun) -> Self {
        let both = METRICS.into_iter().filter_map(|name| {
            let (one, other) = (simulated.quantiles(name)?, live.quantiles(name)?);
            let ratio = |at: usize| (one[at] > 0.0 && other[at] > 0.0).then(|| other[at] / one[at]);
            Some((name, [0, 1, 2].map(ratio)))
        });
        Self {
            rate_scale,
            ratios: both.collect(),
            simulated,
            live,
        }
    }
}

impl ServerComparison {
    /// All loads of a scenario.
    #[must_use]
    pub fn of(scenario: String, file: String, seed: u64, scales: Vec<LoadStage>) -> Self {
        let parts = METRICS.into_iter().filter_map(|name| part(name, &scales));
        Self {
            scenario,
            file,
            seed,
            parts: parts.collect(),
            scales,
        }
    }
}

fn part(metric: &'static str, scales: &[LoadStage]) -> Option<MetricDifference> {
    let mut all: Vec<(f64, LargestDifference)> = Vec::new();
    for scale in scales {
        let ratios = scale.ratios.get(metric).copied().unwrap_or_default();
        let sides = [&scale.simulated, &scale.live].map(|side| side.quantiles(metric));
        let [simulated, live] = sides.map(Option::unwrap_or_default);
        all.extend((0..QUANTILES.len()).filter_map(|at| {
            let here = LargestDifference {
                rate_scale: scale.rate_scale,
                quantile: QUANTILES[at],
                simulated: simulated[at],
                live: live[at],
            };
            Some((ratios[at]?, here))
        }));
    }
    let ratios = || all.iter().map(|(ratio, _)| *ratio);
    // The first of the largest differences.
    let by_size = all.iter().rev();
    let furthest = by_size.max_by(|(a, _), (b, _)| apart(*a).total_cmp(&apart(*b)))?;
    Some(MetricDifference {
        metric,
        least: ratios().fold(f64::INFINITY, f64::min),
        most: ratios().fold(0.0, f64::max),
        furthest: furthest.1,
    })
}

/// The distance of a ratio from 1: half as long counts like twice as long.
fn apart(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::samples;

    fn side(p50: f64, p99: f64) -> ServerRun {
        let mut result = samples::passed().summary.result;
        result.metrics.clear();
        let metric = samples::metric(p50, (p50 + p99) / 2.0, p99, p99);
        result.metrics.insert("request_latency".to_owned(), metric);
        ServerRun::of(&result, (100.0, 90.0), Vec::new())
    }

    #[test]
    fn a_difference_is_shown_as_a_ratio_of_live_to_virtual() {
        let near = LoadStage::of(1.0, side(2.0, 4.0), side(2.0, 5.0));
        assert_eq!(near.ratios["request_latency"][0], Some(1.0));
        assert_eq!(near.ratios["request_latency"][2], Some(1.25));
        // Four times as fast is a larger difference than three times as slow.
        let far = LoadStage::of(8.0, side(2.0, 30.0), side(0.5, 90.0));
        let sides = ServerComparison::of("s".into(), "s.yaml".into(), 7, vec![near, far]);
        let [part] = &sides.parts[..] else {
            panic!("one metric, {:?}", sides.parts);
        };
        assert_eq!((part.least, part.most), (0.25, 3.0));
        let furthest = LargestDifference {
            rate_scale: 8.0,
            quantile: "p50",
            simulated: 2.0,
            live: 0.5,
        };
        assert_eq!(part.furthest, furthest);
    }

    #[test]
    fn a_metric_of_one_server_alone_is_not_compared() {
        let mut without = side(1.0, 2.0);
        without.metrics.clear();
        let scale = LoadStage::of(1.0, side(1.0, 2.0), without);
        assert!(scale.ratios.is_empty());
        let sides = ServerComparison::of("s".into(), "s.yaml".into(), 7, vec![scale]);
        assert!(sides.parts.is_empty());
    }

    #[test]
    fn a_threshold_for_another_load_does_not_fail_the_comparison() {
        let mut side = side(1.0, 2.0);
        for (verdict, code) in [
            (Verdict::Pass, 0),
            (Verdict::Threshold, 0),
            (Verdict::Unjudged, 0),
            (Verdict::Safety, 1),
            (Verdict::Liveness, 3),
        ] {
            side.verdict = verdict;
            assert_eq!(side.exit_code(), code);
        }
    }
}
