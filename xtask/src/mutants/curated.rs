//! The curated mutants, one after another.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use xshell::Shell;

use super::hunt::{self, Detection};
use super::mutant::{self, Mutant};
use super::verdict::{self, Row};
use super::{MutantsWords, coverage, survivors};
use crate::outcome::none_of;
use crate::workspace_copy::WorkspaceCopy;

/// The mutants of the canary check: quick to find, and in different parts.
const CANARIES: [&str; 2] = ["hub_retry_applied_twice", "speech_stale_push_accepted"];

/// The number of seeds for each of them.
const CANARY_SEEDS: u64 = 60;

/// The file of the results: of each mutant, that of its last hunt.
pub(super) const RESULTS: &str = "target/mutants/curated.json";

/// Lists the curated mutants, a line each.
///
/// # Errors
/// Invalid rows.
pub(crate) fn list(sh: &Shell, out: &mut impl Write) -> Result<()> {
    for mutant in mutant::read_all(sh)? {
        let (name, about, by) = (mutant.name, mutant.about, mutant.caught_by.join(", "));
        writeln!(out, "{name}\n    {about}\n    caught by: {by}")?;
    }
    Ok(())
}

/// Plants and hunts each mutant. Returns whether all were caught.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, words: &MutantsWords, out: &mut impl Write) -> Result<bool> {
    let all = mutant::read_all(sh)?;
    let chosen = choose(&all, &words.only)?;
    if words.only.is_empty() {
        none_of(&coverage::check(sh, &all)?)?;
    }
    let copy = WorkspaceCopy::refresh(sh)?;
    let hunt = |mutant: &Mutant| hunt::hunt(&copy, mutant, words.seeds);
    let rows = hunt_all(&copy, &chosen, hunt, out, |row| keep(sh, RESULTS, row))?;
    Ok(verdict::write_sum(&rows, out)?)
}

/// The results of the last hunts in this file; none if there is no file yet.
pub(super) fn results(sh: &Shell, file: impl AsRef<Path>) -> Result<Vec<Row>> {
    let file = file.as_ref();
    if !sh.path_exists(file) {
        return Ok(Vec::new());
    }
    let read = serde_json::from_str(&sh.read_file(file)?);
    read.with_context(|| format!("{} is of another version: remove it", file.display()))
}

/// Keeps the result of a hunt in place of the mutant's last one.
pub(super) fn keep(sh: &Shell, file: impl AsRef<Path>, row: &Row) -> Result<()> {
    let mut all = results(sh, &file)?;
    all.retain(|kept| kept.mutant != row.mutant);
    all.push(row.clone());
    Ok(sh.write_file(file, serde_json::to_string_pretty(&all)? + "\n")?)
}

/// The mutants with these names; all if there are none.
pub(super) fn choose<'a>(all: &'a [Mutant], only: &[String]) -> Result<Vec<&'a Mutant>> {
    if only.is_empty() {
        return Ok(all.iter().collect());
    }
    let named = |name: &String| {
        let found = all.iter().find(|mutant| mutant.name == *name);
        found.with_context(|| {
            format!("no curated mutant is called `{name}`: `cargo xtask mutants --list` names them")
        })
    };
    only.iter().map(named).collect()
}

/// Plants and hunts these mutants, one after another, and writes the table of their fates.
///
/// # Errors
/// The copy cannot be restored, or `out` or a result not written.
pub(super) fn hunt_all(
    copy: &WorkspaceCopy,
    mutants: &[&Mutant],
    hunt: impl Fn(&Mutant) -> Result<Vec<Detection>>,
    out: &mut impl Write,
    keep: impl Fn(&Row) -> Result<()>,
) -> Result<Vec<Row>> {
    verdict::write_head(out)?;
    let mut rows = Vec::with_capacity(mutants.len());
    for (index, mutant) in mutants.iter().enumerate() {
        let started = Instant::now();
        let (number, all, name) = (index + 1, mutants.len(), &mutant.name);
        show(&format!("[{number}/{all}] {name}"));
        let hunted = mutant.plant(copy).and_then(|()| hunt(mutant));
        copy.heal()?;
        show("");
        let row = Row::new(mutant, hunted, started.elapsed().as_secs_f64());
        keep(&row)?;
        verdict::write_row(&row, out)?;
        out.flush()?;
        rows.push(row);
    }
    Ok(rows)
}

/// Shows the progress in place of what was shown before, on a terminal only.
#[expect(clippy::print_stderr, reason = "a line for people, erased again")]
fn show(progress: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K{progress}");
    }
}

/// The canary check: every edit applies, coverage is complete, the survivors' list is valid, and
/// the simulator catches some mutants that are quick to find.
pub(crate) fn canary(sh: &Shell) -> Result<()> {
    let all = mutant::read_all(sh)?;
    let mut findings = coverage::check(sh, &all)?;
    findings.extend(survivors::load(sh).err().map(|why| why.to_string()));
    for mutant in &all {
        let wrong = mutant.changed(sh).err();
        findings.extend(wrong.map(|why| format!("{}: {why:#}", mutant.name)));
    }
    let chosen = choose(&all, &CANARIES.map(str::to_owned))?;
    let copy = WorkspaceCopy::refresh(sh)?;
    let hunt = |mutant: &Mutant| hunt::hunt(&copy, mutant, CANARY_SEEDS);
    for row in hunt_all(&copy, &chosen, hunt, &mut io::stdout(), |_| Ok(()))? {
        if !row.is_good() {
            let (name, fate) = (row.mutant, row.fate);
            findings.push(format!(
                "the harness does not see {name} within {CANARY_SEEDS} seeds: {fate:?}"
            ));
        }
    }
    none_of(&findings)
}
