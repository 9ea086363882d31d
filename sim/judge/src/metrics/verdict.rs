//! The results of a run's measurements by name, compared with the plan's thresholds, and the data of
//! its charts.

use std::collections::BTreeMap;

use chat_types::{Span, Time};
use sim_model::outcome::{
    Charts, Counts, Curve, FairnessResult, GroupResults, MetricResult, PropertyResult,
    ThresholdResult, UserWait, UserWaits,
};
use sim_model::plan::{Compare, Figure, Metric, Plan, Quantity, Threshold};
use sim_model::user_name::UserName;

use super::distribution::{Distribution, unit};
use super::open::Waited;
use super::{MICROS, Metrics};

impl Metrics {
    /// Each threshold of the plan, in its order, and whether it was met. The rates of `stuck` and
    /// `left_out` are relative to all users, those of messages to all attempts, those of refusals, of
    /// unanswered calls and of retries to all calls.
    #[must_use]
    pub fn thresholds(&self, plan: &Plan, counts: &Counts, stuck: u64) -> Vec<ThresholdResult> {
        let result = |threshold: &Threshold| {
            let measured = self.measured(threshold, counts, stuck);
            ThresholdResult {
                seed: None,
                metric: threshold.metric.name().to_owned(),
                persona: threshold.persona.clone(),
                expression: threshold.expression.clone(),
                measured,
                met: measured.map(|measured| is_met(measured, threshold)),
            }
        };
        plan.thresholds.iter().map(result).collect()
    }

    fn measured(&self, threshold: &Threshold, counts: &Counts, stuck: u64) -> Option<f64> {
        let figure = threshold.figure;
        if let Some(persona) = &threshold.persona {
            let group = self.groups.of_persona(persona)?;
            return match group.measured.get(threshold.metric) {
                Some(measured) => measured.figure(figure, MICROS),
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
            Metric::StickTurns => self.turns.figure(figure),
            Metric::Matches => self.matches.figure(figure),
            Metric::Lost => share(counts.lost, attempted),
            Metric::Duplicated => share(counts.duplicated, attempted),
            Metric::Reordered => share(counts.reordered, attempted),
            Metric::Phantom => share(counts.phantom, attempted),
            Metric::Gapped => share(counts.gapped, attempted),
            Metric::Refused => share(self.refused(), self.calls.offered),
            Metric::Unanswered => share(self.unanswered, self.calls.offered),
            Metric::Retries => share(self.retries, self.calls.offered),
            Metric::Stuck => share(stuck, self.users()),
            Metric::LeftOut => share(self.left_out.values().sum(), self.users()),
            metric => {
                let measured = self.measured.get(metric)?;
                match (figure, metric) {
                    (Figure::Overtaken, _) if measured.count() == 0 => None,
                    (Figure::Overtaken, Metric::QueueWait) => Some(self.overtaken as f64),
                    (Figure::Overtaken, _) => Some(0.0), // `stick_order` sees to it.
                    _ => measured.figure(figure, unit(metric)),
                }
            }
        }
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
        let results = plan.thresholds.iter().zip(results);
        let meant = results.filter(|(threshold, _)| is_meant(threshold));
        let met = meant.filter_map(|(_, result)| result.met);
        let (checks, held) = met.fold((0, true), |(checks, held), met| (checks + 1, held && met));
        PropertyResult {
            held: (checks > 0).then_some(held),
            checks,
            unjudged: 0,
        }
    };
    let fairness = ("fairness", judged(is_of_fairness));
    let both = [fairness, ("latency", judged(is_of_latency))].into_iter();
    both.filter(|(name, _)| plan.properties.contains(name))
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
        let metrics = all.map(|metric| {
            let measured = self.measured.get(*metric);
            let result = measured.map(|of| of.result(unit(*metric)));
            (metric.name().to_owned(), result.unwrap_or_default())
        });
        (metrics.collect(), fairness.into())
    }

    /// Figures by persona, phase and room.
    #[must_use]
    pub fn by_group(&self) -> GroupResults {
        self.groups.results()
    }

