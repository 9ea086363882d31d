//! `sim compare`: two results side by side.

use std::fs;
use std::path::Path;

use super::{Console, WRONG, is_stdout, prepare_files};
use crate::VERSION;
use crate::cli::CompareArgs;
use crate::output;
use sim_report::compare::{self, Comparison, Regressions, Results};
use sim_report::{Detail, View};

/// Compares the two files, and returns the exit code.
pub(super) fn compare(arguments: &CompareArgs, console: &mut Console<'_>) -> u8 {
    let (Some(before), Some(after)) = (
        read(&arguments.before, console),
        read(&arguments.after, console),
    ) else {
        return WRONG;
    };
    if !prepare_files(&[&arguments.json], console) {
        return WRONG;
    }
    let found = compare::compare(&before, &after, arguments.tolerance());
    let regressions = match (arguments.fail_on_regression, arguments.noise) {
        (false, _) => Regressions::Pass,
        (true, None) => Regressions::Fail,
        (true, Some(_)) => Regressions::FailOnSpeed,
    };
    let code = found.exit_code(regressions);
    let view = View {
        detail: Detail::Normal,
        paint: console.paint,
        version: VERSION,
    };
    let names = [&arguments.before, &arguments.after].map(|path| path.display().to_string());
    let page = sim_report::compared(&found, (&names[0], &names[1]), code, &view);
    let json = arguments.json.as_deref();
    if is_stdout(json) {
        console.complain(&page);
    } else {
        console.say(&page);
    }
    match json {
        Some(path) => write_json(path, &found, code, console),
        None => code,
    }
}

fn read(path: &Path, console: &mut Console<'_>) -> Option<Results> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let results = text.and_then(|text| compare::read(&text).map_err(|error| error.to_string()));
    results
        .map_err(|problem| console.complain(&format!("error: {}: {problem}\n", path.display())))
        .ok()
}

fn write_json(path: &Path, found: &Comparison, code: u8, console: &mut Console<'_>) -> u8 {
    let text = match serde_json::to_string_pretty(found) {
        Ok(text) => text + "\n",
        Err(problem) => {
            console.complain(&format!("error: no JSON: {problem}\n"));
            return WRONG;
        }
    };
    if is_stdout(Some(path)) {
        console.say(&text);
        return code;
    }
    match output::write(path, &text) {
        Ok(()) => code,
        Err(problem) => {
            console.complain(&format!(
                "error: cannot write {}: {problem}\n",
                path.display()
            ));
            WRONG
        }
    }
}
