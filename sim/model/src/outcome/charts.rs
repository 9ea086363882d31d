//! The charts of a report: percentile curves, and each user's waits. They merge over seeds like the
//! metrics.

use serde::Serialize;

use crate::user_name::UserName;

/// The number of users whose waits are kept, the longest first. The worst of many seeds are among
/// the worst of each, so merging is exact.
const WORST: usize = 240;

/// The curves of a run, and its longest waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Charts {
    /// A curve for each metric with values.
    pub curves: Vec<Curve>,
    /// Waits in the queue.
    pub queue: UserWaits,
    /// Waits for a stick.
    pub stick: UserWaits,
}

/// A metric's values by percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The metric's name.
    pub metric: &'static str,
    /// The number of values.
    pub count: u64,
    /// Points of a percentage and the milliseconds that this share of the values does not exceed.
    /// The curve ends with the largest value, at the percentile above which there is only that one.
    pub points: Vec<(f64, f64)>,
}

/// The longest waits of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UserWaits {
    /// The number of users that waited.
    pub users: u64,
    /// The users with the longest waits, the longest first.
    pub worst: Vec<UserWait>,
}

/// The waits of one user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserWait {
    /// The user: its id and its name in the scenario.
    #[serde(flatten)]
    pub who: UserName,
    /// The seed of its run.
    pub seed: u64,
    /// The longest of its waits, in milliseconds.
    pub longest_ms: f64,
    /// The number of its waits.
    pub waits: u32,
    /// The largest number of times that it was bypassed during one wait.
    pub overtaken: u64,
    /// Whether the longest wait had not ended at the end of the run.
    pub open: bool,
}

impl UserWaits {
    /// The waits of these users, in the order of their arrival.
    #[must_use]
    pub fn of(all: Vec<UserWait>) -> Self {
        let mut waits = Self {
            users: all.len() as u64,
            worst: all,
        };
        waits.settle();
        waits
    }

    /// Adds another seed's users.
    pub fn merge(&mut self, other: &Self) {
        self.users += other.users;
        self.worst.extend(other.worst.iter().cloned());
        self.settle();
    }

    /// The sort is stable: among equals the earlier seed, and in it the earlier user, comes first.
    fn settle(&mut self) {
        self.worst
            .sort_by(|a, b| b.longest_ms.total_cmp(&a.longest_ms));
        self.worst.truncate(WORST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(user: u64, seed: u64, longest_ms: f64) -> UserWait {
        UserWait {
            who: UserName::new(None, &format!("penpal#{user}")),
            seed,
            longest_ms,
            waits: 1,
            overtaken: 0,
            open: false,
        }
    }

    #[test]
    fn merging_keeps_the_worst_of_all_whatever_the_grouping() {
        let seed = |seed: u64| {
            let users =
                (0..200).map(|n| wait(n, seed, ((n * 7_919 + seed * 104_729) % 1_000) as f64));
            UserWaits::of(users.collect())
        };
        let mut left = seed(1);
        left.merge(&seed(2));
        left.merge(&seed(3));
        let mut rest = seed(2);
        rest.merge(&seed(3));
        let mut right = seed(1);
        right.merge(&rest);
        assert_eq!(left, right);
        assert_eq!((left.users, left.worst.len()), (600, WORST));
        let ordered = |pair: &[UserWait]| pair[0].longest_ms >= pair[1].longest_ms;
        assert!(left.worst.windows(2).all(ordered));
        let mut all: Vec<f64> = (1..=3)
            .flat_map(|n| seed(n).worst)
            .map(|wait| wait.longest_ms)
            .collect();
        all.sort_by(|a, b| b.total_cmp(a));
        let kept: Vec<f64> = left.worst.iter().map(|wait| wait.longest_ms).collect();
        assert_eq!(kept, all[..WORST]);
    }
}
