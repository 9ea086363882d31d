//! Generated mutants: `cargo mutants` changes the core in all ways that it knows, and runs the
//! core's own tests on each. The simulator runs on those that survive. Those that survive both must
//! be explained.
//!
//! A run takes hours, and can be stopped at any time: the next run continues it.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use super::MutantsWords;
use super::hunt::{self, Effort};
use super::mutant::Hunt;
use super::survivors::{self, Keys};
use crate::cargo;
use crate::workspace_copy::WorkspaceCopy;

/// The version of cargo-mutants to install if it is missing.
const VERSION: &str = "27.1.0";

/// The package that is mutated.
const PACKAGE: &str = "chat-core";

/// Exit codes of `cargo mutants` with complete results: all caught, some missed, some timed out.
const DONE: [i32; 3] = [0, 2, 3];

/// A mutant that survived the core's tests.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Missed {
    name: String,
    file: String,
    /// The path of its diff, from the folder of the results.
    #[serde(skip)]
    diff: String,
}

/// Generates mutants, hunts survivors of the tests, and compares the rest with the list. Returns
/// whether they agree.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(sh: &Shell, words: &MutantsWords, out: &mut impl Write) -> Result<bool> {
    let listed = survivors::load(sh)?;
    cargo::there_or_installed(
        sh,
        || cargo::has(sh, "mutants"),
        ("cargo-mutants", VERSION),
        &[],
    )?;
    let folder = sh.create_dir("target/mutants/generated")?;
    let all = cmd!(
        sh,
        "cargo mutants --list --package {PACKAGE} --colors never"
    )
    .read()?;
    let all = survivors::keys(&all);
    mutate(sh, &folder, words)?;
    let outcomes = sh.read_file(folder.join("mutants.out/outcomes.json"))?;
    let missed = missed(&serde_json::from_str(&outcomes)?)?;
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

/// One way to run the core's tests on the mutants that were not caught before.
struct Pass {
    environment: &'static [(&'static str, &'static str)],
    /// Arguments for `cargo mutants`.
    words: &'static [&'static str],
    /// Arguments for the test programs.
    test_words: &'static [&'static str],
}

