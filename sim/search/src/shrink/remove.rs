//! A pass that removes users, steps and faults.

use std::collections::BTreeSet;

use chat_types::config::Matching;

use super::attempts::{Fidelity, capacity};
use super::candidates::{Shrinker, steps, with};
use super::compress_time::{long_pauses, move_earlier};
use super::ddmin::{ddmin, ddmin_by, without_pairs};
use crate::workload::{has_breaks, script_mut};
use sim_model::plan::{Fault, FaultKind, Plan, ScriptStep, Step, Verb, Victims};

/// Up to this number of steps, pairs of them are tried, too.
const PAIRS: usize = 24;

/// A number of users that counts as few.
const FEW_USERS: usize = 8;

/// The numbers of last steps that are tried with other seeds.
const LAST: [usize; 4] = [2, 4, 8, 16];

/// The number of other seeds that are tried.
const OTHER_SEEDS: u64 = 128;

/// The fractions of a run that may be cut at its beginning, the largest first.
const EARLY: [(usize, usize); 6] = [(15, 16), (7, 8), (3, 4), (1, 2), (1, 4), (1, 8)];

impl Shrinker<'_> {
    /// Removes all that is not needed.
    pub(super) fn remove_parts(&mut self, plan: &mut Plan) {
        self.remove_users(plan, 1);
        self.remove_faults(plan);
        self.remove_steps(plan);
        self.remove_reconnections(plan);
        self.remove_users(plan, 1);
        self.remove_claims(plan);
        self.remove_faults(plan);
    }

    /// Removes a claim that others wait behind. All that follows a long pause then comes a turn
    /// earlier. Otherwise a line of many holders could not be shortened.
    fn remove_claims(&mut self, plan: &mut Plan) {
        let lease = plan.server.stick_lease;
        for index in (0..steps(plan)).rev() {
            let all = plan.workload.steps();
            let is_claim = |step: &ScriptStep| {
                matches!(
                    step.what,
                    Step::Call(Verb::TalkingStick(_) | Verb::Speak(_))
                )
            };
            if !all.get(index).is_some_and(is_claim) || all.len() == 1 {
                continue;
            }
            let mut without = all.to_vec();
            let claimed_at = without.remove(index).at;
            let without = with(plan, &without, &keep_steps);
            let pauses = long_pauses(&without, claimed_at, lease).into_iter();
            let mut earlier = pauses.map(|moment| {
                let mut earlier = without.clone();
                move_earlier(&mut earlier, moment, lease);
                earlier
            });
            if let Some(earlier) = earlier.find(|earlier| self.check_smaller(earlier)) {
                *plan = earlier;
            }
        }
    }

    /// Removes a disconnection with the opening of the stream that follows it. Openings are written in
    /// their order: without the one, the others would follow other disconnections.
    fn remove_reconnections(&mut self, plan: &mut Plan) {
        for index in (0..steps(plan)).rev() {
            let (users, all) = (plan.workload.users(), plan.workload.steps());
            let is_cut = |step: &&ScriptStep| matches!(step.what, Step::Disconnect(Some(_)));
            let Some(cut) = all.get(index).filter(is_cut) else {
                continue;
            };
            let (of, opens) = (cut.user as usize, users[cut.user as usize].opens.len());
            // The first opening follows a registration, and a second stream has one of its own.
            let before = all[..index].iter().filter(is_cut);
            let nth = 1 + before.filter(|step| step.user == cut.user).count();
            let those = [nth, nth + 1, nth + 2, nth - 1];
            let those = those.into_iter().filter(|nth| *nth < opens);
            self.attempt_first(plan, those, |plan, nth| {
                let (users, steps) = script_mut(plan);
                steps.remove(index);
                users[of].opens.remove(nth);
            });
        }
    }

    /// A quick first cut: keeps only a few of many users if the others do not matter, otherwise
    /// only late steps.
    pub(super) fn rough_cut(&mut self, plan: &mut Plan) {
        // Otherwise removing a request changes the service times of all later ones.
        self.attempt(plan, |plan| {
            plan.capacity = capacity(&plan.capacity, Fidelity::Service)
        });
        // Otherwise removing an entry changes the random draws of all later ones.
        if (1..100).contains(&plan.server.boss_alertness) {
            self.attempt(plan, |plan| plan.server.boss_alertness = 100);
        }
        let is_random = plan.server.matching == Matching::Random || has_breaks(plan);
        if is_random && self.try_other_seeds(plan) {
            return;
        }
        let mut few = plan.clone();
        self.remove_users(&mut few, plan.workload.users().len().div_ceil(8));
        // More users are a long chain of steps, which is hard to cut once it has holes.
        if few.workload.users().len() <= FEW_USERS {
            *plan = few;
        }
        self.remove_early_steps(plan);
    }

    /// Keeps only the last steps and each user's first one, under a seed whose random draws make
    /// them fail. Under the original seed, an event of one in a hundred needs a hundred steps.
    fn try_other_seeds(&mut self, plan: &mut Plan) -> bool {
        let own = self.seed;
        let whole = plan.workload.steps();
        for last in LAST.into_iter().filter(|last| *last < whole.len()) {
            let cut = whole.len() - last;
            let those = whole[cut..].iter().map(|step| step.user);
            let those: Vec<u32> = those.collect::<BTreeSet<u32>>().into_iter().collect();
            let mut few = with(plan, &from(whole, cut), &keep_steps);
            keep_users(&mut few, &those);
            for seed in 0..OTHER_SEEDS {
                self.seed = own.wrapping_add(seed);
                if self.check_smaller(&few) {
                    *plan = few;
                    return true;
                }
            }
        }
        self.seed = own;
        false
    }

    /// Removes early steps except each user's first, which registers it. In a long run most early
    /// steps do not affect its end.
    fn remove_early_steps(&mut self, plan: &mut Plan) {
        loop {
            let whole = plan.workload.steps();
            let cuts = EARLY.iter().map(|(over, under)| whole.len() * over / under);
            let later = cuts
                .map(|cut| with(plan, &from(whole, cut), &keep_steps))
                .find(|later| steps(later) < whole.len() && self.check_smaller(later));
            match later {
                Some(later) => *plan = later,
                None => return,
            }
        }
    }

    /// Removes users, at least `least` at once.
    fn remove_users(&mut self, plan: &mut Plan, least: usize) {
        let all: Vec<u32> = (0..).take(plan.workload.users().len()).collect();
        self.reduce(plan, &all, &keep_users, &|all, still_fails| {
            ddmin_by(least, all, still_fails)
        });
    }

    pub(super) fn remove_faults(&mut self, plan: &mut Plan) {
        let keep = |plan: &mut Plan, some: &[Fault]| plan.faults = some.to_vec();
        plan.faults = ddmin(&plan.faults, &mut |some| {
            self.check_smaller(&with(plan, some, &keep))
        });
    }

    fn remove_steps(&mut self, plan: &mut Plan) {
        let all = plan.workload.steps().to_vec();
        self.reduce(plan, &all, &keep_steps, &|all, still_fails| {
            let kept = ddmin(all, still_fails);
            match kept.len() <= PAIRS {
                true => without_pairs(&kept, still_fails),
                false => kept,
            }
        });
    }

    /// Takes another plan if fewer steps are left of it. Returns whether it does.
    pub(super) fn prefer_shorter(&mut self, plan: &mut Plan, mut other: Plan) -> bool {
        self.remove_steps(&mut other);
        let is_shorter = steps(&other) < steps(plan);
        if is_shorter {
            *plan = other;
        }
        is_shorter
    }

    /// Whether any eighth of the steps can be removed.
    pub(super) fn can_remove_an_eighth(&mut self, plan: &Plan) -> bool {
        let all = plan.workload.steps();
        let part = all.len().div_ceil(8).max(1);
        (0..all.len()).step_by(part).any(|from| {
            let (before, rest) = all.split_at(from);
            let after = rest.iter().skip(part);
            let without: Vec<ScriptStep> = before.iter().chain(after).cloned().collect();
            !without.is_empty() && self.still_fails(&with(plan, &without, &keep_steps))
        })
    }
}

