//! Reads a result of `sim --json`. Unknown fields are ignored: a later version adds some.

use std::collections::BTreeSet;

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

/// Reads a result with one or several scenarios.
///
/// # Errors
/// The text is not a result.
pub fn read(text: &str) -> Result<Results, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let version = value.get("schema_version").and_then(Value::as_u64);
    if let Some(other) = version.filter(|version| *version != u64::from(SCHEMA_VERSION)) {
        return Err(format!(
            "its schema_version is {other}, and this `sim` compares version {SCHEMA_VERSION}"
        ));
    }
    let not_a_result = |error: serde_json::Error| format!("not a result of `sim --json`: {error}");
    let Head { simulator } = Head::deserialize(&value).map_err(not_a_result)?;
    let runs = match value.get("runs") {
        Some(runs) => Vec::deserialize(runs),
        None => RunResult::deserialize(&value).map(|run| vec![run]),
    };
    let runs = runs.map_err(not_a_result)?;
    let mut names = BTreeSet::new();
    if let Some(run) = runs.iter().find(|run| !names.insert(&run.scenario)) {
        return Err(format!("the scenario `{}` is in it twice", run.scenario));
    }
    Ok(Results { simulator, runs })
}
