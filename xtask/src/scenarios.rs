//! Runs the shipped scenarios and the pinned regressions over fixed seeds; they must pass. Everyday
//! scenarios must give the exit code that they name.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::outcome::none_of;
use crate::sim;
use crate::workspace_copy::below;

/// The folder of scenarios.
pub(crate) const FOLDER: &str = "scenarios";

/// The folder of pinned regressions. It may be empty.
const REGRESSIONS: &str = "scenarios/regressions";

/// Scenarios in the style of newcomers, not tuned to pass or to fail.
const EVERYDAY: &str = "scenarios/everyday";

/// The prefix of the line that gives an everyday scenario's expected exit code.
const EXIT: &str = "# exit: ";

/// The number of seeds for a scenario of ordinary size, from its own seed upward.
const SEEDS: u32 = 20;

/// Scenarios that are long or large; one seed each.
const HEAVY: [&str; 2] = ["scenarios/scale.yaml", "scenarios/soak.yaml"];

/// The result file of the latest run.
const RESULT: &str = "target/xtask/scenario.json";

/// Runs all scenarios, and names each that failed.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let all = [shipped(sh)?, files(sh, REGRESSIONS)?, files(sh, EVERYDAY)?].concat();
    let (_copy, sim) = sim::optimised(sh)?;
    let mut reached = Reached::default();
    let mut findings: Vec<String> = Vec::new();
    for file in &all {
        let exit = exit_of(&sh.read_file(file)?);
        findings.extend(failure(sh, &sim, file, exit)?);
        let result = sh.read_file(RESULT).context("a run wrote no result")?;
        count(&mut reached, &serde_json::from_str(&result)?);
    }
    findings.extend(never(&reached));
    none_of(&findings)
}

/// The number of seeds for a file. A regression needs one: the steps form fixes all that a seed would draw.
fn seeds_of(file: &str) -> u32 {
    match HEAVY.contains(&file) || file.starts_with(REGRESSIONS) {
        true => 1,
        false => SEEDS,
    }
}

/// The expected exit code of a scenario.
fn exit_of(text: &str) -> i32 {
    let exit = text.lines().find_map(|line| line.strip_prefix(EXIT));
    exit.and_then(|code| code.trim().parse().ok()).unwrap_or(0)
}

/// Runs one scenario. Returns a sentence if it failed, with the command that reproduces it.
fn failure(sh: &Shell, sim: &Path, file: &str, exit: i32) -> Result<Option<String>> {
    let seeds = seeds_of(file).to_string();
    let run = cmd!(sh, "{sim} {file} --seeds {seeds} --quiet --json {RESULT}");
    let status = Command::from(run).status()?;
    let is_wanted = status.code() == Some(exit);
    Ok((!is_wanted).then(|| {
        format!(
            "{file}: {status}, and not {exit}; again: cargo run --release -p sim -- {file} --seeds {seeds}"
        )
    }))
}

/// The core's behaviour that the scenarios reached together: refusals, events, timers, transitions
/// of sticks, each by group and name. The simulator lists all.
type Reached = BTreeMap<(String, String), u64>;

/// Adds the behaviour that one run reached.
fn count(reached: &mut Reached, result: &Value) {
    let groups = result["coverage"].as_object().into_iter().flatten();
    for (group, names) in groups {
        for (name, n) in names.as_object().into_iter().flatten() {
            let key = (group.clone(), name.clone());
            *reached.entry(key).or_default() += n.as_u64().unwrap_or(0);
        }
    }
}

/// The behaviour that no scenario reached.
fn never(reached: &Reached) -> Vec<String> {
    if reached.is_empty() {
        return vec!["no result says what was reached".to_owned()];
    }
    let never = reached.iter().filter(|(_, n)| **n == 0);
    let told = never.map(|((group, name), _)| {
        format!("no shipped scenario reaches {name}, one of the {group}: add one that does")
    });
    told.collect()
}

/// The files of the shipped scenarios, by name.
///
/// # Errors
/// There is none.
pub(crate) fn shipped(sh: &Shell) -> Result<Vec<String>> {
    let shipped = files(sh, FOLDER)?;
    ensure!(!shipped.is_empty(), "{FOLDER} holds no scenario");
    Ok(shipped)
}

/// The `*.yaml` files of a folder, by name; none if the folder does not exist.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn files(sh: &Shell, folder: &str) -> Result<Vec<String>> {
    if !sh.path_exists(folder) {
        return Ok(Vec::new());
    }
    let mut files = below(sh, folder)?;
    files.retain(|file| {
        Path::new(file).parent() == Some(Path::new(folder)) && file.ends_with(".yaml")
    });
    Ok(files)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HEAVY, Reached, SEEDS, count, exit_of, never, seeds_of};

    #[test]
    fn unreached_points_are_named() {
        let mut reached = Reached::default();
        assert_eq!(never(&reached), ["no result says what was reached"]);
        for (rejects, left) in [
            (json!({ "muted": 2, "new_code": 0 }), 1),
            (json!({ "muted": 0, "new_code": 0 }), 1),
            (json!({ "new_code": 1 }), 0),
        ] {
            count(&mut reached, &json!({ "coverage": { "rejects": rejects } }));
            let never = never(&reached);
            assert_eq!(never.len(), left);
            let is_it = |one: &String| one.contains("new_code, one of the rejects");
            assert!(never.iter().all(is_it), "{never:?}");
        }
    }

    #[test]
    fn heavy_scenarios_and_regressions_run_once_and_others_over_many_seeds() {
        for (file, seeds) in [
            ("scenarios/burst.yaml", SEEDS),
            ("scenarios/soak.yaml", 1),
            ("scenarios/regressions/soak.yaml", 1),
            ("scenarios/everyday/soak.yaml", SEEDS),
        ] {
            assert_eq!(seeds_of(file), seeds, "{file}");
        }
        let root = ::book::pages::root();
        assert!(HEAVY.iter().all(|file| root.join(file).is_file()));
    }

    #[test]
    fn a_scenario_declares_its_exit_code() {
        assert_eq!(exit_of("# schema\n# exit: 99\nname: a\n"), 99);
        assert_eq!(exit_of("name: a\n"), 0);
    }
}
