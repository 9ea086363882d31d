//! The two forms of a plan's workload, and the steps of flows without the loops and choices around them.

use std::sync::Arc;

use sim_model::plan::{Persona, Phase, Plan, ScriptStep, ScriptUser, Step, Workload};

/// The users and the steps of the steps form; none of another plan.
pub(crate) fn script(plan: &Plan) -> (&[ScriptUser], &[ScriptStep]) {
    match &plan.workload {
        Workload::Steps { users, steps } => (users, steps),
        Workload::Phases { .. } => (&[], &[]),
    }
}

/// The users and the steps of the steps form.
pub(crate) fn script_mut(plan: &mut Plan) -> Option<(&mut Vec<ScriptUser>, &mut Vec<ScriptStep>)> {
    match &mut plan.workload {
        Workload::Steps { users, steps } => Some((users, steps)),
        Workload::Phases { .. } => None,
    }
}

/// The phases and the personas; none of a plan in the steps form.
pub(crate) fn flows(plan: &Plan) -> (&[Phase], &[Arc<Persona>]) {
    match &plan.workload {
        Workload::Phases { phases, personas } => (phases, personas),
        Workload::Steps { .. } => (&[], &[]),
    }
}

/// The phases and the personas.
pub(crate) fn flows_mut(plan: &mut Plan) -> Option<(&mut Vec<Phase>, &mut Vec<Arc<Persona>>)> {
    match &mut plan.workload {
        Workload::Phases { phases, personas } => Some((phases, personas)),
        Workload::Steps { .. } => None,
    }
}

/// All steps of a flow that are no loop and no choice.
pub(crate) fn single_steps(flow: &[Step]) -> Vec<&Step> {
    let steps = flow.iter().flat_map(|step| match step {
        Step::Loop { steps, .. } => single_steps(steps),
        Step::Choose(choices) => {
            let flows = choices.iter().map(|choice| &choice.steps);
            flows.flat_map(|flow| single_steps(flow)).collect()
        }
        Step::Call(_) | Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => vec![step],
    });
    steps.collect()
}
