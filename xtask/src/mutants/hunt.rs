//! Hunts a planted mutant: runs the simulator until it finds something, and counts the seeds.

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::Value;
use xshell::cmd;

use super::mutant::{Hunt, Mutant};
use crate::scenarios;
use crate::sim::CLUSTER_DEPTH;
use crate::workspace_copy::WorkspaceCopy;

/// Scenarios that are too large for repeated runs.
const HEAVY: [&str; 1] = ["scenarios/scale.yaml"];

/// The time limit for one call of the simulator, in seconds: a mutant that hangs must not stop the others.
const PATIENCE_S: &str = "1200";

/// The number of seeds of the first exploration of a hunt, and the most of a run as written. Each further call
/// has four times as many as the one before.
const CHUNK: u64 = 64;

/// The number of further failures that are tried for one that can be shrunk.
const MORE: usize = 8;

/// A finding of the simulator, or of the judge of real processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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

/// Builds the copy, and hunts the mutant that is planted in it: looks at a few seeds, and then at more and more,
/// until a finding is of a property that the mutant names. Returns all findings in order. Other properties that
/// were violated before are findings, too, for the report.
///
/// # Errors
/// It does not build, or why the simulator could not be run.
pub(crate) fn hunt(copy: &WorkspaceCopy, mutant: &Mutant, seeds: u64) -> Result<Vec<Detection>> {
    copy.build(&[])?;
    let mut shipped = scenarios::shipped(&copy.sh)?;
    shipped.retain(|file| !HEAVY.contains(&file.as_str()));
    // The scenarios of each call, and the least and the largest number of its seeds.
    let (calls, mut chunk, most): (Vec<&[String]>, u64, u64) = match &mutant.hunt {
        Hunt::Explore(files) if files.is_empty() => (vec![&shipped[..]], CHUNK, u64::MAX),
        Hunt::Explore(files) => (vec![&files[..]], CHUNK, u64::MAX),
        Hunt::Run(files) => (files.chunks(1).collect(), 1, CHUNK),
        Hunt::Exhaust => {
            // Every interleaving of two members and their log.
            let words = ["exhaust", "--world", "cluster", "--depth", CLUSTER_DEPTH];
            return finds_of_explore(&sim_json(copy, &words)?);
        }
    };
    let look = |files: &[String], first: u64, count: u64| {
        let [seed, count] = [first, count].map(|number| number.to_string());
        let mut words: Vec<_> = match &mutant.hunt {
            Hunt::Explore(files) if files.is_empty() => vec!["explore", "--flows", "--keep-going"],
            Hunt::Explore(_) | Hunt::Exhaust => vec!["explore", "--keep-going"],
            Hunt::Run(_) => vec!["run", "--quiet"],
        };
        words.extend(files.iter().map(String::as_str));
        words.extend(["--seed", &seed, "--seeds", &count]);
        let found = sim_json(copy, &words)?;
        match &mutant.hunt {
            Hunt::Run(_) => Ok(finds_of_run(&found, &files[0], first)),
            Hunt::Explore(_) | Hunt::Exhaust => finds_of_explore(&found),
        }
    };
    let is_wanted = |find: &Detection| mutant.names(&find.property);
    let (mut finds, mut tried, mut first) = (Vec::<Detection>::new(), 0, 1);
    while tried < seeds && !finds.iter().any(is_wanted) {
        for files in &calls {
            let count = chunk.min(seeds - tried);
            if count == 0 || finds.iter().any(is_wanted) {
                break;
            }
            let found = look(files, first, count)?.into_iter();
            finds.extend(found.map(|find| Detection {
                seeds: tried + find.seeds,
                ..find
            }));
            tried += count;
        }
        first += chunk;
        chunk = chunk.saturating_mul(4).min(most);
    }
    let Some(caught) = finds.iter_mut().find(|find| is_wanted(find)) else {
        return Ok(finds);
    };
    // Some runs do not fail any more when they are written as steps, but a later one may.
    let (mut seed, mut tries) = (caught.seed, 0..MORE);
    while let (Hunt::Explore(_), None, Some(_)) = (&mutant.hunt, caught.steps, tries.next()) {
        let later = look(calls[0], seed + 1, tried)?;
        let Some(later) = later.iter().find(|find| is_wanted(find)) else {
            break;
        };
        (seed, caught.steps) = (later.seed, later.steps);
    }
    Ok(finds)
}

