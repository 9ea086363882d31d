//! Hunts a planted mutant: runs the simulator until it finds something, and counts the seeds.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

use super::MutantsWords;
use super::mutant::Hunt;
use crate::exhaust::CLUSTER_DEPTH;
use crate::scenarios;
use crate::workspace_copy::WorkspaceCopy;

/// Scenarios that are too large for repeated runs.
const HEAVY: [&str; 1] = ["scenarios/scale.yaml"];

/// The time limit for one call of the simulator, in seconds: a mutant that hangs must not stop the others.
const PATIENCE_S: &str = "1200";

/// The number of further failures that are tried for one that can be shrunk.
const MORE: usize = 8;

/// The effort of a hunt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) seeds: u64,
    /// The number of parallel jobs; none for the simulator's default.
    pub(crate) jobs: Option<u64>,
}

impl Effort {
    pub(crate) const fn of(words: &MutantsWords) -> Self {
        Self {
            seeds: words.seeds,
            jobs: words.jobs,
        }
    }
}

/// A finding of the simulator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detection {
    pub(crate) property: String,
    pub(crate) detail: String,
    pub(crate) scenario: String,
    pub(crate) seed: u64,
    /// The number of seeds up to and including the one that failed.
    pub(crate) seeds: u64,
    /// The number of steps of the shrunk scenario, or of a later failure that could be shrunk; none
    /// if no failure could.
    pub(crate) steps: Option<u64>,
}

/// Hunts the mutant that is planted in the copy. Returns all findings in order. The hunt continues
/// until a finding is in `wanted`; if that is empty, the first finding ends it.
///
/// # Errors
/// Why the simulator could not be run.
pub(crate) fn hunt(
    copy: &WorkspaceCopy,
    hunt: &Hunt,
    wanted: &[String],
    effort: Effort,
) -> Result<Vec<Detection>> {
    match hunt {
        Hunt::Explore(files) => explore(copy, files, wanted, effort),
        Hunt::Run(files) => run(copy, files, wanted, effort),
        Hunt::Exhaust => exhaust(copy, effort),
    }
}

/// Tries every interleaving of two members and their log.
fn exhaust(copy: &WorkspaceCopy, effort: Effort) -> Result<Vec<Detection>> {
    let words = ["exhaust", "--world", "cluster", "--depth", CLUSTER_DEPTH];
    finds_of_explore(&sim_json(copy, &words, effort)?)
}

/// Whether this finding ends the hunt.
fn is_wanted(find: &Detection, wanted: &[String]) -> bool {
    wanted.is_empty() || wanted.contains(&find.property)
}

/// Runs `sim explore`, which draws the configuration from the seed, until a wanted property is
/// violated. If none is, runs it until the first violation of any property, for the report.
fn explore(
    copy: &WorkspaceCopy,
    files: &[String],
    wanted: &[String],
    effort: Effort,
) -> Result<Vec<Detection>> {
    let (shipped, seeds) = (shipped(copy)?, effort.seeds.to_string());
    let (files, flows) = match files {
        [] => (&shipped[..], &["--flows"][..]),
        _ => (files, &[][..]),
    };
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let anything = [&["explore"], &files[..], flows, &["--seeds", &seeds]].concat();
    // The others are rules of the judge of real processes.
    let wanted = wanted.iter().map(String::as_str);
    let wanted: Vec<_> = wanted
        .filter(|name| !name.starts_with("cluster_"))
        .collect();
    let property = wanted.join(",");
    let words = match &property[..] {
        "" => anything.clone(),
        property => [&anything[..], &["--property", property]].concat(),
    };
    let mut found = finds_of_explore(&sim_json(copy, &words, effort)?)?;
    if let Some(first) = found.first_mut()
        && first.steps.is_none()
    {
        first.steps = shrunk_later(copy, &words, first.seed, effort)?;
    }
    if !found.is_empty() || wanted.is_empty() {
        return Ok(found);
    }
    finds_of_explore(&sim_json(copy, &anything, effort)?)
}

