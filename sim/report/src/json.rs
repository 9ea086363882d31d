//! The result as JSON, with the program, the machine and the time that it is from.

use std::num::NonZeroUsize;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

use sim_model::outcome::RunResult;

/// The JSON Schema of a result.
const SCHEMA: &str = "https://raw.githubusercontent.com/talking-stick/talking-stick/main/sim/report/src/result.schema.json";

/// The version of the schema: it changes when a field changes its meaning or goes.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// Where a result is from.
#[derive(Clone, Debug, Serialize)]
pub struct Origin {
    simulator: Simulator,
    host: Host,
    started_at: String,
}

#[derive(Clone, Debug, Serialize)]
struct Simulator {
    version: &'static str,
    /// The commit that was built; none outside of a repository.
    commit: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct Host {
    os: &'static str,
    arch: &'static str,
    cores: NonZeroUsize,
}

impl Origin {
    /// The origin of results that this process makes: the program's version and commit, the number
    /// of cores that it uses, and the time of its start.
    #[must_use]
    pub fn new(
        version: &'static str,
        commit: Option<&'static str>,
        cores: NonZeroUsize,
        started: SystemTime,
    ) -> Self {
        let started = DateTime::<Utc>::from(started);
        Self {
            simulator: Simulator { version, commit },
            host: Host {
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                cores,
            },
            started_at: started.to_rfc3339_opts(SecondsFormat::Secs, true),
        }
    }
}

#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    schema_version: u32,
    #[serde(flatten)]
    origin: &'a Origin,
    #[serde(flatten)]
    result: T,
}

#[derive(Serialize)]
struct RunList<'a> {
    exit_code: u8,
    runs: &'a [&'a RunResult],
}

/// One run as one object; several as `{exit_code, runs: […]}`. Both begin with their origin. With a
/// final line break.
///
/// # Errors
/// Only if serialisation fails, which no result causes.
pub fn json(runs: &[&RunResult], exit_code: u8, origin: &Origin) -> serde_json::Result<String> {
    match runs {
        [run] => written(run, origin),
        runs => written(RunList { exit_code, runs }, origin),
    }
}

fn written(result: impl Serialize, origin: &Origin) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(&Document {
        schema: SCHEMA,
        schema_version: SCHEMA_VERSION,
        origin,
        result,
    })?;
    Ok(text + "\n")
}
