//! The shipped scenarios pass over fixed seeds, and so do the pinned regressions.

use std::fs;
use std::path::Path;
use std::process::ExitStatus;

use crate::cargo::{self, Build, Cargo};
use crate::outcome::Outcome;

/// Where scenarios are.
pub(crate) const FOLDER: &str = "scenarios";

/// Where the races of yesterday are pinned. The folder may be empty.
const REGRESSIONS: &str = "scenarios/regressions";

/// Seeds for a scenario of ordinary size, upward from its own.
const SEEDS: u32 = 20;

/// Scenarios that are long or large; one seed each.
const HEAVY: [&str; 2] = ["scale", "soak"];

/// One file, and over how many seeds it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    file: String,
    seeds: u32,
}

/// Runs them all, and names every one that did not pass.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let shipped = files(cargo.root(), FOLDER);
    if shipped.is_empty() {
        return Outcome::Failed(format!("{FOLDER} holds no scenario"));
    }
    let runs = plan(shipped, files(cargo.root(), REGRESSIONS));
    cargo.build_sim(Build::Release).and_then(|| {
        let failures: Vec<String> = runs.iter().filter_map(|run| failure(cargo, run)).collect();
        Outcome::of_findings(&failures)
    })
}

/// Which file runs over how many seeds: the steps form fixes all that a seed would draw.
fn plan(shipped: Vec<String>, regressions: Vec<String>) -> Vec<Run> {
    let shipped = shipped.into_iter().map(|file| {
        let name = Path::new(&file).file_stem().and_then(|stem| stem.to_str());
        let heavy = name.is_some_and(|name| HEAVY.contains(&name));
        Run {
            file,
            seeds: if heavy { 1 } else { SEEDS },
        }
    });
    let regressions = regressions.into_iter().map(|file| Run { file, seeds: 1 });
    shipped.chain(regressions).collect()
}

/// Runs one, and says what was wrong with it, and how to see it again.
fn failure(cargo: &Cargo, run: &Run) -> Option<String> {
    let seeds = run.seeds.to_string();
    let words = [run.file.as_str(), "--seeds", &seeds, "--quiet"];
    let meaning = match cargo.sim(Build::Release, &words) {
        Ok(status) if status.success() => return None,
        Ok(status) => meaning(status),
        Err(why) => why,
    };
    Some(format!(
        "{}: {meaning}; again: cargo run --release -p sim -- {} --seeds {seeds}",
        run.file, run.file
    ))
}

/// What the simulator's exit code says.
fn meaning(status: ExitStatus) -> String {
    let meaning = match status.code() {
        Some(1) => "a safety property was violated",
        Some(2) => "the scenario is wrong",
        Some(3) => "a liveness property was violated",
        Some(4) => "it could not be judged",
        Some(99) => "a threshold was crossed",
        Some(_) | None => return format!("sim {}", cargo::ended(status)),
    };
    meaning.into()
}

/// The `*.yaml` of a folder, by name; none where there is no such folder.
pub(crate) fn files(root: &Path, folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join(folder)) else {
        return Vec::new();
    };
    let mut files: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".yaml"))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::{Run, SEEDS, plan};

    #[test]
    fn heavy_scenarios_and_regressions_run_once_and_others_over_many_seeds() {
        let shipped = ["scenarios/burst.yaml", "scenarios/soak.yaml"].map(str::to_owned);
        let regressions = ["scenarios/regressions/soak.yaml"].map(str::to_owned);
        let runs = plan(shipped.to_vec(), regressions.to_vec());
        let expected = [
            ("scenarios/burst.yaml", SEEDS),
            ("scenarios/soak.yaml", 1),
            ("scenarios/regressions/soak.yaml", 1),
        ]
        .map(|(file, seeds)| Run {
            file: file.into(),
            seeds,
        });
        assert_eq!(runs, expected);
    }

    #[cfg(unix)]
    #[test]
    fn every_exit_code_of_the_simulator_has_a_meaning() {
        use std::os::unix::process::ExitStatusExt as _;
        use std::process::ExitStatus;
        for (code, told) in [
            (1, "a safety property was violated"),
            (3, "a liveness property was violated"),
            (99, "a threshold was crossed"),
            (101, "sim ended with exit code 101"),
        ] {
            assert_eq!(super::meaning(ExitStatus::from_raw(code << 8)), told);
        }
        assert_eq!(
            super::meaning(ExitStatus::from_raw(9)),
            "sim was killed by a signal"
        );
    }
}