/// Runs the simulator and parses its JSON output.
pub(super) fn sim_json(copy: &WorkspaceCopy, words: &[&str]) -> Result<Value> {
    let sim = copy.program("sim");
    let run = cmd!(copy.sh, "timeout {PATIENCE_S} {sim} {words...} --json -");
    let output = run.quiet().ignore_status().output()?;
    serde_json::from_slice(&output.stdout).with_context(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n");
        let (words, status) = (words.join(" "), output.status);
        format!("`sim {words}`: {status}, and it wrote no JSON:\n{last}")
    })
}

/// A text of the result.
fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

/// The failures of `sim explore`, the earliest first.
fn finds_of_explore(result: &Value) -> Result<Vec<Detection>> {
    let failures = result["failures"]
        .as_array()
        .context("the result of `sim explore` has no failures list")?;
    let finds = failures.iter().map(|failure| Detection {
        property: text(failure, "property"),
        detail: text(failure, "detail"),
        scenario: text(failure, "scenario"),
        seed: failure["seed"].as_u64().unwrap_or_default(),
        seeds: failure["index"].as_u64().unwrap_or_default(),
        steps: failure["shrunk"]["steps"].as_u64(),
    });
    let mut finds: Vec<_> = finds.collect();
    finds.sort_by_key(|find| find.seeds);
    Ok(finds)
}

/// The findings of `sim run` over the seeds from `first`: the first of each property.
fn finds_of_run(result: &Value, file: &str, first: u64) -> Vec<Detection> {
    let list = |key: &str| result[key].as_array().into_iter().flatten();
    let violations = list("violations").map(|one| {
        let (property, detail) = (text(one, "property"), text(one, "detail"));
        (property, detail, &one["seed"])
    });
    // A threshold that is crossed is no violation, and breaks a property.
    let crossed = list("thresholds").find(|threshold| threshold["met"] == false);
    let crossed = crossed.unwrap_or(&Value::Null);
    let judged = result["properties"].as_object().into_iter().flatten();
    let broken = judged.filter(|(_, judged)| judged["held"] == false);
    let broken = broken.map(|(property, _)| {
        let threshold = [text(crossed, "metric"), text(crossed, "expression")];
        (property.clone(), threshold.join(" "), &crossed["seed"])
    });
    let mut finds: Vec<Detection> = Vec::new();
    for (property, detail, seed) in violations.chain(broken) {
        if finds.iter().any(|find| find.property == property) {
            continue;
        }
        let seed = seed.as_u64().unwrap_or(first);
        // The shrunk failure is the first one.
        let steps = result["shrunk"]["steps"].as_u64();
        finds.push(Detection {
            property,
            detail,
            scenario: file.to_owned(),
            seed,
            seeds: seed.saturating_sub(first) + 1,
            steps: steps.filter(|_| finds.is_empty()),
        });
    }
    finds.sort_by_key(|find| find.seeds);
    finds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{finds_of_explore, finds_of_run};

    #[test]
    fn failures_come_in_the_order_of_their_seeds() {
        let failure = |property: &str, index: u64, shrunk| {
            json!({ "property": property, "detail": "d", "scenario": "s.yaml", "seed": 9,
                    "index": index, "seeds": 2, "shrunk": shrunk })
        };
        let late = failure("bounded", 40, json!({ "steps": 6 }));
        let early = failure("panic", 3, json!(null));
        let result = json!({ "seeds": 50, "failures": [late, early] });
        let finds = finds_of_explore(&result).expect("a good result");
        let seen = finds
            .iter()
            .map(|find| (&*find.property, find.seeds, find.steps));
        let seen: Vec<_> = seen.collect();
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
        let finds = finds_of_run(&result, "s.yaml", 11);
        let seen = finds
            .iter()
            .map(|find| (&*find.property, find.seeds, &*find.detail));
        let seen: Vec<_> = seen.collect();
        let latency = ("latency", 4, "queue_wait p(95)<2s");
        assert_eq!(seen, [("bounded", 2, "too many"), latency]);
    }
}
