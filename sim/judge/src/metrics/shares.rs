//! How evenly something was shared among all users who asked for it.
//!
//! A user's fair share is the most that all could have had at once: in proportion to the time since
//! it first asked, at least one, and no more than it had if it wanted no more. That is max-min
//! fairness. A user wants more if it still asks, if it gave up, or if it asks again and again and the
//! heal took rounds away: one that is served late asks less often.
//!
//! Jain's index is taken over what each user had relative to its fair share, with the fair share as
//! the weight: so a user who waits in vain counts in full, one who wanted little does not, and one more
//! user that gets nothing never improves the index. See Jain, Chiu, Hawe: "A Quantitative Measure of
//! Fairness" (1984).

use chat_types::Time;
use sim_model::outcome::{FairnessResult, LeastServed};
use sim_model::plan::Figure;
use sim_model::user_name::UserName;

/// How often one user asked, since when, and how often it was served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    pub(super) asked: u32,
    pub(super) had: u32,
    pub(super) since: Option<Time>,
}

impl Share {
    /// The user asked, intended at this instant.
    pub(super) fn ask(&mut self, intended: Time) {
        self.asked += 1;
        self.since.get_or_insert(intended);
    }
}

/// The share of one user at the end of a run.
#[derive(Clone, Debug)]
pub(super) struct Claimant {
    pub(super) index: usize,
    pub(super) share: Share,
    /// Since when it still asks.
    pub(super) open: Option<Time>,
    /// Whether its flow is over to its last round, or the user is gone.
    pub(super) is_done: bool,
}

impl Claimant {
    /// The user's share, if it asked.
    pub(super) fn of(
        (index, is_done): (usize, bool),
        share: Share,
        open: Option<Time>,
    ) -> Option<Self> {
        let asked = share.asked > 0 || share.had > 0 || open.is_some();
        asked.then_some(Self {
            index,
            share,
            open,
            is_done,
        })
    }

    /// The most that it could have used, if that is known.
    fn demand(&self) -> f64 {
        let Share { asked, had, .. } = self.share;
        let goes_on = asked > 1 && !self.is_done;
        match self.open.is_some() || asked > had || goes_on {
            true => f64::INFINITY,
            false => f64::from(had),
        }
    }

    /// Microseconds from its first request to the end of the run.
    fn time(&self, end: Time) -> f64 {
        let since = self.share.since.or(self.open).unwrap_or(end);
        end.since(since).0 as f64
    }
}

/// Parts of one, which sum exactly, so that the order of seeds does not matter.
const UNIT: f64 = 1e6;

/// Steps of the search for the rate of fair shares.
const HALVINGS: u32 = 64;

/// The shares of users, over runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    users: u64,
    had: u64,
    /// The sum of fair shares, in units.
    fair: u128,
    /// The sum of what each had, squared, relative to its fair share, in units.
    squares: u128,
    min: u32,
    max: u32,
    least: Option<LeastServed>,
}

impl Shares {
    /// Adds all users who competed for one thing in a run that healed, or ended, at `end`.
    pub(super) fn add(
        &mut self,
        claimants: &[Claimant],
        end: Time,
        seed: u64,
        name: &dyn Fn(usize) -> UserName,
    ) {
        for (claimant, fair) in claimants.iter().zip(fair_shares(claimants, end)) {
            let had = claimant.share.had;
            self.merge(&Self {
                users: 1,
                had: had.into(),
                fair: units(fair),
                squares: units(f64::from(had) * (f64::from(had) / fair)),
                min: had,
                max: had,
                least: Some(LeastServed {
                    who: name(claimant.index),
                    seed,
                    had: had.into(),
                    fair,
                }),
            });
        }
    }

