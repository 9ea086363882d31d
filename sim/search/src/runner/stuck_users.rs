//! Whether users were at rest at the end of their runs, over all seeds.

use sim_model::draw::Ratio;
use sim_model::outcome::RestResult;

/// The stuck users of the seeds so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StuckUsers {
    stuck: u64,
    /// The seed with the largest share of stuck users, and that share; the first of several.
    worst: Option<(u64, Share)>,
}

/// A number of stuck users among all.
#[derive(Clone, Copy, Debug)]
struct Share {
    stuck: u64,
    users: u64,
}

impl Share {
    fn is_larger_than(self, other: Self) -> bool {
        let product = |stuck: u64, users: u64| u128::from(stuck) * u128::from(users);
        product(self.stuck, other.users) > product(other.stuck, self.users)
    }
}

impl StuckUsers {
    /// Adds the next seed.
    pub(super) fn add(&mut self, seed: u64, stuck: u64, users: u64) {
        self.stuck += stuck;
        let share = Share { stuck, users };
        let is_worse = self
            .worst
            .is_none_or(|(_, worst)| share.is_larger_than(worst));
        if stuck > 0 && is_worse {
            self.worst = Some((seed, share));
        }
    }

    /// Whether each seed stayed within the allowed share; `seeds` is their number.
    pub(super) fn result(self, allowed: Ratio, seeds: u64) -> RestResult {
        let too_many = |(_, share): &(u64, Share)| !allowed.covers(share.stuck, share.users);
        let broken = self.worst.filter(too_many);
        RestResult {
            held: broken.is_none(),
            stuck: self.stuck,
            allowed: allowed.is_possible().then(|| allowed.to_string()),
            seed: broken.map(|(seed, _)| seed).filter(|_| seeds > 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seeds: &[(u64, u64)], allowed: Ratio) -> RestResult {
        let mut rest = StuckUsers::default();
        for (seed, (stuck, users)) in (1..).zip(seeds) {
            rest.add(seed, *stuck, *users);
        }
        rest.result(allowed, seeds.len() as u64)
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