/// The steps of the first later failure that can be shrunk: some runs do not fail any more when
/// they are written as steps.
fn shrunk_later(
    copy: &WorkspaceCopy,
    words: &[&str],
    mut seed: u64,
    effort: Effort,
) -> Result<Option<u64>> {
    for _ in 0..MORE {
        let next = (seed + 1).to_string();
        let words = [words, &["--seed", &next]].concat();
        let found = finds_of_explore(&sim_json(copy, &words, effort)?)?;
        let Some(first) = found.first() else {
            break;
        };
        if first.steps.is_some() {
            return Ok(first.steps);
        }
        seed = first.seed;
    }
    Ok(None)
}

/// Runs `sim run` on a few seeds of each scenario, then on more and more.
fn run(
    copy: &WorkspaceCopy,
    files: &[String],
    wanted: &[String],
    effort: Effort,
) -> Result<Vec<Detection>> {
    let files = match files {
        [] => shipped(copy)?,
        _ => files.to_vec(),
    };
    let (mut finds, mut tried, mut first, mut chunk) = (Vec::new(), 0, 1, 1);
    while tried < effort.seeds {
        for file in &files {
            let count = chunk.min(effort.seeds - tried);
            if count == 0 {
                break;
            }
            let [seed, seeds] = [first, count].map(|number| number.to_string());
            let words = [file, "--seed", &seed, "--seeds", &seeds, "--quiet"];
            let result = sim_json(copy, &words, effort)?;
            finds.extend(finds_of_run(&result, file, first, tried));
            tried += count;
            if finds.iter().any(|find| is_wanted(find, wanted)) {
                return Ok(finds);
            }
        }
        first += chunk;
        chunk = (chunk * 4).min(64);
    }
    Ok(finds)
}

/// Runs the simulator and parses its JSON output.
pub(super) fn sim_json(copy: &WorkspaceCopy, words: &[&str], effort: Effort) -> Result<Value> {
    let said = format!("sim {}", words.join(" "));
    let [json, errors] = ["hunt.json", "hunt.err"].map(|name| copy.root().with_file_name(name));
    let _ = fs::remove_file(&json);
    let mut command = Command::new("timeout");
    command
        .arg(PATIENCE_S)
        .arg(copy.program("sim"))
        .args(words)
        .arg("--json")
        .arg(&json);
    if let Some(jobs) = effort.jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    command.current_dir(copy.root()).stdin(Stdio::null());
    let status = command
        .stdout(Stdio::null())
        .stderr(File::create(&errors)?)
        .status()?;
    let text = fs::read_to_string(&json).unwrap_or_default();
    serde_json::from_str(&text).map_err(|error| {
        let said_last = fs::read_to_string(&errors).unwrap_or_default();
        let lines: Vec<&str> = said_last.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n");
        anyhow!("`{said}`: {status}, and it wrote no JSON ({error}):\n{last}")
    })
}

/// A failure as `sim explore` writes it.
#[derive(Deserialize)]
struct Failure {
    property: String,
    detail: String,
    scenario: String,
    seed: u64,
    index: u64,
    shrunk: Option<ShrunkFailure>,
}

#[derive(Deserialize)]
struct ShrunkFailure {
    steps: u64,
}

/// The failures of `sim explore`, the earliest first.
fn finds_of_explore(result: &Value) -> Result<Vec<Detection>> {
    let failures = result
        .get("failures")
        .context("the result of `sim explore` has no failures list")?;
    let failures: Vec<Failure> = Vec::deserialize(failures)?;
    let finds = failures.into_iter().map(|failure| Detection {
        property: failure.property,
        detail: failure.detail,
        scenario: failure.scenario,
        seed: failure.seed,
        seeds: failure.index,
        steps: failure.shrunk.map(|shrunk| shrunk.steps),
    });
    let mut finds: Vec<_> = finds.collect();
    finds.sort_by_key(|find| find.seeds);
    Ok(finds)
}

