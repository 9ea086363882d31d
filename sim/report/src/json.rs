//! The result as JSON, with the program, the machine and the time that it is from.

use std::num::NonZeroUsize;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sim_model::outcome::RunResult;

/// The JSON Schema of a result.
const SCHEMA: &str = "https://raw.githubusercontent.com/talking-stick/talking-stick/main/sim/report/src/result.schema.json";

/// The version of the schema: it changes when a field changes its meaning or goes.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// Where a result is from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Origin {
    simulator: Simulator,
    host: Host,
    /// When the program started: RFC 3339, in UTC.
    #[schemars(regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"))]
    started_at: String,
}

/// A build of the simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Simulator {
    /// Its version.
    pub version: String,
    /// The commit that was built; none outside of a repository.
    pub commit: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
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
        version: &str,
        commit: Option<&str>,
        cores: NonZeroUsize,
        started: SystemTime,
    ) -> Self {
        let started = DateTime::<Utc>::from(started);
        Self {
            simulator: Simulator {
                version: version.to_owned(),
                commit: commit.map(str::to_owned),
            },
            host: Host {
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                cores,
            },
            started_at: started.to_rfc3339_opts(SecondsFormat::Secs, true),
        }
    }
}

/// One run, or several as `runs`. Durations are milliseconds. Fields beyond these may come.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "What `sim --json` writes", extend("$id" = SCHEMA))]
struct Document<'a> {
    #[serde(rename = "$schema")]
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// It changes when a field changes its meaning or goes.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    #[serde(flatten)]
    origin: &'a Origin,
    #[serde(flatten)]
    runs: Runs<'a>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Runs<'a> {
    Several {
        #[schemars(extend("enum" = [0, 1, 3, 4, 99, 130]))]
        exit_code: u8,
        runs: &'a [&'a RunResult],
    },
    One(&'a RunResult),
}

/// One run as one object; several as `{exit_code, runs: […]}`. Both begin with their origin. With a
/// final line break.
///
/// # Errors
/// Only if serialisation fails, which no result causes.
pub fn json(runs: &[&RunResult], exit_code: u8, origin: &Origin) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(&Document {
        schema: SCHEMA,
        schema_version: SCHEMA_VERSION,
        origin,
        runs: match runs {
            [run] => Runs::One(run),
            runs => Runs::Several { exit_code, runs },
        },
    })?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::Schema;
    use schemars::generate::SchemaSettings;
    use schemars::transform::RecursiveTransform;

    use super::*;

    /// Run with `UPDATE_SCHEMA=1` to rewrite the file.
    #[test]
    fn the_committed_schema_is_that_of_the_types() {
        let bare = RecursiveTransform(|schema: &mut Schema| {
            // The width of a number, and what a reader takes for a missing field, are not promised.
            schema.remove("format");
            schema.remove("default");
        });
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let generator = settings.with_transform(bare).into_generator();
        let wanted = generator.into_root_schema_for::<Document<'_>>();
        let wanted = format!("{:#}\n", wanted.to_value());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/result.schema.json");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).unwrap() == wanted,
            "result.schema.json is not that of the types; rewrite it with UPDATE_SCHEMA=1"
        );
    }
}
