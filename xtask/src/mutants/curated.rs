//! The curated mutants, one after another.

use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::coverage::CoverageTargets;
use super::hunt::{self, Effort};
use super::mutant::{self, Mutant};
use super::survivors;
use super::verdict::{self, Fate, Row};
use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::workspace_copy::WorkspaceCopy;

/// The mutants of the canary check: quick to find, and in different parts.
const CANARIES: [&str; 2] = ["hub_retry_applied_twice", "speech_stale_push_accepted"];

/// The number of seeds for each of them.
const CANARY_SEEDS: u64 = 60;

/// The file of the results: of each mutant, that of its last hunt.
const RESULTS: &str = "target/mutants/curated.json";

/// The requested mutants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HuntRequest {
    /// The names of mutants to run; all if it is empty.
    pub(crate) only: Vec<String>,
    pub(crate) seeds: u64,
    pub(crate) jobs: Option<u64>,
}

/// Lists the curated mutants, a line each.
///
/// # Errors
/// Invalid rows.
pub(crate) fn list(cargo: &Cargo, out: &mut impl Write) -> Result<(), String> {
    for mutant in mutant::read_all(cargo.root())? {
        let by = mutant.caught_by.join(", ");
        writeln!(
            out,
            "{}\n    {}\n    caught by: {by}",
            mutant.name, mutant.about
        )
        .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Plants and hunts each mutant. Returns whether all were caught.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(
    cargo: &Cargo,
    request: &HuntRequest,
    out: &mut impl Write,
) -> Result<bool, String> {
    let all = mutant::read_all(cargo.root())?;
    let chosen = choose(&all, &request.only)?;
    if request.only.is_empty() {
        let uncovered = CoverageTargets::collect(cargo.root())?.check(&all);
        if !uncovered.is_empty() {
            return Err(uncovered.join("\n"));
        }
    }
    let copy = WorkspaceCopy::refresh(cargo)?;
    let effort = Effort {
        seeds: request.seeds,
        jobs: request.jobs,
    };
    let rows = hunt_all(&copy, &chosen, effort, out, |row| keep(cargo.root(), row))?;
    verdict::write_sum(&rows, out).map_err(|error| error.to_string())
}

/// The results of the last hunts; none if they cannot be read.
pub(super) fn results(root: &Path) -> Vec<Value> {
    let text = fs::read_to_string(root.join(RESULTS)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Keeps the result of a hunt in place of the mutant's last one.
fn keep(root: &Path, row: &Row) -> Result<(), String> {
    let mut all = results(root);
    all.retain(|kept| kept["mutant"] != *row.mutant);
    all.push(verdict::to_json(row));
    let file = root.join(RESULTS);
    fs::create_dir_all(root.join("target/mutants"))
        .and_then(|()| fs::write(&file, format!("{:#}\n", Value::Array(all))))
        .map_err(|error| format!("cannot write {RESULTS}: {error}"))
}

fn choose<'a>(all: &'a [Mutant], only: &[String]) -> Result<Vec<&'a Mutant>, String> {
    if only.is_empty() {
        return Ok(all.iter().collect());
    }
    only.iter()
        .map(|name| {
            all.iter().find(|mutant| mutant.name == *name).ok_or_else(|| {
                format!("no curated mutant is called `{name}`: `cargo xtask mutants --list` names them")
            })
        })
        .collect()
}

fn hunt_all(
    copy: &WorkspaceCopy<'_>,
    mutants: &[&Mutant],
    effort: Effort,
    out: &mut impl Write,
    keep: impl Fn(&Row) -> Result<(), String>,
) -> Result<Vec<Row>, String> {
    let said = |error: io::Error| error.to_string();
    verdict::write_head(out).map_err(said)?;
    let mut rows = Vec::with_capacity(mutants.len());
    for (index, mutant) in mutants.iter().enumerate() {
        let progress = Progress::show(index + 1, mutants.len(), &mutant.name);
        let started = Instant::now();
        let fate = try_one(copy, mutant, effort);
        progress.clear();
        let row = Row {
            mutant: mutant.name.clone(),
            wanted: mutant.caught_by.clone(),
            fate: fate?,
            took: started.elapsed(),
        };
        keep(&row)?;
        verdict::write_row(&row, out).map_err(said)?;
        out.flush().map_err(said)?;
        rows.push(row);
    }
    Ok(rows)
}

/// Plants one mutant, hunts it, and removes it again in any case.
fn try_one(copy: &WorkspaceCopy<'_>, mutant: &Mutant, effort: Effort) -> Result<Fate, String> {
    let hunted = mutant
        .plant(copy)
        .and_then(|()| copy.build())
        .and_then(|()| hunt::hunt(copy, &mutant.hunt, &mutant.caught_by, effort));
    mutant.heal(copy)?;
    Ok(match hunted {
        Ok(finds) => Fate::of(finds, &mutant.caught_by),
        Err(why) => Fate::Broken(why),
    })
}

/// The canary check: every edit applies, coverage is complete, the survivors' list is valid, and
/// the simulator catches some mutants that are quick to find.
pub(crate) fn canary(cargo: &Cargo) -> Outcome {
    let done = (|| {
        let all = mutant::read_all(cargo.root())?;
        let mut findings = CoverageTargets::collect(cargo.root())?.check(&all);
        findings.extend(survivors::load(cargo.root()).err());
        let copy = WorkspaceCopy::refresh(cargo)?;
        for mutant in &all {
            if let Err(why) = mutant.changed(cargo.root()) {
                findings.push(format!("{}: {why}", mutant.name));
            }
        }
        let chosen = choose(&all, &CANARIES.map(str::to_owned))?;
        let effort = Effort {
            seeds: CANARY_SEEDS,
            jobs: None,
        };
        let rows = hunt_all(&copy, &chosen, effort, &mut io::stdout(), |_| Ok(()))?;
        for row in rows.iter().filter(|row| !row.fate.is_good()) {
            findings.push(format!(
                "the harness does not see {} within {CANARY_SEEDS} seeds: {:?}",
                row.mutant, row.fate
            ));
        }
        Ok::<_, String>(findings)
    })();
    match done {
        Ok(findings) => Outcome::of_findings(&findings),
        Err(why) => Outcome::Failed(why),
    }
}

/// Shows the progress, on a terminal only.
struct Progress {
    shown: bool,
}

#[expect(clippy::print_stderr, reason = "a line for people, erased again")]
impl Progress {
    fn show(number: usize, of: usize, name: &str) -> Self {
        let shown = io::stderr().is_terminal();
        if shown {
            eprint!("\r\x1b[K[{number}/{of}] {name}");
        }
        Self { shown }
    }

    fn clear(self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
