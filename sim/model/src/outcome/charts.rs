//! What a report draws of a run beside its result: percentile curves, and how long each user
//! waited. It merges over seeds like the figures it is made of.

use serde::Serialize;

/// Users whose waits are kept, the longest first. The worst of many seeds are among the worst of
/// each, so that merging leaves nobody out who belongs to them.
const WORST: usize = 240;

/// The curves of a run, and its longest waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Charts {
    /// One for each metric of which anything was measured.
    pub curves: Vec<Curve>,
    /// In line.
    pub queue: UserWaits,
    /// For a stick.
    pub stick: UserWaits,
}

/// A metric's values by percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The metric's name.
    pub metric: &'static str,
    /// How many values it is of.
    pub count: u64,
    /// Percent of all values, and the milliseconds that so many of them do not exceed. It ends
    /// with the largest value, at the percentile from which on there is only that one.
    pub points: Vec<(f64, f64)>,
}

/// The longest waits of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UserWaits {
    /// How many users waited at all.
    pub users: u64,
    /// Those who waited longest, the longest first.
    pub worst: Vec<UserWait>,
}

/// How one user waited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserWait {
    /// The virtual user, such as `penpal#12`.
    pub user: String,
    /// The seed whose run it was in.
    pub seed: u64,
    /// The longest of its waits, in milliseconds.
    pub longest_ms: f64,
    /// How many waits it had.
    pub waits: u32,
    /// How often it was overtaken during one wait, at most.
    pub overtaken: u64,
    /// Whether the longest had not ended when the run did.
    pub open: bool,
}

impl UserWaits {
    /// Of these users, in the order of their arrival.
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
            user: format!("penpal#{user}"),
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