/// The findings of `sim run` over the seeds from `first`, after `tried` earlier seeds: the first of each
/// property.
fn finds_of_run(result: &Value, file: &str, first: u64, tried: u64) -> Vec<Detection> {
    let of = |property: String, detail: String, seed: &Value| {
        let seed = seed.as_u64().unwrap_or(first);
        Detection {
            property,
            detail,
            scenario: file.to_owned(),
            seed,
            seeds: tried + seed.saturating_sub(first) + 1,
            steps: None,
        }
    };
    let violations = result["violations"].as_array().into_iter().flatten();
    let violations = violations.map(|violation| {
        let detail = text(&violation["detail"]);
        of(text(&violation["property"]), detail, &violation["seed"])
    });
    let crossed = crossed(result);
    let properties = result["properties"].as_object().into_iter().flatten();
    let broken = properties.filter(|(_, judged)| judged["held"] == Value::Bool(false));
    let broken = broken.map(|(property, _)| {
        let (metric, expression) = (text(&crossed["metric"]), text(&crossed["expression"]));
        of(
            property.clone(),
            format!("{metric} {expression}"),
            &crossed["seed"],
        )
    });
    let mut finds: Vec<Detection> = Vec::new();
    for mut find in violations.chain(broken) {
        if !finds.iter().any(|other| other.property == find.property) {
            // The shrunk failure is the first one.
            let steps = result["shrunk"]["steps"].as_u64();
            find.steps = steps.filter(|_| finds.is_empty());
            finds.push(find);
        }
    }
    finds.sort_by_key(|find| find.seeds);
    finds
}

/// The first threshold that was crossed; null if none was.
fn crossed(result: &Value) -> &Value {
    let mut thresholds = result["thresholds"].as_array().into_iter().flatten();
    thresholds
        .find(|threshold| threshold["met"] == Value::Bool(false))
        .unwrap_or(&Value::Null)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The files of the shipped scenarios.
pub(super) fn shipped(copy: &WorkspaceCopy) -> Result<Vec<String>> {
    let mut files = scenarios::files(copy.sh(), scenarios::FOLDER)?;
    files.retain(|file| !HEAVY.contains(&file.as_str()));
    if files.is_empty() {
        bail!("{}/ holds no scenario", scenarios::FOLDER);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{finds_of_explore, finds_of_run};

    #[test]
    fn failures_come_in_the_order_of_their_seeds() {
        let failure = |property: &str, index: u64, shrunk| {
            json!({ "property": property, "detail": "d", "scenario": "s.yaml", "seed": 9,
                    "index": index, "shrunk": shrunk })
        };
        let late = failure("bounded", 40, json!({ "steps": 6 }));
        let early = failure("panic", 3, json!(null));
        let result = json!({ "seeds": 50, "failures": [late, early] });
        let finds = finds_of_explore(&result).expect("a good result");
        let seen: Vec<_> = finds
            .iter()
            .map(|find| (find.property.as_str(), find.seeds, find.steps))
            .collect();
        assert_eq!(seen, [("panic", 3, None), ("bounded", 40, Some(6))]);
    }

    #[test]
    fn a_result_without_failures_is_none_and_without_the_list_an_error() {
        let none = finds_of_explore(&json!({ "failures": [] }));
        assert_eq!(none.expect("a good result"), []);
        assert!(finds_of_explore(&json!({ "seeds": 5 })).is_err());
    }

    #[test]
    fn a_violation_and_a_threshold_count_by_their_seeds() {
        let result = json!({
            "violations": [
                { "property": "bounded", "seed": 12, "detail": "too many" },
                { "property": "bounded", "seed": 13, "detail": "too many" },
            ],
            "properties": {
                "bounded": { "held": false }, "latency": { "held": false },
                "fairness": { "held": null }, "durability": { "held": true },
            },
            "thresholds": [
                { "metric": "matches", "expression": "jain>0", "met": true, "seed": null },
                { "metric": "queue_wait", "expression": "p(95)<2s", "met": false, "seed": 14 },
            ],
        });
        let finds = finds_of_run(&result, "s.yaml", 11, 100);
        let seen: Vec<_> = finds
            .iter()
            .map(|find| (find.property.as_str(), find.seeds, find.detail.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("bounded", 102, "too many"),
                ("latency", 104, "queue_wait p(95)<2s")
            ]
        );
    }
}
