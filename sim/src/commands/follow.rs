//! `--follow`: a user or a room of a run, by one of its names.

use crate::cli::RunArgs;
use sim_model::outcome::Series;
use sim_model::plan::{Plan, Workload};
use sim_model::protocol::{Room, User};
use sim_report::trace::Follow;
use sim_scenario::{closest, did_you_mean};

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
    let number = |prefix: &str| text.strip_prefix(prefix)?.parse().ok();
    if let Some(n) = number("user_") {
        return Ok(Follow::User(User(n)));
    }
    if let Some(n) = number("room_") {
        return Ok(Follow::Room(Room(n)));
    }
    let (names, is_numbered): (Vec<&str>, bool) = match &plan.workload {
        Workload::Steps { users, .. } => (users.iter().map(|user| &*user.name).collect(), false),
        Workload::Phases { personas, .. } => {
            (personas.iter().map(|one| &*one.name).collect(), true)
        }
    };
    let numbered = text.rsplit_once('#').filter(|_| is_numbered);
    let (name, digits) = numbered.unwrap_or((text, ""));
    let end = &text[name.len()..];
    let is_whole = !is_numbered || digits.parse::<u32>().is_ok();
    if is_whole && names.contains(&name) {
        return Ok(Follow::Name(text.to_owned()));
    }
    let own = match (names.first(), is_numbered) {
        (Some(first), false) => (*first).to_owned(),
        (first, _) => format!("{}#12", first.unwrap_or(&"user")),
    };
    let guess = closest(name, &names).map(|close| format!("{close}{end}"));
    let guess = guess.filter(|guess| guess != text);
    let guess = guess.map_or_else(String::new, |guess| format!("; did you mean `{guess}`?"));
    Err(format!(
        "--follow: {} has no user or room `{text}`{guess}\n  write user_7, {own} or room_3",
        plan.name
    ))
}

/// If a run of this series had no such user, a sentence that says so. `None` for a room, and for a
/// name that may be one of the users that the series does not list.
pub(super) fn missing(follow: &Follow, series: &Series) -> Option<String> {
    match follow {
        Follow::Room(_) => None,
        Follow::User(user) => Some(format!("the run had no {user}")),
        Follow::Name(name) => {
            let names: Vec<&str> = series.users.iter().map(|row| &*row.who.name).collect();
            let is_missing = series.users_left_out == 0 && !names.contains(&name.as_str());
            is_missing.then(|| format!("the run had no {name}{}", did_you_mean(name, &names)))
        }
    }
}
