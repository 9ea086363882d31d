//! Generated mutants: `cargo mutants` changes the core in all ways that it knows, and runs the
//! core's own tests on each. The simulator runs on those that survive. Those that survive both must
//! be explained.
//!
//! A run takes hours, and can be stopped at any time: the next run continues it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::{Shell, cmd};

use super::MutantsWords;
use super::mutant::Mutant;
use super::survivors::{self, Keys};
use super::verdict::{Fate, Row};
use super::{hunt, verdict};
use crate::cargo;
use crate::workspace_copy::WorkspaceCopy;

/// The version of cargo-mutants to install if it is missing.
const VERSION: &str = "27.1.0";

/// The package that is mutated.
const PACKAGE: &str = "chat-core";

/// Exit codes of `cargo mutants` with complete results: all caught, some missed, some timed out.
const DONE: [i32; 3] = [0, 2, 3];

/// Generates mutants, hunts survivors of the tests, and compares the rest with the list. Returns
/// whether they agree.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, words: &MutantsWords, out: &mut impl Write) -> Result<bool> {
    let listed = survivors::load(sh)?;
    let is_there = || cargo::has(sh, "mutants");
    cargo::there_or_installed(sh, is_there, ("cargo-mutants", VERSION), &[])?;
    let folder = sh.create_dir("target/mutants/generated")?;
    let all = cmd!(
        sh,
        "cargo mutants --list --package {PACKAGE} --colors never"
    )
    .read()?;
    let all = survivors::keys(&all);
    mutate(sh, &folder, words)?;
    let missed = missed(sh, &folder)?;
    if let Some(Mutant { name, .. }) = missed.iter().find(|one| !all.contains_key(&one.name)) {
        let folder = folder.display();
        bail!("{name} is of an older core: remove {folder} and begin again");
    }
    let survived = hunt_all(sh, (&folder, &missed), (&all, words), out)?;
    let findings = survivors::compare(&listed, &survived, &all);
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    let counts = [all.len(), missed.len(), survived.len(), findings.len()];
    let [all, missed, survived, findings] = counts;
    writeln!(
        out,
        "{all} mutants: {missed} live through the core's tests, {survived} of them through the harness as well; \
         {findings} to explain"
    )?;
    Ok(findings == 0)
}