    /// Adds the users of later seeds.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.users == 0 {
            return;
        }
        self.min = if self.users == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.users += other.users;
        self.fair += other.fair;
        self.squares += other.squares;
        self.had += other.had;
        let relative = |least: &LeastServed| least.relative();
        let mine = self.least.as_ref().map_or(f64::INFINITY, relative);
        if other.least.as_ref().map_or(f64::INFINITY, relative) < mine {
            self.least.clone_from(&other.least);
        }
    }

    /// Jain's index, (Σwx)² / (Σw Σwx²): what each had is wx. `None` with fewer than two users, or if
    /// none was served.
    fn jain(&self) -> Option<f64> {
        if self.users < 2 || self.squares == 0 {
            return None;
        }
        let had = self.had as f64 * UNIT;
        Some((had * had / (self.fair as f64 * self.squares as f64)).min(1.0))
    }

    /// A figure over all users that asked; `None` if no user asked.
    pub(super) fn figure(&self, figure: Figure) -> Option<f64> {
        if self.users == 0 {
            return None;
        }
        match figure {
            Figure::Jain => self.jain(),
            Figure::Max => Some(self.max.into()),
            Figure::Mean => Some(self.had as f64 / self.users as f64),
            Figure::Count => Some(self.users as f64),
            Figure::Percentile(_) | Figure::Overtaken | Figure::Rate => None,
        }
    }

    pub(super) fn result(&self) -> FairnessResult {
        FairnessResult {
            jain: self.jain(),
            users: self.users,
            min: f64::from(self.min),
            max: f64::from(self.max),
            mean: self.figure(Figure::Mean).unwrap_or(0.0),
            overtaken: 0,
            least: self.least.clone(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a share is no more than the number of calls of a run"
)]
fn units(value: f64) -> u128 {
    (value * UNIT).round() as u128
}

/// The fair share of each, as the head of this file defines it; none is below one.
fn fair_shares(claimants: &[Claimant], end: Time) -> Vec<f64> {
    let total: f64 = claimants.iter().map(|one| f64::from(one.share.had)).sum();
    let at_rate = |rate: f64| {
        let shares = claimants.iter();
        shares.map(move |one| (rate * one.time(end)).max(1.0).min(one.demand()))
    };
    // A microsecond is the shortest time, so at this rate there is no more to share.
    let (mut low, mut high) = (0.0, total + 1.0);
    if at_rate(high).sum::<f64>() <= total {
        return at_rate(high).collect();
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if at_rate(middle).sum::<f64>() < total {
            low = middle;
        } else {
            high = middle;
        }
    }
    at_rate(high).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const END: Time = Time(300_000_000);

    fn claimant((asked, had, since, open): (u32, u32, u64, bool)) -> Claimant {
        let since = Time(since);
        let share = Share {
            asked,
            had,
            since: Some(since),
        };
        Claimant {
            index: 0,
            share,
            open: open.then_some(since),
            is_done: !open,
        }
    }

    fn shares(all: &[(u32, u32, u64, bool)]) -> Shares {
        let all: Vec<Claimant> = all.iter().copied().map(claimant).collect();
        let mut shares = Shares::default();
        shares.add(&all, END, 0, &|_| UserName::default());
        shares
    }

    fn jain(all: &[(u32, u32, u64, bool)]) -> f64 {
        shares(all).jain().unwrap()
    }

    #[test]
    fn equal_turns_of_users_who_still_ask_are_fair() {
        assert_eq!(jain(&[(9, 8, 0, true); 5]), 1.0);
    }

    #[test]
    fn a_user_that_waits_while_others_have_turns_is_seen() {
        let mut all = vec![(30, 29, 0, true); 7];
        all.push((6, 5, 0, true));
        assert!((jain(&all) - 0.91).abs() < 0.01, "{}", jain(&all));
        let least = shares(&all).least.unwrap();
        assert_eq!(least.had, 5);
        assert!((least.fair - 26.0).abs() < 0.01, "{least:?}");
    }

    #[test]
    fn users_who_had_all_that_they_asked_for_are_fair() {
        let all = [(1, 1, 0, false), (10, 10, 0, false), (40, 40, 9, false)];
        assert_eq!(jain(&all), 1.0);
        assert_eq!((shares(&all).min, shares(&all).max), (1, 40));
    }

    #[test]
    fn a_user_that_gave_up_was_not_served() {
        assert!(jain(&[(1, 1, 0, false), (50, 0, 0, false)]) < 0.51);
    }

    #[test]
    fn who_asked_for_a_tenth_of_the_time_is_owed_a_tenth() {
        let late = END.0 / 10 * 9;
        let all = [(101, 100, 0, true), (11, 10, late, true)];
        assert!(jain(&all) > 0.999, "{}", jain(&all));
    }

    /// What a user asked for and had, since when it asked, and whether it still asks.
    fn one() -> impl Strategy<Value = (u32, u32, u64, bool)> {
        (1_u32..50, 0_u32..50, 0..END.0, any::<bool>())
            .prop_map(|(asked, had, since, open)| (asked, had.min(asked), since, open))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn one_more_user_that_gets_nothing_never_improves_the_index(
            all in prop::collection::vec(one(), 1..12),
            asked in 1_u32..9,
            since in 0..END.0,
        ) {
            let before = shares(&all).jain().unwrap_or(1.0);
            for open in [true, false] {
                let mut more = all.clone();
                more.push((asked, 0, since, open));
                let after = shares(&more).jain();
                prop_assert!(after.is_none_or(|after| after <= before + 1e-5), "{before} {after:?}");
            }
        }

        #[test]
        fn the_order_of_runs_does_not_matter(
            runs in prop::collection::vec(
                prop::collection::vec(one(), 1..5), 2..4),
        ) {
            let merged = |runs: &mut dyn Iterator<Item = &Vec<(u32, u32, u64, bool)>>| {
                let mut all = Shares::default();
                for run in runs {
                    all.merge(&shares(run));
                }
                (all.jain(), all.min, all.max, all.users)
            };
            prop_assert_eq!(merged(&mut runs.iter()), merged(&mut runs.iter().rev()));
        }
    }
}
