//! Generated mutants: `cargo mutants` changes the core in all ways that it knows, and runs the
//! core's own tests on each. The simulator runs on those that survive. Those that survive both must
//! be explained.
//!
//! A run takes hours, and can be stopped at any time: the next run continues it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::curated::HuntRequest;
use super::hunt::{self, Effort};
use super::mutant::Hunt;
use super::survivors::{self, Keys};
use crate::cargo::{self, Cargo};
use crate::workspace_copy::WorkspaceCopy;

/// The version of cargo-mutants to install if it is missing.
const VERSION: &str = "27.1.0";

/// The package that is mutated.
const PACKAGE: &str = "chat-core";

/// Exit codes of `cargo mutants` with complete results: all caught, some missed, some timed out.
const DONE: [i32; 3] = [0, 2, 3];

/// A mutant that survived the core's tests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Missed {
    name: String,
    file: String,
    /// The path of its diff, from the folder of the results.
    diff: String,
}

/// Generates mutants, hunts survivors of the tests, and compares the rest with the list. Returns
/// whether they agree.
///
/// # Errors
/// Why the run could not be done.
pub(crate) fn run(
    cargo: &Cargo,
    request: &HuntRequest,
    out: &mut impl Write,
) -> Result<bool, String> {
    let listed = survivors::load(cargo.root())?;
    cargo.there_or_installed(|| cargo.has("mutants"), ("cargo-mutants", VERSION), &[])?;
    let folder = cargo.root().join("target/mutants/generated");
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let all = survivors::keys(&names(cargo)?);
    mutate(cargo, &folder, request)?;
    let results = folder.join("mutants.out");
    let missed = missed(&read_json(&results.join("outcomes.json"))?)?;
    let survived = hunt_all(cargo, (&folder, &missed), (&all, request), out)?;
    let findings = survivors::compare(&listed, &survived, &all);
    for finding in &findings {
        writeln!(out, "{finding}").map_err(|error| error.to_string())?;
    }
    writeln!(
        out,
        "{} mutants: {} live through the core's tests, {} of them through the harness as well; \
         {} to explain",
        all.len(),
        missed.len(),
        survived.len(),
        findings.len()
    )
    .map_err(|error| error.to_string())?;
    Ok(findings.is_empty())
}

