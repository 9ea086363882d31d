//! `sim replay`: the journal of a real server.

use chat_journal::Bundle;
use sim_scenario::did_you_mean;
use sim_search::replay::{FollowTarget, ReplayOptions, replay, to_scenario};

use super::{Console, Problem, WRONG, cannot_write, detail, is_stdout, journal, prepare_files};
use crate::cli::ReplayArgs;
use crate::output;

/// Replays a journal, and returns the exit code.
pub(super) fn run(arguments: &ReplayArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    prepare_files(&[&arguments.json, &arguments.to_scenario], console)?;
    let name = arguments.journal.display();
    let bytes = journal::read(&arguments.journal, arguments.server.as_deref())?;
    let mut bundle = Bundle::read(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let options = ReplayOptions {
        until: arguments.until,
        follow: arguments.follow.clone(),
    };
    let json = arguments.json.as_deref();
    let mut show = |line: &str| console.show(json, &format!("{line}\n"));
    let found = replay(&mut bundle, &options, &mut show);
    let found = found.map_err(|error| format!("{name}: {error}"))?;
    let view = console.view(detail(arguments.quiet, false));
    let page = sim_report::replayed(&name.to_string(), &found, &view);
    let page = match arguments.follow {
        Some(_) => format!("\n{page}"),
        None => page,
    };
    console.show(json, &page);
    if console.write_json(json, &found, 0) != 0 {
        return Ok(WRONG);
    }
    if let Some(path) = &arguments.to_scenario {
        let last = usize::try_from(arguments.last).unwrap_or(usize::MAX);
        let written = to_scenario(&mut bundle, arguments.until, last);
        let (plan, notes) = written.map_err(|error| format!("{name}: {error}"))?;
        let text = sim_scenario::annotated(&plan, &notes);
        output::write(path, &text).map_err(|error| cannot_write(path, &error))?;
        if !arguments.quiet && !is_stdout(json) {
            let again = sim_report::run_command(&path.display().to_string());
            console.say(&format!("\nits last calls: {again}\n"));
        }
    }
    match (&found.other_names, &arguments.follow) {
        (Some(names), Some(whom)) => Err(missing(whom, names).into()),
        (Some(_) | None, _) => Ok(found.exit_code),
    }
}

/// The followed participant is not in the journal.
fn missing(whom: &FollowTarget, names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    match whom {
        FollowTarget::Number(n) => format!("--follow: user_{n} has no entry in the journal"),
        FollowTarget::Name(name) => {
            let guess = did_you_mean(name, &names);
            format!("--follow: the journal has no participant `{name}`{guess}")
        }
    }
}
