//! Fewer users, steps and faults.

use super::ddmin::{ddmin, without_pairs};
use super::lab::{Lab, steps};
use crate::plan::{Fault, FaultKind, OperatorAct, Plan, ScriptStep, Victims, Workload};
use crate::runner::Measured;

/// Up to so many steps, pairs of them are tried too.
const PAIRS: usize = 24;

impl<M: Measured> Lab<'_, M> {
    /// Takes away whatever is not needed, until nothing more can be.
    pub(super) fn fewer(&mut self, plan: &mut Plan) {
        self.fewer_users(plan);
        self.fewer_faults(plan);
        self.fewer_steps(plan);
        self.fewer_users(plan);
        self.fewer_faults(plan);
    }

    fn fewer_users(&mut self, plan: &mut Plan) {
        let Workload::Steps { users, .. } = &plan.workload else {
            return;
        };
        let all: Vec<u32> = (0..).take(users.len()).collect();
        let whole = plan.clone();
        let kept = ddmin(&all, &mut |some| {
            !some.is_empty() && self.is_better(&only_users(&whole, some))
        });
        if kept.len() < all.len() && !kept.is_empty() {
            *plan = only_users(&whole, &kept);
        }
    }

    fn fewer_faults(&mut self, plan: &mut Plan) {
        let whole = plan.clone();
        let with = |faults: &[Fault]| Plan {
            faults: faults.to_vec(),
            ..whole.clone()
        };
        let kept = ddmin(&whole.faults, &mut |some| self.is_better(&with(some)));
        *plan = with(&kept);
    }

    pub(super) fn fewer_steps(&mut self, plan: &mut Plan) {
        let Workload::Steps { steps, .. } = &plan.workload else {
            return;
        };
        let all = steps.clone();
        let whole = plan.clone();
        let mut shows = |some: &[ScriptStep]| {
            !some.is_empty() && self.is_better(&with_steps(&whole, some.to_vec()))
        };
        let mut kept = ddmin(&all, &mut shows);
        if kept.len() <= PAIRS {
            kept = without_pairs(&kept, &mut shows);
        }
        if !kept.is_empty() {
            *plan = with_steps(&whole, kept);
        }
    }

    /// Whether the smaller plan shows the same; if so, that is how far it is.
    fn is_better(&mut self, plan: &Plan) -> bool {
        let better = self.shows(plan);
        if better {
            (self.tell)(self.runs, steps(plan));
        }
        better
    }
}

pub(super) fn with_steps(plan: &Plan, steps: Vec<ScriptStep>) -> Plan {
    let mut smaller = plan.clone();
    if let Workload::Steps { steps: those, .. } = &mut smaller.workload {
        *those = steps;
    }
    smaller
}

/// The plan with only these users in it, and what concerns them.
fn only_users(plan: &Plan, kept: &[u32]) -> Plan {
    let mut smaller = plan.clone();
    let place = |user: u32| {
        let at = kept.iter().position(|those| *those == user)?;
        u32::try_from(at).ok()
    };
    let Workload::Steps { users, steps } = &mut smaller.workload else {
        return smaller;
    };
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
    smaller.faults.retain_mut(|fault| keep_fault(fault, &place));
    smaller
}

/// Whether there is anybody left whom the fault strikes.
fn keep_fault(fault: &mut Fault, place: &dyn Fn(u32) -> Option<u32>) -> bool {
    if let Some(Victims::Users(those)) = fault.kind.victims_mut() {
        *those = those.iter().filter_map(|user| place(*user)).collect();
        return !those.is_empty();
    }
    let FaultKind::Operator(act) = &mut fault.kind else {
        return true;
    };
    let user = match act {
        OperatorAct::Mute { user }
        | OperatorAct::Unmute { user }
        | OperatorAct::Kick { user }
        | OperatorAct::Close { user }
        | OperatorAct::Ban { user } => user,
    };
    let named = user.is_some();
    *user = user.and_then(place);
    user.is_some() || !named
}
