//! A pass over a run whose failure needs its flows: recorded as steps, it does not fail.
//!
//! Chance decides what users do. So each removal changes what follows it, and fewer parts can be
//! removed than of steps. With fewer parts, the run may fail as steps, too.

use std::sync::Arc;

use super::candidates::Shrinker;
use super::ddmin::ddmin;
use crate::workload::flows_mut;
use sim_model::plan::{Arrivals, ClientProfile, Habits, Persona, Plan, Step};

impl Shrinker<'_> {
    /// Removes users, faults, personas, and steps of their flows. Called again as long as that changes
    /// the plan: with fewer parts, more can be removed.
    pub(super) fn shrink_flows(&mut self, plan: &mut Plan) {
        // Runs with fewer users are faster.
        self.remove_flow_users(plan, 2);
        self.remove_flow_users(plan, 4);
        self.remove_faults(plan);
        self.default_environment(plan);
        let personas = plan.workload.personas().to_vec();
        let keep = |plan: &mut Plan, some: &[_]| *flows_mut(plan).1 = some.to_vec();
        self.reduce(plan, &personas, &keep, &ddmin);
        let changes: [fn(&mut Persona); 2] = [
            |persona| persona.habits = Habits::default(),
            |persona| persona.profile = ClientProfile::default(),
        ];
        for change in changes {
            self.attempt(plan, |plan| {
                let personas = flows_mut(plan).1.iter_mut();
                personas.for_each(|one| change(Arc::make_mut(one)));
            });
        }
        for index in 0..plan.workload.personas().len() {
            let flow = Arc::clone(&plan.workload.personas()[index].flow);
            let keep = |plan: &mut Plan, some: &[Step]| {
                Arc::make_mut(&mut flows_mut(plan).1[index]).flow = some.into();
            };
            self.reduce(plan, &flow, &keep, &ddmin);
        }
    }

    /// Removes this part of the users, as often as possible.
    fn remove_flow_users(&mut self, plan: &mut Plan, part: u32) {
        while self.attempt(plan, |plan| fewer_users(plan, part)) {}
    }
}

/// Limits each phase to fewer users, by this part of them; at least one stays.
fn fewer_users(plan: &mut Plan, part: u32) {
    for phase in flows_mut(plan).0 {
        let before = u32::try_from(phase.users()).unwrap_or(u32::MAX);
        let fewer = before - before.div_ceil(part);
        if fewer > 0 {
            match &mut phase.arrivals {
                Arrivals::Count { users, .. } => *users = fewer,
                Arrivals::Rate { .. } | Arrivals::Pause => phase.max_users = Some(fewer),
            }
        }
    }
}
