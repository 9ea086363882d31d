//! Whether each seed had at most the allowed share of users that were stuck, or that never got in.

use sim_model::draw::Ratio;

/// The users of the seeds so far to whom it happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unlucky {
    pub(super) count: u64,
    /// The seed with the largest share of them, and that share: their number and that of all. The first
    /// of several.
    worst: Option<(u64, u64, u64)>,
}

impl Unlucky {
    /// Adds the next seed.
    pub(super) fn add(&mut self, seed: u64, count: u64, users: u64) {
        self.count += count;
        let product = |count: u64, users: u64| u128::from(count) * u128::from(users);
        let is_worse = self
            .worst
            .is_none_or(|(_, most, of)| product(count, of) > product(most, users));
        if count > 0 && is_worse {
            self.worst = Some((seed, count, users));
        }
    }

    /// Whether each of so many seeds had at most the allowed share; otherwise, with several of them,
    /// the one with the largest.
    pub(super) fn within(self, allowed: Ratio, seeds: u64) -> (bool, Option<u64>) {
        let beyond = self.worst;
        let beyond = beyond.filter(|(_, count, users)| !allowed.covers(*count, *users));
        let seed = beyond.filter(|_| seeds > 1).map(|(seed, ..)| seed);
        (beyond.is_none(), seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stuck_user_fails_a_run_unless_allowed() {
        let (never, tenth) = (Ratio::NEVER, Ratio::new(1, 10).unwrap());
        let all = Ratio::new(1, 1).unwrap();
        for (seeds, allowed, within) in [
            (&[(0, 10), (0, 0)][..], never, (true, None)),
            (
                &[(0, 10), (1, 10), (3, 10), (2, 10)],
                never,
                (false, Some(3)),
            ),
            (&[(1, 10), (2, 20)], tenth, (true, None)),
            // Each by itself.
            (&[(1, 10), (3, 20)], tenth, (false, Some(2))),
            // There is only one.
            (&[(5, 5)], never, (false, None)),
            (&[(5, 5)], all, (true, None)),
        ] {
            let mut rest = Unlucky::default();
            for (seed, (stuck, users)) in (1..).zip(seeds) {
                rest.add(seed, *stuck, *users);
            }
            assert_eq!(
                rest.count,
                seeds.iter().map(|(stuck, _)| stuck).sum::<u64>()
            );
            assert_eq!(
                rest.within(allowed, seeds.len() as u64),
                within,
                "{seeds:?}"
            );
        }
    }
}
