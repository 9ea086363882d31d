//! The data of a run's charts: percentile curves, and waits by user.

use std::collections::BTreeMap;

use chat_types::{Span, Time};

use super::distribution::Distribution;
use super::open::{Waited, Waits};
use super::{MICROS, Metrics};
use sim_model::outcome::{Charts, Curve, UserWait, UserWaits};
use sim_model::protocol::Agent;
use sim_model::user_name::UserName;

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
        overtaken: &BTreeMap<Agent, u64>,
        name: &dyn Fn(usize) -> UserName,
    ) {
        self.groups.end(seed);
        self.end_shares(seed, now, name);
        self.end_left_out();
        self.overtaken = overtaken.values().copied().max().unwrap_or(0);
        let passed: BTreeMap<usize, u64> = overtaken
            .iter()
            .map(|(agent, times)| (agent.0 as usize, *times))
            .collect();
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
        let of = |one: &dyn Fn(usize, &Waits) -> Option<UserWait>| {
            let users = self.users.iter().enumerate();
            UserWaits::of(users.filter_map(|(index, user)| one(index, user)).collect())
        };
        let queue = of(&|index, user| {
            let overtaken = passed.get(&index).copied().unwrap_or(0);
            wait(index, user.queue, user.in_line_since, overtaken)
        });
        let stick = of(&|index, user| {
            let since = user.open_claim().map(|claim| claim.1);
            wait(index, user.stick, since, 0)
        });
        (self.queue_waits, self.stick_waits) = (queue, stick);
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
        let mut distribution = Distribution::new();
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
        let mut distribution = Distribution::new();
        distribution.record(7_000);
        assert_eq!(curve("stick_wait", &distribution).points, [(0.0, 7.0)]);
    }
}
