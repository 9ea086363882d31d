//! `sim compare`: two results side by side.

use std::fs;
use std::path::Path;

use super::{Console, Problem, TOLD, prepare_files};
use crate::cli::CompareArgs;
use sim_report::Detail;
use sim_report::compare::{self, Regressions, Results};

/// Compares the two files, and returns the exit code.
pub(super) fn compare(arguments: &CompareArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    let files = [&arguments.before, &arguments.after];
    let [before, after] = files.map(|path| read(path, console));
    let (before, after) = (before?, after?);
    prepare_files(&[&arguments.json], console)?;
    let found = compare::compare(&before, &after, arguments.tolerance());
    let regressions = match (arguments.fail_on_regression, arguments.noise) {
        (false, _) => Regressions::Pass,
        (true, None) => Regressions::Fail,
        (true, Some(_)) => Regressions::FailOnSpeed,
    };
    let code = found.exit_code(regressions);
    let names = files.map(|path| path.display().to_string());
    let view = console.view(Detail::Normal);
    let page = sim_report::compared(&found, (&names[0], &names[1]), code, &view);
    let json = arguments.json.as_deref();
    console.show(json, &page);
    Ok(console.write_json(json, &found, code))
}

fn read(path: &Path, console: &mut Console<'_>) -> Result<Results, Problem> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let results = text.and_then(|text| compare::read(&text));
    results.map_err(|problem| {
        console.complain(&format!("error: {}: {problem}\n", path.display()));
        TOLD
    })
}