    /// Refusals by code.
    #[must_use]
    pub fn refusals(&self) -> BTreeMap<String, u64> {
        let refusals = self.refusals.iter();
        refusals
            .map(|(code, count)| ((*code).to_owned(), *count))
            .collect()
    }
}

/// Percentiles of a curve: denser towards 100, as on an axis that is logarithmic in the part above
/// the percentile. They are literals, so that every machine draws the same curve.
const PERCENTILES: [f64; 29] = [
    0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.5, 95.0, 96.0, 97.0,
    98.0, 98.5, 99.0, 99.25, 99.5, 99.7, 99.8, 99.9, 99.95, 99.97, 99.99, 99.995, 99.999,
];

impl Metrics {
    /// Ends the figures of a run: what each user had and how long it waited until then, who was left
    /// out, and the figures by room. `name` is a user's name; `overtaken` says who was overtaken, as
    /// the judge of the same run found.
    pub fn end_run(
        &mut self,
        seed: u64,
        now: Time,
        overtaken: &[u64],
        name: &dyn Fn(usize) -> UserName,
    ) {
        self.groups.rooms.end(seed);
        let settled = self.counts.accepted + self.counts.refused;
        self.counts.unanswered = self.counts.attempted.saturating_sub(settled);
        self.end_shares(seed, now, name);
        self.end_left_out();
        self.overtaken = overtaken.iter().copied().max().unwrap_or(0);
        let wait = |index: usize, waited: Waited, since: Option<Time>, overtaken: u64| {
            let open = since.map_or(Span::ZERO, |since| now.since(since)).0;
            let waits = waited.times + u32::from(since.is_some());
            (waits > 0).then(|| UserWait {
                who: name(index),
                seed,
                longest_ms: waited.longest.max(open) as f64 / MICROS,
                waits,
                overtaken,
                open: open > waited.longest,
            })
        };
        let users = self.users.iter().enumerate();
        let queue = users.clone().filter_map(|(index, user)| {
            let overtaken = overtaken.get(index).copied().unwrap_or(0);
            wait(index, user.queue, user.in_line_since, overtaken)
        });
        let stick = users.filter_map(|(index, user)| {
            let since = user.open_claim().map(|claim| claim.1);
            wait(index, user.stick, since, 0)
        });
        self.queue_waits = UserWaits::of(queue.collect());
        self.stick_waits = UserWaits::of(stick.collect());
    }

    /// The data to draw.
    #[must_use]
    pub fn charts(&self) -> Charts {
        let all = self.measured.all();
        let durations = all.filter(|(metric, of)| metric.is_duration() && of.count() > 0);
        Charts {
            curves: durations
                .map(|(metric, distribution)| curve(metric.name(), distribution))
                .collect(),
            queue: self.queue_waits.clone(),
            stick: self.stick_waits.clone(),
        }
    }
}

fn curve(metric: &'static str, distribution: &Distribution) -> Curve {
    let count = distribution.count();
    let last = 100.0 - 100.0 / count as f64;
    let mut points: Vec<(f64, f64)> = PERCENTILES
        .iter()
        .take_while(|percent| **percent < last)
        .map(|&percent| (percent, distribution.percentile(percent) / MICROS))
        .collect();
    points.push((last, distribution.max() / MICROS));
    Curve {
        metric,
        count,
        points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_to_the_largest_measured_value() {
        let mut distribution = Distribution::default();
        for value in 1..=1_000_u64 {
            distribution.record(value * 1_000);
        }
        let curve = curve("queue_wait", &distribution);
        assert_eq!(curve.count, 1_000);
        assert!(
            curve
                .points
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)
        );
        assert_eq!(curve.points.last(), Some(&(99.9, 1_000.0)));
        let median = curve.points.iter().find(|point| point.0 == 50.0).unwrap();
        assert!((495.0..=506.0).contains(&median.1), "{median:?}");
    }

    #[test]
    fn a_single_value_is_drawn_as_a_point() {
        let mut distribution = Distribution::default();
        distribution.record(7_000);
        assert_eq!(curve("stick_wait", &distribution).points, [(0.0, 7.0)]);
    }
}
