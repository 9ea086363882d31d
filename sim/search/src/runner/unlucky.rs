//! Whether each seed had at most the allowed share of users that were stuck, or that never got in.

use std::collections::BTreeMap;

use sim_model::draw::Ratio;
use sim_model::outcome::{LeftOutResult, RestResult};

/// The users of the seeds so far to whom it happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unlucky {
    count: u64,
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

    /// The seed with the largest share, if that is more than allowed.
    fn beyond(self, allowed: Ratio) -> Option<u64> {
        let (seed, count, users) = self.worst?;
        (!allowed.covers(count, users)).then_some(seed)
    }

    /// These are the stuck users of so many seeds.
    pub(super) fn stuck(self, allowed: Ratio, seeds: u64) -> RestResult {
        let broken = self.beyond(allowed);
        RestResult {
            held: broken.is_none(),
            stuck: self.count,
            allowed: allowed.is_possible().then(|| allowed.to_string()),
            seed: broken.filter(|_| seeds > 1),
        }
    }

    /// These are the users of so many seeds that never got in; `why`: their number by the reason.
    pub(super) fn left_out(
        self,
        allowed: Ratio,
        seeds: u64,
        why: BTreeMap<String, u64>,
    ) -> LeftOutResult {
        let broken = self.beyond(allowed);
        LeftOutResult {
            held: broken.is_none(),
            users: self.count,
            why,
            seed: broken.filter(|_| seeds > 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seeds: &[(u64, u64)], allowed: Ratio) -> RestResult {
        let mut rest = Unlucky::default();
        for (seed, (stuck, users)) in (1..).zip(seeds) {
            rest.add(seed, *stuck, *users);
        }
        rest.stuck(allowed, seeds.len() as u64)
    }

    #[test]
    fn a_stuck_user_fails_a_run_unless_allowed() {
        assert!(of(&[(0, 10), (0, 0)], Ratio::NEVER).held);
        let broken = of(&[(0, 10), (1, 10), (3, 10), (2, 10)], Ratio::NEVER);
        assert_eq!(
            (broken.held, broken.stuck, broken.seed),
            (false, 6, Some(3))
        );
        let tenth = Ratio::new(1, 10).unwrap();
        assert!(of(&[(1, 10), (2, 20)], tenth).held);
        let broken = of(&[(1, 10), (3, 20)], tenth);
        assert_eq!(
            (broken.held, broken.seed),
            (false, Some(2)),
            "each by itself"
        );
        assert_eq!(of(&[(5, 5)], Ratio::NEVER).seed, None, "there is only one");
        assert!(of(&[(5, 5)], Ratio::new(1, 1).unwrap()).held);
    }
}
