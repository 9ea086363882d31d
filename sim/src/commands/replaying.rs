//! `sim replay`: the journal of a real server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chat_journal::Bundle;
use sim_report::{Detail, View};
use sim_search::replay::{ReplayOptions, replay, to_scenario};

use super::{Console, WRONG, is_stdout, prepare_files};
use crate::VERSION;
use crate::cli::ReplayArgs;
use crate::output;

/// The server's program.
const SERVER: &str = "talking-stick";

/// Replays a journal, and returns the exit code.
pub(super) fn run(arguments: &ReplayArgs, console: &mut Console<'_>) -> u8 {
    if !prepare_files(&[&arguments.json, &arguments.to_scenario], console) {
        return WRONG;
    }
    match judged(arguments, console) {
        Ok(code) => code,
        Err(problem) => {
            console.complain(&format!("error: {problem}\n"));
            WRONG
        }
    }
}

fn judged(arguments: &ReplayArgs, console: &mut Console<'_>) -> Result<u8, String> {
    let name = arguments.journal.display();
    let bytes = read(arguments)?;
    let mut bundle = Bundle::read(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let options = ReplayOptions {
        until: arguments.until,
        follow: arguments.follow.clone(),
    };
    let json_out = is_stdout(arguments.json.as_deref());
    let mut show = |line: &str| match json_out {
        true => console.complain(&format!("{line}\n")),
        false => console.say(&format!("{line}\n")),
    };
    let found = replay(&mut bundle, &options, &mut show);
    let found = found.map_err(|error| format!("{name}: {error}"))?;
    let view = View {
        detail: match arguments.quiet {
            true => Detail::Quiet,
            false => Detail::Normal,
        },
        paint: console.paint,
        version: VERSION,
    };
    let page = sim_report::replayed(&name.to_string(), &found, &view);
    let page = match arguments.follow {
        Some(_) => format!("\n{page}"),
        None => page,
    };
    match json_out {
        true => console.complain(&page),
        false => console.say(&page),
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&found);
        let text = text.map_err(|error| format!("no JSON: {error}"))? + "\n";
        match json_out {
            true => console.say(&text),
            false => output::write(path, &text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?,
        }
    }
    if let Some(path) = &arguments.to_scenario {
        let last = usize::try_from(arguments.last).unwrap_or(usize::MAX);
        let written = to_scenario(&mut bundle, arguments.until, last);
        let (plan, notes) = written.map_err(|error| format!("{name}: {error}"))?;
        let text = sim_scenario::annotated(&plan, &notes);
        output::write(path, &text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        if !arguments.quiet && !json_out {
            let again = sim_report::run_command(&path.display().to_string());
            console.say(&format!("\nits last calls: {again}\n"));
        }
    }
    Ok(found.exit_code)
}

/// The bytes of the file, or of the journal in the folder.
fn read(arguments: &ReplayArgs) -> Result<Vec<u8>, String> {
    let path = &arguments.journal;
    if !path.is_dir() {
        return fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    }
    let program = arguments.server.clone().unwrap_or_else(beside);
    let output = Command::new(&program)
        .arg("records")
        .arg("--data")
        .arg(path)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.map_err(|error| {
        format!(
            "{}: {error}: a folder is read by the server's program; --server names it, or write a \
             file with `talking-stick records --data {}` and replay that",
            program.display(),
            path.display()
        )
    })?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{} could not be read", path.display())),
    }
}

/// The server's program beside this one, or an installed one.
fn beside() -> PathBuf {
    let here = env::current_exe().ok();
    let beside = here.as_deref().and_then(Path::parent);
    let beside = beside.map(|folder| folder.join(SERVER));
    let found = beside.filter(|path| path.is_file());
    found.unwrap_or_else(|| PathBuf::from(SERVER))
}
