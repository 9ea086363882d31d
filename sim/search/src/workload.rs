//! The two forms of a plan's workload, and a plan with next to none.

use std::sync::Arc;

use chat_types::Config;
use sim_model::plan::{Persona, Phase, Plan, ScriptStep, ScriptUser, Step, Verb, Workload};

/// The users and the steps of a plan in the steps form.
///
/// # Panics
/// If the plan has phases.
pub(crate) fn script_mut(plan: &mut Plan) -> (&mut Vec<ScriptUser>, &mut Vec<ScriptStep>) {
    match &mut plan.workload {
        Workload::Steps { users, steps } => (users, steps),
        Workload::Phases { .. } => panic!("the plan has phases"),
    }
}

/// The phases and the personas of a plan that has them.
///
/// # Panics
/// If the plan is in the steps form.
pub(crate) fn flows_mut(plan: &mut Plan) -> (&mut Vec<Phase>, &mut Vec<Arc<Persona>>) {
    match &mut plan.workload {
        Workload::Phases { phases, personas } => (phases, personas),
        Workload::Steps { .. } => panic!("the plan is in the steps form"),
    }
}

/// Whether any user of the plan takes breaks.
pub(crate) fn has_breaks(plan: &Plan) -> bool {
    let steps = plan.workload.single_steps();
    let is_break = |step: &&Step| matches!(step, Step::Call(Verb::Break { .. }));
    steps.iter().any(is_break)
}

/// The plan for a server whose only user reads its inbox once.
///
/// # Panics
/// If the text is not a valid scenario, which a test would show.
pub(crate) fn plan_of(server: Config) -> Plan {
    const SCENARIO: &str = "\
about: A server.
duration: 1s
users: [a]
steps: [{ at: 0s, user: a, do: check }]
";
    let plan = sim_scenario::parse("server", SCENARIO).expect("it is a scenario");
    Plan { server, ..plan }
}
