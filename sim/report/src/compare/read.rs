//! Reads a result of `sim --json`. Unknown fields are ignored: a later version adds some.

use serde::Deserialize;
use serde_json::Value;

use crate::json::{SCHEMA_VERSION, Simulator};
use sim_model::outcome::RunResult;

/// A result: one run, or several.
#[derive(Clone, Debug)]
pub struct Results {
    /// The simulator that made it.
    pub simulator: Simulator,
    /// The runs, each of a scenario of its own.
    pub runs: Vec<RunResult>,
}

#[derive(Deserialize)]
struct Head {
    simulator: Simulator,
}

/// Why a text is not a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// It is JSON, but not a result.
    #[error("not a result of `sim --json`: {0}")]
    NotAResult(String),
    /// It is a result of another version of the schema, in which figures have another meaning.
    #[error("its schema_version is {0}, and this `sim` compares version {SCHEMA_VERSION}")]
    OtherVersion(u64),
    /// A scenario occurs more than once.
    #[error("the scenario `{0}` is in it twice")]
    Twice(String),
}

/// Reads a result with one or several scenarios.
///
/// # Errors
/// The text is not a result.
pub fn read(text: &str) -> Result<Results, Unreadable> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| Unreadable::NotJson(error.to_string()))?;
    let version = value.get("schema_version").and_then(Value::as_u64);
    if let Some(other) = version.filter(|version| *version != u64::from(SCHEMA_VERSION)) {
        return Err(Unreadable::OtherVersion(other));
    }
    let not_a_result = |error: serde_json::Error| Unreadable::NotAResult(error.to_string());
    let Head { simulator } = Head::deserialize(&value).map_err(not_a_result)?;
    let runs = match value.get("runs") {
        Some(runs) => Vec::deserialize(runs),
        None => RunResult::deserialize(&value).map(|run| vec![run]),
    };
    let runs = runs.map_err(not_a_result)?;
    for (index, run) in runs.iter().enumerate() {
        if runs[..index]
            .iter()
            .any(|other| other.scenario == run.scenario)
        {
            return Err(Unreadable::Twice(run.scenario.clone()));
        }
    }
    Ok(Results { simulator, runs })
}