/// A quick pass: few random journals in a build that takes half the time catch nearly all mutants.
const QUICK: Pass = Pass {
    environment: &[
        ("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
        ("PROPTEST_CASES", "12"),
    ],
    words: &["--timeout", "30"],
    test_words: &["--skip", "random_journals_reach"],
};

/// The whole pass for the rest. Mutants that hung before are not run again.
const WHOLE: Pass = Pass {
    environment: &[],
    words: &[],
    test_words: &[],
};

/// Runs the core's tests on each mutant that was not caught before.
fn mutate(sh: &Shell, folder: &Path, words: &MutantsWords) -> Result<()> {
    run_pass(sh, folder, &[], words, &QUICK)?;
    let hung = sh.read_file(folder.join("mutants.out/timeout.txt"))?;
    let hung: Vec<_> = hung.lines().map(exactly).collect();
    run_pass(sh, folder, &hung, words, &WHOLE)
}

fn run_pass(
    sh: &Shell,
    folder: &Path,
    hung: &[String],
    words: &MutantsWords,
    pass: &Pass,
) -> Result<()> {
    let jobs = words.jobs.unwrap_or(1).to_string();
    let hung = hung.iter().flat_map(|name| ["--exclude-re", name]);
    let (more, test_words) = (pass.words, pass.test_words);
    let mutants = cmd!(
        sh,
        "cargo mutants --package {PACKAGE} --iterate --jobs {jobs} --output {folder}"
    )
    .args(more)
    .args(hung)
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
    .envs(pass.environment.iter().copied());
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
fn missed(outcomes: &Value) -> Result<Vec<Missed>> {
    let outcomes = outcomes["outcomes"].as_array();
    let outcomes = outcomes.context("the results of cargo mutants have no outcomes")?;
    let lives = outcomes
        .iter()
        .filter(|outcome| outcome["summary"] == "MissedMutant");
    let missed = lives.map(|outcome| {
        let mutant: Missed = serde_json::from_value(outcome["scenario"]["Mutant"].clone())?;
        let diff = outcome["diff_path"]
            .as_str()
            .context("an outcome has no diff")?
            .to_owned();
        Ok(Missed { diff, ..mutant })
    });
    missed.collect()
}

/// Runs the simulator on each, and returns the keys of the survivors. Results of earlier hunts are
/// recalled by the mutant's diff.
fn hunt_all(
    sh: &Shell,
    (folder, missed): (&Path, &[Missed]),
    (all, words): (&Keys, &MutantsWords),
    out: &mut impl Write,
) -> Result<Vec<String>> {
    let copy = WorkspaceCopy::refresh(sh)?;
    let mut known = Known::read(sh, folder.join("hunted.json"));
    let mut survived = Vec::new();
    for (index, mutant) in missed.iter().enumerate() {
        let (name, folder) = (&mutant.name, folder.display());
        let key = all.get(name);
        let key = key.with_context(|| {
            format!("{name} is of an older core: remove {folder} and begin again")
        })?;
        // The second header line names the replacement instead of the file.
        let diff = sh.read_file(format!("{folder}/mutants.out/{}", mutant.diff))?;
        let diff = with_heads(&diff, &mutant.file);
        let seen = match known.by_diff.get(&diff) {
            Some(seen) => seen.clone(),
            None => {
                if io::stderr().is_terminal() {
                    writeln!(out, "[{}/{}] {key}", index + 1, missed.len())?;
                }
                let seen = hunt_one(&copy, mutant, &diff, Effort::of(words))?;
                known.add(sh, diff, seen.clone())?;
                seen
            }
        };
        match seen {
            Some(property) => writeln!(out, "{property:<21} {key}")?,
            None => survived.push(key.clone()),
        }
    }
    Ok(survived)
}

/// The simulator's first finding; none if it has none.
fn hunt_one(
    copy: &WorkspaceCopy,
    mutant: &Missed,
    diff: &str,
    effort: Effort,
) -> Result<Option<String>> {
    let hunted = copy
        .plant(diff)
        .and_then(|()| copy.build(&[]))
        .and_then(|()| hunt::hunt(copy, &Hunt::Explore(Vec::new()), &[], effort));
    copy.restore(&mutant.file)?;
    let finds = hunted.with_context(|| mutant.name.clone())?;
    Ok(finds.into_iter().next().map(|find| find.property))
}

fn with_heads(diff: &str, file: &str) -> String {
    let hunks = diff.find("\n@@").map_or("", |place| &diff[place + 1..]);
    format!("--- a/{file}\n+++ b/{file}\n{hunks}")
}

/// Recorded results of earlier hunts, by diff.
struct Known {
    file: PathBuf,
    by_diff: BTreeMap<String, Option<String>>,
}

impl Known {
    /// Reads the record; empty if the file is missing or invalid.
    fn read(sh: &Shell, file: PathBuf) -> Self {
        let text = sh.read_file(&file).unwrap_or_default();
        let by_diff = serde_json::from_str(&text).unwrap_or_default();
        Self { file, by_diff }
    }

    fn add(&mut self, sh: &Shell, diff: String, seen: Option<String>) -> Result<()> {
        self.by_diff.insert(diff, seen);
        Ok(sh.write_file(&self.file, json!(self.by_diff).to_string())?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Missed, exactly, missed, with_heads};

    #[test]
    fn excluded_names_are_matched_exactly() {
        assert_eq!(
            exactly("a.rs:1:2: replace >= with Vec<(T)> in é"),
            r"^a\.rs:1:2: replace >= with Vec<\(T\)> in é$"
        );
    }

    #[test]
    fn a_diff_gets_heads_that_git_knows() {
        let diff = "--- core/src/a.rs\n+++ replace a with b\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(
            with_heads(diff, "core/src/a.rs"),
            "--- a/core/src/a.rs\n+++ b/core/src/a.rs\n@@ -1 +1 @@\n-a\n+b\n"
        );
    }

    #[test]
    fn surviving_mutants_are_those_missed() {
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
        let expected = Missed {
            name: "b".into(),
            file: "core/src/a.rs".into(),
            diff: "diff/a.diff".into(),
        };
        let found = missed(&json!({ "outcomes": all })).expect("outcomes");
        assert_eq!(found, [expected]);
        assert!(missed(&json!({})).is_err());
    }
}
