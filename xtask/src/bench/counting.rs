//! How instructions are counted: gungraun runs each bench once, inside valgrind.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::programs::there_or_installed;
use crate::workspace_copy::{SELECTED, WorkspaceCopy};

/// The version of gungraun's runner. It must equal that of the library in `Cargo.toml`.
const RUNNER: &str = "0.20.0";

/// Processor features on which libraries choose between implementations.
const FEATURES: [&str; 6] = ["avx2", "avx512f", "bmi2", "erms", "fsrm", "sse4_2"];

/// Instructions by name, and the machine that counted them. Its form is that of the committed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    pub(crate) instructions: BTreeMap<String, u64>,
    pub(crate) made_with: Machine,
}

/// Properties of the machine on which counts depend, by name.
pub(crate) type Machine = BTreeMap<String, String>;

/// Reads the properties of this machine.
fn machine(sh: &Shell) -> Result<Machine> {
    let rustc = cmd!(sh, "rustc -vV").read()?;
    let line = |key: &str| {
        let found = rustc.lines().find_map(|line| line.strip_prefix(key));
        found
            .map(str::to_owned)
            .with_context(|| format!("rustc says no {key}"))
    };
    let libc = cmd!(sh, "getconf GNU_LIBC_VERSION").read();
    let cpu = features(&sh.read_file("/proc/cpuinfo").unwrap_or_default());
    let properties = [
        ("cpu", cpu),
        ("libc", libc.unwrap_or_else(|_| "unknown".into())),
        ("rustc", line("release: ")?),
        ("target", line("host: ")?),
        ("valgrind", cmd!(sh, "valgrind --version").read()?),
    ];
    Ok(properties
        .map(|(name, what)| (name.to_owned(), what))
        .into())
}

/// Those of `FEATURES` that the system lists.
fn features(info: &str) -> String {
    let line = info.lines().find(|line| line.starts_with("flags"));
    let there: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    let known = FEATURES.iter().filter(|feature| there.contains(feature));
    known.copied().collect::<Vec<_>>().join(" ")
}

/// Checks that valgrind and the runner are installed in the right version, and installs them
/// otherwise.
///
/// # Errors
/// Why they cannot be installed.
pub(crate) fn ready(sh: &Shell) -> Result<()> {
    there_or_installed(sh, &["valgrind"], "valgrind")?;
    let wanted = format!("gungraun-runner v{RUNNER}:");
    let has_runner = || {
        let list = cmd!(sh, "cargo install --list").read();
        list.is_ok_and(|list| list.lines().any(|line| line == wanted))
    };
    cargo::there_or_installed(sh, has_runner, ("gungraun-runner", RUNNER), &[])
}

impl Baseline {
    /// Counts everything.
    ///
    /// # Errors
    /// Why counting failed.
    pub(crate) fn count(sh: &Shell) -> Result<Self> {
        // Counts of an earlier run must not mix with those of this one.
        let home = cargo::empty_scratch(sh, "gungraun")?;
        let home = format!("--home={}", home.display());
        let copy = WorkspaceCopy::refresh(sh)?;
        // The other steps have built the simulator with this profile. A release build would take minutes
        // and change the counts by few percent.
        let counted = ["--output-format=json", "--nosummary", "--parallel=2", &home];
        let count = cmd!(
            copy.sh(),
            "cargo bench {SELECTED...} --bench counts -- {counted...}"
        );
        let said = count.to_string();
        let output = count.ignore_status().output()?;
        if !output.status.success() {
            bail!(
                "{}\n`{said}`: {}",
                String::from_utf8_lossy(&output.stderr),
                output.status
            );
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let lines = said.lines().filter(|line| line.starts_with('{'));
        let instructions: BTreeMap<_, _> = lines.map(read).collect::<Result<_>>()?;
        ensure!(!instructions.is_empty(), "nothing was counted");
        if let Some((name, _)) = instructions.iter().find(|(_, count)| **count == 0) {
            bail!("{name}: the function to be counted was not found");
        }
        Ok(Self {
            instructions,
            made_with: machine(sh)?,
        })
    }
}

/// Reads the name and the instructions of one bench from the runner's output.
fn read(line: &str) -> Result<(String, u64)> {
    let all: Value = serde_json::from_str(line)?;
    let function = all["function_name"]
        .as_str()
        .context("a bench has no name")?;
    let name = match all["id"].as_str() {
        Some(id) => format!("{function}/{id}"),
        None => function.to_owned(),
    };
    let profiles = all["profiles"].as_array().into_iter().flatten();
    let mut counts = profiles
        .filter_map(|profile| profile["data"]["total"]["metrics"]["Ir"]["values"]["new"].as_u64());
    Ok((name, counts.next().context("a bench was not counted")?))
}

#[cfg(test)]
mod tests {
    use super::{Baseline, RUNNER, features, read};

    #[test]
    fn the_runner_is_of_the_version_of_the_library() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("gungraun = \"={RUNNER}\"\n")));
    }

    #[test]
    fn a_count_is_read_with_its_name() {
        let line = |id| {
            format!(
                r#"{{"function_name": "command", {id} "profiles": [{{"data": {{"total":
                {{"metrics": {{"Ir": {{"values": {{"new": 651141}}}}}}}}}}}}]}}"#
            )
        };
        let named = read(&line(r#""id": "login","#)).expect("a count");
        assert_eq!(named, ("command/login".to_owned(), 651_141));
        let named = read(&line("")).expect("a count");
        assert_eq!(named, ("command".to_owned(), 651_141));
        assert!(read("{}").is_err());
    }

    #[test]
    fn the_committed_baseline_reads_back_as_written() {
        let committed = include_str!("../../../benches/baseline.json");
        let read: Baseline = serde_json::from_str(committed).expect("it is a baseline");
        let written = serde_json::to_string_pretty(&read).expect("it is JSON");
        assert_eq!(written + "\n", committed);
    }

    #[test]
    fn only_features_that_count_are_noted() {
        let info = "model name : x\nflags\t: fpu sse4_2 avx2 avx bmi2\nflags : erms\n";
        assert_eq!(features(info), "avx2 bmi2 sse4_2");
        assert_eq!(features(""), "");
    }
}