/// Runs the core's tests on each mutant that was not caught before.
fn mutate(sh: &Shell, folder: &Path, words: &MutantsWords) -> Result<()> {
    let jobs = words.jobs.unwrap_or(1).to_string();
    // Few random journals in a build that takes half the time catch nearly all mutants.
    let unoptimised = ("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    let quick = [unoptimised, ("PROPTEST_CASES", "12")];
    let few = ["--skip", "random_journals_reach"];
    let words = ["--jobs", &jobs, "--timeout", "30"];
    run_pass(sh, folder, &words, &few, &quick)?;
    // The whole pass for the rest. Mutants that hung are not run again.
    let hung = sh.read_file(folder.join("mutants.out/timeout.txt"))?;
    let hung: Vec<_> = hung.lines().map(exactly).collect();
    let hung = hung.iter().flat_map(|name| ["--exclude-re", name]);
    let more: Vec<_> = ["--jobs", &jobs].into_iter().chain(hung).collect();
    run_pass(sh, folder, &more, &[], &[])
}

fn run_pass(
    sh: &Shell,
    folder: &Path,
    more: &[&str],
    test_words: &[&str],
    environment: &[(&str, &str)],
) -> Result<()> {
    let mutants = cmd!(
        sh,
        "cargo mutants --package {PACKAGE} --iterate --output {folder} {more...}"
    )
    // Documentation tests repeat other tests, and need to be linked one by one.
    .args(["--", "--lib", "--tests", "--"])
    .args(test_words)
    // Each build has its own copy of the workspace, so it needs its own target folder.
    .env_remove("CARGO_TARGET_DIR")
    // A snapshot that differs means that the mutant was caught. It must not be written.
    .env("INSTA_UPDATE", "no")
    .env("CARGO_PROFILE_DEV_DEBUG", "0")
    // Shrinking a failing journal would only cost time.
    .env("PROPTEST_MAX_SHRINK_ITERS", "0")
    .envs(environment.iter().copied());
    let said = mutants.to_string();
    let status = Command::from(mutants).status()?;
    if !status.code().is_some_and(|code| DONE.contains(&code)) {
        bail!("`{said}`: {status}; the same call goes on where it was");
    }
    Ok(())
}

/// A regular expression that matches exactly this text.
fn exactly(text: &str) -> String {
    let escaped = text.chars().flat_map(|c| {
        let special = r"\.+*?()|[]{}^$#&-~".contains(c);
        special.then_some('\\').into_iter().chain([c])
    });
    format!("^{}$", String::from_iter(escaped))
}

/// The mutants that survived the core's tests.
fn missed(sh: &Shell, folder: &Path) -> Result<Vec<Mutant>> {
    let results = folder.join("mutants.out");
    let outcomes: Value = serde_json::from_str(&sh.read_file(results.join("outcomes.json"))?)?;
    let outcomes = outcomes["outcomes"].as_array();
    let outcomes = outcomes.context("the results of cargo mutants have no outcomes")?;
    let lives = outcomes
        .iter()
        .filter(|outcome| outcome["summary"] == "MissedMutant");
    let missed = lives.map(|outcome| {
        let mutant = &outcome["scenario"]["Mutant"];
        let texts = [&mutant["name"], &mutant["file"], &outcome["diff_path"]];
        let [Some(name), Some(file), Some(diff)] = texts.map(Value::as_str) else {
            bail!("an outcome has no name, file or diff: {outcome}");
        };
        // The second header line names the replacement instead of the file.
        let diff = with_heads(&sh.read_file(results.join(diff))?, file);
        Ok(Mutant::generated(name.to_owned(), diff))
    });
    missed.collect()
}

/// The name of a mutant, with a hash of its change.
fn key_of(mutant: &Mutant) -> String {
    let mut hasher = DefaultHasher::new();
    mutant.diff.hash(&mut hasher);
    format!("{} {:016x}", mutant.name, hasher.finish())
}

/// Runs the simulator on each, and returns the keys of the survivors. Results of earlier hunts are
/// recalled.
fn hunt_all(
    sh: &Shell,
    (folder, missed): (&Path, &[Mutant]),
    (all, words): (&Keys, &MutantsWords),
    out: &mut impl Write,
) -> Result<Vec<String>> {
    let file = folder.join("hunted.json");
    let known = verdict::results(sh, &file)?;
    // Another core may have another mutant of the same name.
    let keys: BTreeMap<_, _> = missed.iter().map(|one| (&one.name, key_of(one))).collect();
    let is_new = |mutant: &&Mutant| {
        let key = &keys[&mutant.name];
        !known.iter().any(|row| row.mutant == *key)
    };
    let new: Vec<_> = missed.iter().filter(is_new).collect();
    let copy = WorkspaceCopy::refresh(sh)?;
    let hunt = |mutant: &Mutant| hunt::hunt(&copy, mutant, words.seeds);
    let keep = |row: &Row| match &row.fate {
        Fate::Broken(why) => bail!("{}: {why}", row.mutant),
        Fate::Caught | Fate::Misread | Fate::Missed => {
            let mutant = keys[&row.mutant].clone();
            let row = row.clone();
            verdict::keep(sh, &file, &Row { mutant, ..row })
        }
    };
    verdict::hunt_all(&copy, &new, hunt, out, keep)?;
    let rows = verdict::results(sh, &file)?;
    let survived = rows.iter().filter(|row| row.fate == Fate::Missed);
    let survived: BTreeSet<_> = survived.map(|row| &row.mutant).collect();
    let survived = missed
        .iter()
        .filter(|mutant| survived.contains(&keys[&mutant.name]));
    Ok(survived.map(|mutant| all[&mutant.name].clone()).collect())
}

fn with_heads(diff: &str, file: &str) -> String {
    let hunks = diff.find("\n@@").map_or("", |place| &diff[place + 1..]);
    format!("--- a/{file}\n+++ b/{file}\n{hunks}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use xshell::Shell;

    use super::{Mutant, exactly, missed, with_heads};

    const DIFF: &str = "--- core/src/a.rs\n+++ replace a with b\n@@ -1 +1 @@\n-a\n+b\n";

    #[test]
    fn excluded_names_are_matched_exactly() {
        let escaped = exactly("a.rs:1:2: replace >= with Vec<(T)> in é");
        assert_eq!(escaped, r"^a\.rs:1:2: replace >= with Vec<\(T\)> in é$");
    }

    #[test]
    fn a_diff_gets_heads_that_git_knows() {
        let with_heads = with_heads(DIFF, "core/src/a.rs");
        let heads = "--- a/core/src/a.rs\n+++ b/core/src/a.rs\n";
        assert_eq!(with_heads, format!("{heads}@@ -1 +1 @@\n-a\n+b\n"));
    }

    #[test]
    fn surviving_mutants_are_those_missed() {
        let sh = Shell::new().expect("a folder");
        let folder = sh.create_temp_dir().expect("a folder");
        let results = folder.path().join("mutants.out");
        let outcome = |name: &str, summary: &str| {
            json!({ "scenario": { "Mutant": { "name": name, "file": "core/src/a.rs" } },
                    "summary": summary, "diff_path": "diff/a.diff" })
        };
        let baseline = json!({ "scenario": "Baseline", "summary": "Success" });
        let all = [
            baseline,
            outcome("a", "CaughtMutant"),
            outcome("b", "MissedMutant"),
            outcome("c", "Timeout"),
            outcome("d", "Unviable"),
        ];
        let written = |name: &str, text: String| sh.write_file(results.join(name), text);
        written("diff/a.diff", DIFF.to_owned()).expect("it is written");
        written("outcomes.json", json!({ "outcomes": all }).to_string()).expect("it is written");
        let diff = with_heads(DIFF, "core/src/a.rs");
        let found = missed(&sh, folder.path()).expect("outcomes");
        assert_eq!(found, [Mutant::generated("b".into(), diff)]);
        written("outcomes.json", "{}".to_owned()).expect("it is written");
        assert!(missed(&sh, folder.path()).is_err());
    }
}
