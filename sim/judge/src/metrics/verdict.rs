//! The results of a run's measurements by name, compared with the plan's thresholds.

use std::collections::BTreeMap;

use sim_model::outcome::{
    Counts, FairnessResult, GroupResults, MetricResult, PropertyResult, ThresholdResult,
};
use sim_model::plan::{Compare, Figure, Metric, Plan, Quantity, Threshold};

use super::distribution::{Distribution, unit};
use super::shares::Shares;
use super::{MICROS, Metrics};

impl Metrics {
    /// Each threshold of the plan, in its order, and whether it was met. The rates of `stuck` and
    /// `left_out` are relative to all users, those of messages to all attempts, those of refusals, of
    /// unanswered calls and of retries to all calls.
    #[must_use]
    pub fn thresholds(&self, plan: &Plan, counts: &Counts, stuck: u64) -> Vec<ThresholdResult> {
        plan.thresholds
            .iter()
            .map(|threshold| {
                let measured = self.measured(threshold, counts, stuck);
                ThresholdResult {
                    seed: None,
                    metric: threshold.metric.name().to_owned(),
                    persona: threshold.persona.clone(),
                    expression: threshold.expression.clone(),
                    measured,
                    met: measured.map(|measured| is_met(measured, threshold)),
                }
            })
            .collect()
    }

    fn measured(&self, threshold: &Threshold, counts: &Counts, stuck: u64) -> Option<f64> {
        let figure = threshold.figure;
        if let Some(persona) = &threshold.persona {
            let group = self.groups.of_persona(persona)?;
            return match group.measured.get(threshold.metric) {
                Some(measured) => of_distribution(measured, figure, MICROS),
                None => (threshold.metric == Metric::Refused).then_some(group.refused as f64),
            };
        }
        let share = |count: u64, of: u64| of_all(figure, count, of);
        let attempted = counts.attempted;
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "each value of all others is recorded"
        )]
        match threshold.metric {
            Metric::StickTurns => of_shares(&self.turns, figure),
            Metric::Matches => of_shares(&self.matches, figure),
            Metric::Lost => share(counts.lost, attempted),
            Metric::Duplicated => share(counts.duplicated, attempted),
            Metric::Reordered => share(counts.reordered, attempted),
            Metric::Phantom => share(counts.phantom, attempted),
            Metric::Gapped => share(counts.gapped, attempted),
            Metric::Refused => share(self.refused(), self.calls),
            Metric::Unanswered => share(self.unanswered, self.calls),
            Metric::Retries => share(self.retries, self.calls),
            Metric::Stuck => share(stuck, self.users()),
            Metric::LeftOut => share(self.left_out.values().sum(), self.users()),
            metric => {
                let measured = self.measured.get(metric)?;
                match (figure, metric) {
                    (Figure::Overtaken, _) if measured.count() == 0 => None,
                    (Figure::Overtaken, Metric::QueueWait) => Some(self.overtaken as f64),
                    (Figure::Overtaken, _) => Some(0.0), // `stick_order` sees to it.
                    _ => of_distribution(measured, figure, unit(metric)),
                }
            }
        }
    }
}

pub(crate) fn of_distribution(
    distribution: &Distribution,
    figure: Figure,
    unit: f64,
) -> Option<f64> {
    if distribution.count() == 0 {
        return None;
    }
    match figure {
        Figure::Percentile(percent) => Some(distribution.percentile(percent) / unit),
        Figure::Max => Some(distribution.max() / unit),
        Figure::Mean => Some(distribution.mean() / unit),
        Figure::Count => Some(distribution.count() as f64),
        Figure::Overtaken | Figure::Jain | Figure::Rate => None,
    }
}

fn of_shares(shares: &Shares, figure: Figure) -> Option<f64> {
    match figure {
        Figure::Jain => shares.jain(),
        Figure::Max => shares.max(),
        Figure::Mean => shares.mean(),
        Figure::Count => (shares.users() > 0).then(|| shares.users() as f64),
        Figure::Percentile(_) | Figure::Overtaken | Figure::Rate => None,
    }
}

fn of_all(figure: Figure, count: u64, of: u64) -> Option<f64> {
    match figure {
        Figure::Count => Some(count as f64),
        Figure::Rate => (of > 0).then(|| count as f64 / of as f64),
        Figure::Percentile(_) | Figure::Max | Figure::Mean | Figure::Overtaken | Figure::Jain => {
            None
        }
    }
}

pub(crate) fn is_met(measured: f64, threshold: &Threshold) -> bool {
    let bound = threshold.bound;
    match threshold.compare {
        Compare::Below => measured < bound,
        Compare::AtMost => measured <= bound,
        Compare::Above => measured > bound,
        Compare::AtLeast => measured >= bound,
        Compare::Equal => (measured - bound).abs() < 1e-9,
    }
}

/// The properties `fairness` and `latency`, if the plan names them: each holds if every measured
/// threshold of its kind was met. `results` are those of `Metrics::thresholds` for the same plan.
#[must_use]
pub fn judged_by_thresholds(
    plan: &Plan,
    results: &[ThresholdResult],
) -> BTreeMap<&'static str, PropertyResult> {
    let judged = |is_meant: fn(&Threshold) -> bool| {
        let met = plan
            .thresholds
            .iter()
            .zip(results)
            .filter(|(threshold, _)| is_meant(threshold))
            .filter_map(|(_, result)| result.met);
        let (checks, held) = met.fold((0, true), |(checks, held), met| (checks + 1, held && met));
        PropertyResult {
            held: (checks > 0).then_some(held),
            checks,
            unjudged: 0,
        }
    };
    [
        ("fairness", judged(is_of_fairness)),
        ("latency", judged(is_of_latency)),
    ]
    .into_iter()
    .filter(|(name, _)| plan.properties.contains(name))
    .collect()
}

/// Whether a threshold belongs to `fairness`: Jain's index over turns and matches, the longest wait,
/// and the most times overtaken.
fn is_of_fairness(threshold: &Threshold) -> bool {
    let quantity = threshold.metric.quantity();
    match threshold.figure {
        Figure::Jain | Figure::Overtaken => true,
        Figure::Max => matches!(quantity, Quantity::Line | Quantity::Share),
        Figure::Mean => quantity == Quantity::Share,
        Figure::Percentile(_) | Figure::Count | Figure::Rate => false,
    }
}

/// Whether a threshold belongs to `latency`: quantiles of durations, from the intended start.
fn is_of_latency(threshold: &Threshold) -> bool {
    let figure = threshold.figure;
    let is_of_time = matches!(figure, Figure::Percentile(_) | Figure::Mean | Figure::Max);
    threshold.metric.is_duration() && is_of_time && !is_of_fairness(threshold)
}

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
