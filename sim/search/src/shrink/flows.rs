//! A pass over a run whose failure needs its flows: recorded as steps, it does not fail.
//!
//! Chance decides what users do. So each removal changes what follows it, and fewer parts can be
//! removed than of steps. With fewer parts, the run may fail as steps, too.

use std::sync::Arc;

use super::candidates::Shrinker;
use super::ddmin::ddmin;
use sim_model::plan::{Arrivals, ClientProfile, Habits, Persona, Plan, Step, Workload};

impl Shrinker<'_> {
    /// Removes users, faults, personas, and steps of their flows. Called again as long as that changes
    /// the plan: with fewer parts, more can be removed.
    pub(super) fn shrink_flows(&mut self, plan: &mut Plan) {
        // Runs with fewer users are faster.
        self.remove_flow_users(plan, 2);
        self.remove_flow_users(plan, 4);
        self.remove_faults(plan);
        self.default_environment(plan);
        self.remove_personas(plan);
        self.attempt(plan, |plan| {
            each(plan, |persona| persona.habits = Habits::default())
        });
        self.attempt(plan, |plan| {
            each(plan, |persona| persona.profile = ClientProfile::default());
        });
        for index in 0..personas(plan).len() {
            self.remove_flow_steps(plan, index);
        }
    }

    /// Removes this part of the users, as often as possible.
    fn remove_flow_users(&mut self, plan: &mut Plan, part: u32) {
        loop {
            let mut probe = plan.clone();
            if !fewer_users(&mut probe, part) || !self.still_fails(&probe) {
                return;
            }
            *plan = probe;
        }
    }

    fn remove_personas(&mut self, plan: &mut Plan) {
        let whole = plan.clone();
        let kept = ddmin(personas(&whole), &mut |some| {
            !some.is_empty() && self.still_fails(&with_personas(&whole, some))
        });
        if !kept.is_empty() {
            *plan = with_personas(&whole, &kept);
        }
    }

    fn remove_flow_steps(&mut self, plan: &mut Plan, index: usize) {
        let whole = plan.clone();
        let all = Arc::clone(&personas(&whole)[index].flow);
        let with = |some: &[Step]| {
            let mut smaller = personas(&whole).to_vec();
            Arc::make_mut(&mut smaller[index]).flow = some.into();
            with_personas(&whole, &smaller)
        };
        let kept = ddmin(&all, &mut |some| {
            !some.is_empty() && self.still_fails(&with(some))
        });
        if !kept.is_empty() {
            *plan = with(&kept);
        }
    }
}

/// The personas; none of a plan in the steps form.
fn personas(plan: &Plan) -> &[Arc<Persona>] {
    match &plan.workload {
        Workload::Phases { personas, .. } => personas,
        Workload::Steps { .. } => &[],
    }
}

fn with_personas(plan: &Plan, some: &[Arc<Persona>]) -> Plan {
    let mut changed = plan.clone();
    if let Workload::Phases { personas, .. } = &mut changed.workload {
        *personas = some.to_vec();
    }
    changed
}

fn each(plan: &mut Plan, change: impl Fn(&mut Persona)) {
    if let Workload::Phases { personas, .. } = &mut plan.workload {
        personas
            .iter_mut()
            .for_each(|one| change(Arc::make_mut(one)));
    }
}

/// Limits each phase to fewer users, by this part of them; at least one stays. Returns whether any
/// phase changed.
fn fewer_users(plan: &mut Plan, part: u32) -> bool {
    let Workload::Phases { phases, .. } = &mut plan.workload else {
        return false;
    };
    let mut changed = false;
    for phase in phases {
        let before = u32::try_from(phase.users()).unwrap_or(u32::MAX);
        let fewer = before - before.div_ceil(part);
        if fewer > 0 {
            match &mut phase.arrivals {
                Arrivals::Count { users, .. } => *users = fewer,
                Arrivals::Rate { .. } | Arrivals::Pause => phase.max_users = Some(fewer),
            }
            changed = true;
        }
    }
    changed
}