/// The names of all mutants, a line each.
fn names(cargo: &Cargo) -> Result<String, String> {
    let words = [
        "mutants",
        "--list",
        "--package",
        PACKAGE,
        "--colors",
        "never",
    ];
    let output = cargo
        .command_in(cargo.root(), &words)
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "`cargo {}` {}: {}",
            words.join(" "),
            cargo::ended(output.status),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
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
fn mutate(cargo: &Cargo, folder: &Path, request: &HuntRequest) -> Result<(), String> {
    run_pass(cargo, (folder, &[]), request, &QUICK)?;
    let hung = names_in(&folder.join("mutants.out/timeout.txt"))?;
    run_pass(cargo, (folder, &hung), request, &WHOLE)
}

/// The mutants in one of the lists that `cargo mutants` writes.
fn names_in(list: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(list)
        .map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn run_pass(
    cargo: &Cargo,
    (folder, hung): (&Path, &[String]),
    request: &HuntRequest,
    pass: &Pass,
) -> Result<(), String> {
    let jobs = request.jobs.unwrap_or(1).to_string();
    let folder = folder
        .to_str()
        .ok_or("the workspace's path is not Unicode")?;
    let mut words = vec!["mutants", "--package", PACKAGE, "--iterate"];
    words.extend(["--jobs", &jobs, "--output", folder]);
    words.extend(pass.words);
    let hung: Vec<String> = hung.iter().map(|name| exactly(name)).collect();
    words.extend(hung.iter().flat_map(|name| ["--exclude-re", name]));
    // Documentation tests repeat other tests, and need to be linked one by one.
    words.extend(["--", "--lib", "--tests", "--"]);
    words.extend(pass.test_words);
    let status = cargo
        .command_in(cargo.root(), &words)
        // Each build has its own copy of the workspace, so it needs its own target folder.
        .env_remove("CARGO_TARGET_DIR")
        // A snapshot that differs means that the mutant was caught. It must not be written.
        .env("INSTA_UPDATE", "no")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        // Shrinking a failing journal would only cost time.
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .envs(pass.environment.iter().copied())
        .status()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if status.code().is_some_and(|code| DONE.contains(&code)) {
        return Ok(());
    }
    Err(format!(
        "`cargo {}` {}; the same call goes on where it was",
        words.join(" "),
        cargo::ended(status)
    ))
}

/// A regular expression that matches exactly this text.
fn exactly(text: &str) -> String {
    let escaped = text.chars().flat_map(|c| {
        let special = r"\.+*?()|[]{}^$#&-~".contains(c);
        special.then_some('\\').into_iter().chain([c])
    });
    format!("^{}$", String::from_iter(escaped))
}

fn read_json(file: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The mutants that survived the core's tests.
fn missed(outcomes: &Value) -> Result<Vec<Missed>, String> {
    let outcomes = outcomes["outcomes"]
        .as_array()
        .ok_or("the results of cargo mutants have no outcomes")?;
    let lives = |outcome: &&Value| outcome["summary"] == "MissedMutant";
    outcomes
        .iter()
        .filter(lives)
        .map(|outcome| {
            let mutant = &outcome["scenario"]["Mutant"];
            let text = |value: &Value| value.as_str().map(str::to_owned);
            Some(Missed {
                name: text(&mutant["name"])?,
                file: text(&mutant["file"])?,
                diff: text(&outcome["diff_path"])?,
            })
        })
        .collect::<Option<_>>()
        .ok_or_else(|| "an outcome of cargo mutants has no name, file or diff".into())
}

/// Runs the simulator on each, and returns the keys of the survivors. Results of earlier hunts are
/// recalled by the mutant's diff.
fn hunt_all(
    cargo: &Cargo,
    (folder, missed): (&Path, &[Missed]),
    (all, request): (&Keys, &HuntRequest),
    out: &mut impl Write,
) -> Result<Vec<String>, String> {
    let copy = WorkspaceCopy::refresh(cargo)?;
    let mut known = Known::read(folder.join("hunted.json"));
    let effort = Effort {
        seeds: request.seeds,
        jobs: request.jobs,
    };
    let said = |error: std::io::Error| error.to_string();
    let mut survived = Vec::new();
    for (index, mutant) in missed.iter().enumerate() {
        let Some(key) = all.get(&mutant.name) else {
            return Err(format!(
                "{} is of an older core: remove {} and begin again",
                mutant.name,
                folder.display()
            ));
        };
        let diff = diff_of(&folder.join("mutants.out").join(&mutant.diff), &mutant.file)?;
        let seen = if let Some(seen) = known.by_diff.get(&diff) {
            seen.clone()
        } else {
            if std::io::stderr().is_terminal() {
                writeln!(out, "[{}/{}] {key}", index + 1, missed.len()).map_err(said)?;
            }
            let seen = hunt_one(&copy, mutant, &diff, effort)?;
            known.add(diff, seen.clone())?;
            seen
        };
        match seen {
            Some(property) => writeln!(out, "{property:<21} {key}").map_err(said)?,
            None => survived.push(key.clone()),
        }
    }
    Ok(survived)
}

/// The simulator's first finding; none if it has none.
fn hunt_one(
    copy: &WorkspaceCopy<'_>,
    mutant: &Missed,
    diff: &str,
    effort: Effort,
) -> Result<Option<String>, String> {
    let hunted = copy
        .plant(diff)
        .and_then(|()| copy.build())
        .and_then(|()| hunt::hunt(copy, &Hunt::Explore(Vec::new()), &[], effort));
    copy.restore(&mutant.file)?;
    let finds = hunted.map_err(|why| format!("{}: {why}", mutant.name))?;
    Ok(finds.into_iter().next().map(|find| find.property))
}

/// Reads a diff of cargo mutants. Its second header line names the replacement instead of the file.
fn diff_of(path: &Path, file: &str) -> Result<String, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(with_heads(&text, file))
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
    fn read(file: PathBuf) -> Self {
        let json = read_json(&file).unwrap_or(Value::Null);
        let entries = json.as_object().into_iter().flatten();
        let by_diff = entries
            .map(|(diff, seen)| (diff.clone(), seen.as_str().map(str::to_owned)))
            .collect();
        Self { file, by_diff }
    }

    fn add(&mut self, diff: String, seen: Option<String>) -> Result<(), String> {
        self.by_diff.insert(diff, seen);
        fs::write(&self.file, json!(self.by_diff).to_string())
            .map_err(|error| format!("cannot write {}: {error}", self.file.display()))
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
        assert_eq!(missed(&json!({ "outcomes": all })), Ok(vec![expected]));
        assert!(missed(&json!({})).is_err());
    }
}
