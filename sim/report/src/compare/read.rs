//! Reads a result of `sim --json`: only the compared fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::SCHEMA_VERSION;

/// One run from its JSON. Other fields are ignored, including those that a later version adds.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the result")]
pub struct Run {
    pub scenario: String,
    pub scenario_hash: String,
    pub seed: u64,
    pub seeds: u64,
    pub verdict: String,
    pub exit_code: u8,
    pub trace_hash: String,
    pub virtual_ms: f64,
    pub wall_ms: f64,
    pub users: u64,
    pub steps: u64,
    pub counts: BTreeMap<String, u64>,
    pub properties: BTreeMap<String, Property>,
    pub sometimes: BTreeMap<String, u64>,
    pub metrics: BTreeMap<String, BTreeMap<String, Option<f64>>>,
    pub fairness: BTreeMap<String, BTreeMap<String, Value>>,
    #[serde(default)]
    pub thresholds: Vec<Threshold>,
    #[serde(default)]
    pub refusals: BTreeMap<String, u64>,
    #[serde(default)]
    pub stuck: Vec<Value>,
    #[serde(default)]
    pub stuck_left_out: u64,
    pub left_out: LeftOut,
    #[serde(default)]
    pub violations: Vec<Value>,
    #[serde(default)]
    pub violations_left_out: u64,
}

/// The users that never got in.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct LeftOut {
    pub users: u64,
}

/// The result of a property.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Property {
    pub held: Option<bool>,
    pub checks: u64,
}

/// The result of a threshold.
#[derive(Clone, Debug, Deserialize)]
pub struct Threshold {
    pub metric: String,
    #[serde(default)]
    pub persona: Option<String>,
    pub expression: String,
    pub met: Option<bool>,
}

/// A result: one run, or several.
#[derive(Clone, Debug)]
pub struct Results {
    /// The simulator that made it.
    pub simulator: Simulator,
    /// The runs, each of a scenario of its own.
    pub runs: Vec<Run>,
}

/// A build of the simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulator {
    /// Its version.
    pub version: String,
    /// Its commit; none outside of a repository.
    pub commit: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    simulator: Simulator,
}

#[derive(Deserialize)]
struct RunList {
    runs: Vec<Run>,
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
    let runs = if value.get("runs").is_some() {
        RunList::deserialize(&value).map(|several| several.runs)
    } else {
        Run::deserialize(&value).map(|run| vec![run])
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
