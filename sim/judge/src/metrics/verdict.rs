//! Compares a run's metrics with the plan's thresholds.

use std::collections::BTreeMap;

use super::distribution::Distribution;
use super::shares::Shares;
use super::{MICROS, Metrics};
use crate::properties::{fairness, latency};
use sim_model::outcome::{Counts, PropertyResult, ThresholdResult};
use sim_model::plan::{Compare, Figure, Plan, Threshold};

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
                    metric: threshold.metric.to_owned(),
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
            let measured = self.groups.of_persona(persona)?;
            return match threshold.metric {
                "refused" => of_all(figure, measured.refused(), 0),
                metric => of_distribution(measured.distribution(metric)?, figure, MICROS),
            };
        }
        let share = |count: u64, of: u64| of_all(figure, count, of);
        let attempted = counts.attempted;
        let of_metric = |(name, ..): &(&str, &Distribution, f64)| *name == threshold.metric;
        if let Some((name, distribution, unit)) = self.distributions().into_iter().find(of_metric) {
            return match (figure, name) {
                (Figure::Overtaken, _) if distribution.count() == 0 => None,
                (Figure::Overtaken, "queue_wait") => Some(self.overtaken as f64),
                (Figure::Overtaken, "stick_wait") => Some(0.0), // `stick_order` sees to it.
                _ => of_distribution(distribution, figure, unit),
            };
        }
        match threshold.metric {
            "stick_turns" => of_shares(&self.turns, figure),
            "matches" => of_shares(&self.matches, figure),
            "lost" => share(counts.lost, attempted),
            "duplicated" => share(counts.duplicated, attempted),
            "reordered" => share(counts.reordered, attempted),
            "phantom" => share(counts.phantom, attempted),
            "gapped" => share(counts.gapped, attempted),
            "refused" => share(self.refused(), self.calls),
            "unanswered" => share(self.unanswered, self.calls),
            "retries" => share(self.retries, self.calls),
            "stuck" => share(stuck, self.users()),
            "left_out" => share(self.left_out.values().sum(), self.users()),
            _ => None,
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
        ("fairness", judged(fairness::is_meant)),
        ("latency", judged(latency::is_meant)),
    ]
    .into_iter()
    .filter(|(name, _)| plan.properties.contains(name))
    .collect()
}
