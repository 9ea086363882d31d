//! `--follow`: a user or a room of a run, by one of its names.

use crate::cli::RunArgs;
use sim_model::plan::{Plan, Workload};
use sim_model::protocol::{Agent, Room, User};
use sim_report::trace::Follow;
use sim_scenario::did_you_mean;

/// The subject of `--follow`, if it is given.
///
/// # Errors
/// The scenario has no such user.
pub(super) fn subject_of(arguments: &RunArgs, plan: &Plan) -> Result<Option<Follow>, String> {
    let text = arguments.follow.as_deref();
    text.map(|text| subject(text, plan)).transpose()
}

/// The subject that `text` names: `user_7` or `room_3` as in the protocol, or a user of the scenario,
/// such as `penpal#12`, or `ann` in the steps form.
///
/// # Errors
/// The scenario has no such user.
fn subject(text: &str, plan: &Plan) -> Result<Follow, String> {
    let number = |prefix| {
        let digits: &str = text.strip_prefix(prefix)?;
        digits.parse().ok()
    };
    if let Some(n) = number("user_") {
        return Ok(Follow::User(User(n)));
    }
    if let Some(n) = number("room_") {
        return Ok(Follow::Room(Room(n)));
    }
    let (names, agent): (Vec<&str>, _) = match &plan.workload {
        Workload::Steps { users, .. } => {
            let names: Vec<_> = users.iter().map(|user| user.name.as_str()).collect();
            let agent = names.iter().position(|name| *name == text);
            (names, agent.and_then(|agent| u32::try_from(agent).ok()))
        }
        Workload::Phases { personas, .. } => {
            let names: Vec<_> = personas.iter().map(|one| one.name.as_str()).collect();
            let numbered = text.rsplit_once('#');
            let numbered = numbered.filter(|(name, _)| names.contains(name));
            (names, numbered.and_then(|(_, n)| n.parse().ok()))
        }
    };
    agent
        .map(|agent| Follow::Agent(Agent(agent)))
        .ok_or_else(|| {
            let name = text.rsplit_once('#').map_or(text, |(name, _)| name);
            let own = match &plan.workload {
                Workload::Steps { .. } => {
                    names.first().map_or_else(String::new, ToString::to_string)
                }
                Workload::Phases { .. } => format!("{}#12", names.first().unwrap_or(&"user")),
            };
            format!(
                "--follow: {} has no user or room `{text}`{}\n  write user_7, {own} or room_3",
                plan.name,
                did_you_mean(name, &names)
            )
        })
}
