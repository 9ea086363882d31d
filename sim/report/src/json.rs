//! The result as JSON.

use serde::Serialize;

use sim_model::outcome::RunResult;

#[derive(Serialize)]
struct RunList<'a> {
    exit_code: u8,
    runs: &'a [&'a RunResult],
}

/// One run as one object; several as `{exit_code, runs: […]}`. With a final line break.
///
/// # Errors
/// Only if serialisation fails, which no result causes.
pub fn json(runs: &[&RunResult], exit_code: u8) -> serde_json::Result<String> {
    let mut text = match runs {
        [run] => serde_json::to_string_pretty(run)?,
        runs => serde_json::to_string_pretty(&RunList { exit_code, runs })?,
    };
    text.push('\n');
    Ok(text)
}
