//! How evenly something was shared among users who asked for it equally often.

use std::collections::BTreeMap;

/// How often one user asked, and how often it was served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    pub(super) asked: u32,
    pub(super) had: u32,
}

/// Users who asked equally often.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    users: u64,
    sum: u64,
    squares: u64,
}

/// The users of a run, grouped by how often they asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    groups: BTreeMap<u32, Group>,
    max: u32,
}

impl Shares {
    /// Adds one user's share. A user that never asked does not count.
    pub(super) fn add(&mut self, share: Share) {
        if share.asked == 0 {
            return;
        }
        let had = u64::from(share.had);
        let group = self.groups.entry(share.asked).or_default();
        group.users += 1;
        group.sum += had;
        group.squares += had * had;
        self.max = self.max.max(share.had);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (&asked, theirs) in &other.groups {
            let group = self.groups.entry(asked).or_default();
            group.users += theirs.users;
            group.sum += theirs.sum;
            group.squares += theirs.squares;
        }
        self.max = self.max.max(other.max);
    }

    /// Jain's index, (Σx)² / (n Σx²), over the largest group of users that asked equally often (of
    /// groups of one size, the one that asked more). `None` if it has fewer than two users, or no
    /// user had a turn. See Jain, Chiu, Hawe: "A Quantitative Measure of Fairness" (1984).
    pub(super) fn jain(&self) -> Option<f64> {
        let largest = self.groups.values().max_by_key(|group| group.users)?;
        if largest.users < 2 || largest.squares == 0 {
            return None;
        }
        let sum = largest.sum as f64;
        Some(sum * sum / (largest.users as f64 * largest.squares as f64))
    }

    /// The most that any user had; `None` if no user asked.
    pub(super) fn max(&self) -> Option<f64> {
        (!self.groups.is_empty()).then_some(f64::from(self.max))
    }

    /// The mean over all users that asked; `None` if no user asked.
    pub(super) fn mean(&self) -> Option<f64> {
        let users: u64 = self.groups.values().map(|group| group.users).sum();
        let sum: u64 = self.groups.values().map(|group| group.sum).sum();
        (users > 0).then(|| sum as f64 / users as f64)
    }

    /// The number of users that asked.
    pub(super) fn users(&self) -> u64 {
        self.groups.values().map(|group| group.users).sum()
    }
}