/// The steps from this one on, and each user's first before it.
fn from(steps: &[ScriptStep], cut: usize) -> Vec<ScriptStep> {
    let mut there = BTreeSet::new();
    let kept = steps.iter().enumerate().filter(|(index, step)| {
        let first = there.insert(step.user);
        first || *index >= cut
    });
    kept.map(|(_, step)| step.clone()).collect()
}

fn keep_steps(plan: &mut Plan, some: &[ScriptStep]) {
    *script_mut(plan).1 = some.to_vec();
}

/// Leaves only these users in the plan.
fn keep_users(plan: &mut Plan, kept: &[u32]) {
    let place = |user: u32| {
        let at = kept.iter().position(|those| *those == user)?;
        u32::try_from(at).ok()
    };
    let (users, steps) = script_mut(plan);
    *users = kept
        .iter()
        .filter_map(|user| users.get(*user as usize).cloned())
        .collect();
    steps.retain_mut(|step| {
        let Some(user) = place(step.user) else {
            return false;
        };
        step.user = user;
        step.net.push.retain_mut(|(to, _)| {
            let there = place(*to);
            *to = there.unwrap_or(*to);
            there.is_some()
        });
        true
    });
    plan.faults.retain_mut(|fault| keep_fault(fault, &place));
}

/// Whether the fault still has a victim.
fn keep_fault(fault: &mut Fault, place: &dyn Fn(u32) -> Option<u32>) -> bool {
    if let Some(Victims::Users(those)) = fault.kind.victims_mut() {
        *those = those.iter().filter_map(|user| place(*user)).collect();
        return !those.is_empty();
    }
    let FaultKind::Operator(act) = &mut fault.kind else {
        return true;
    };
    let user = &mut act.user;
    let named = user.is_some();
    *user = user.and_then(place);
    user.is_some() || !named
}
