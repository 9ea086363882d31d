//! Parses a scenario's YAML into a checked plan, and writes plans as YAML.
//!
//! Text becomes nodes with their places (`node`), and nodes become the plan. The format of
//! the parts is declared in `scenario`, `environment`, `workload`, `flow`, `script`,
//! `fault` and `threshold`: each key once, in a table (`form`), from which reading, writing and the
//! JSON Schema follow. The mistakes of a file become a [`ScenarioError`], each with its place and the
//! accepted values.

mod closest;
mod context;
mod environment;
mod error;
mod fault;
mod fields;
mod flow;
mod flow_check;
mod form;
mod forms;
mod node;
mod scenario;
mod schemas;
mod script;
mod tables;
mod text;
mod threshold;
mod workload;

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use sim_model::outcome::Notes;
use sim_model::plan::Plan;

pub use closest::{closest, did_you_mean};
pub use environment::{entries, limits, with_entry};
pub use error::{ErrorStyle, Problem, ScenarioError};
pub use scenario::{annotated, schema};

use error::Place;

/// Reads a scenario file.
///
/// # Errors
/// The file cannot be read, or is not a valid scenario.
pub fn load(path: &Path) -> Result<Plan, ScenarioError> {
    let file = path.display().to_string();
    let unreadable = |error: std::io::Error| {
        let kind = error.kind();
        let (why, help) = if kind == ErrorKind::NotFound {
            ("there is no such file".into(), "name a scenario file")
        } else if kind == ErrorKind::IsADirectory {
            let help = "name its files, as in `sim scenarios/*.yaml`";
            ("it is a folder".into(), help)
        } else {
            (error.to_string(), "a scenario is a YAML file")
        };
        ScenarioError::of_file(&file, format!("{file} cannot be read: {why}"), help)
    };
    // A pipe or a device may have no end, or never answer.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(unreadable(std::io::Error::other(
            "it is a pipe or a device",
        )));
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(node::MAX_BYTES).unwrap_or(u64::MAX) + 1;
    std::fs::File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    parse_bytes(&file, &bytes)
}

/// Reads a scenario from bytes that should be UTF-8; errors name `file_name`.
///
/// # Errors
/// The text is not a valid scenario.
pub fn parse_bytes(file_name: &str, bytes: &[u8]) -> Result<Plan, ScenarioError> {
    if bytes.len() > node::MAX_BYTES {
        return Err(ScenarioError::of_file(
            file_name,
            "the file is larger than a scenario may be",
            format!("at most {} bytes (1 MiB)", node::MAX_BYTES),
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or(0);
        let (start, length) = (error.valid_up_to(), 1);
        let what = format!("the byte 0x{byte:02x} is not UTF-8");
        let wrong = Place { start, length }.wrong(what, "a file in UTF-8");
        wrong.within(file_name, &String::from_utf8_lossy(bytes))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let stem = Path::new(file_name).file_stem();
    let stem = stem.map_or_else(|| file_name.into(), std::ffi::OsStr::to_string_lossy);
    node::read(text)
        .and_then(|node| scenario::plan(&node, &stem))
        .map_err(|problem| problem.within(file_name, text))
}

/// Reads a scenario from text. Errors name `file_name`, whose stem is the default name of the
/// scenario.
///
/// # Errors
/// The text is not a valid scenario.
pub fn parse(file_name: &str, text: &str) -> Result<Plan, ScenarioError> {
    parse_bytes(file_name, text.as_bytes())
}

/// The plan as a scenario: parsing it gives the same plan. Defaults are omitted.
#[must_use]
pub fn to_yaml(plan: &Plan) -> String {
    annotated(plan, &Notes::default())
}
