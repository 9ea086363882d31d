//! Counts instructions, for which gungraun runs each bench once inside valgrind, and compares the counts
//! with the baseline: the table, and the violations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::programs::{from_cargo, there_or_installed};
use crate::workspace_copy::{SELECTED, WorkspaceCopy};

/// The tolerated change of a count, in thousandths.
const TOLERATED: u64 = 20;

/// How to accept a change.
const ACCEPT: &str = "`cargo xtask bench --accept`, and commit benches/baseline.json with the \
                      change that it comes from";

/// What counts come to beside the baseline.
#[derive(Debug)]
pub(crate) struct CountVerdict {
    /// A line for each count.
    pub(crate) table: String,
    /// The largest change, and what is different on this machine.
    pub(crate) summary: String,
    /// The counts that fell, which is no violation.
    pub(crate) fewer: String,
    /// The violations, a line each.
    pub(crate) findings: Vec<String>,
}

impl CountVerdict {
    /// Compares two baselines.
    pub(crate) fn new(before: &Baseline, now: &Baseline) -> Self {
        let (what, ratio) = ("instructions", "ratio");
        let mut table = format!("{what:<34} {:>14} {:>14} {ratio:>8}\n", "baseline", "now");
        let (mut findings, mut fewer, mut largest) = (Vec::new(), Vec::new(), None);
        let names = before.instructions.keys().chain(now.instructions.keys());
        let names: BTreeSet<&String> = names.collect();
        for name in &names {
            let counts = [before, now].map(|of| of.instructions.get(*name).copied());
            let [was, is] = counts.map(|count| count.map_or("–".to_owned(), thousands));
            let mut ratio = "–".to_owned();
            let mark = match counts {
                [None, _] => {
                    findings.push(format!("{name}: it has no baseline"));
                    "  new"
                }
                [_, None] => {
                    findings.push(format!("{name}: it is not counted any more"));
                    "  gone"
                }
                [Some(before), Some(now)] => {
                    let factor = now as f64 / before as f64;
                    let percent = (factor - 1.0) * 100.0;
                    let tolerated = before * TOLERATED;
                    ratio = format!("{factor:.4}");
                    if largest.is_none_or(|(other, _): (f64, _)| other.abs() <= percent.abs()) {
                        largest = Some((percent, name));
                    }
                    if now * 1_000 > before * 1_000 + tolerated {
                        findings.push(format!(
                            "{name}: {percent:.1} % more instructions ({was} → {is})"
                        ));
                        "  more"
                    } else if now * 1_000 + tolerated < before * 1_000 {
                        fewer.push(name.as_str());
                        "  fewer"
                    } else {
                        ""
                    }
                }
            };
            let _ = writeln!(table, "{name:<34} {was:>14} {is:>14} {ratio:>8}{mark}");
        }
        let machines = [&before.made_with, &now.made_with];
        let elsewhere = differences(machines, &["valgrind", "libc", "cpu"]);
        let note = |why| format!("note: the baseline was made elsewhere: {why}\n");
        let mut summary = elsewhere.as_ref().map(note).unwrap_or_default();
        if let Some((percent, name)) = largest {
            let (counted, change) = (names.len(), format!("{percent:+.2} % ({name})"));
            summary += &format!("{counted} counted; the largest change is {change}\n");
        }
        let fewer = match fewer.is_empty() {
            true => String::new(),
            false => format!(
                "fewer instructions: {}; keep it so: {ACCEPT}\n",
                fewer.join(", ")
            ),
        };
        if !findings.is_empty() {
            let machine = elsewhere.iter();
            findings.extend(machine.map(|why| format!("it may come from the machine: {why}")));
            findings.push(format!("mend it, or accept it: {ACCEPT}"));
        }
        if let Some(why) = differences(machines, &["target", "rustc"]) {
            findings = vec![format!("the baseline says nothing here: {why}; {ACCEPT}")];
        }
        Self {
            table,
            summary,
            fewer,
            findings,
        }
    }
}

/// What differs of these properties, there and here.
fn differences([there, here]: [&Machine; 2], properties: &[&str]) -> Option<String> {
    let other = properties
        .iter()
        .filter(|what| there.get(**what) != here.get(**what));
    let told = other.map(|what| {
        let [there, here] = [there, here].map(|of| of.get(*what).cloned().unwrap_or_default());
        format!("{what} {there} there, {here} here")
    });
    let told: Vec<_> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// A number with a comma after each three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev();
    let parts: Vec<_> = parts.map(String::from_utf8_lossy).collect();
    parts.join(",")
}

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
    from_cargo(sh, has_runner, ("gungraun-runner", RUNNER), &[])
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
            copy.sh,
            "cargo bench {SELECTED...} --bench counts -- {counted...}"
        );
        let said = count.to_string();
        let output = count.ignore_status().output()?;
        if !output.status.success() {
            let (told, status) = (String::from_utf8_lossy(&output.stderr), output.status);
            bail!("{told}\n`{said}`: {status}");
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
    use super::{Baseline, CountVerdict, RUNNER, features, read, thousands};

    fn counted(counts: &[(&str, u64)]) -> Baseline {
        let of = |text: &str| text.to_owned();
        let made_with = [
            ("rustc", "1.95.0"),
            ("target", "x86_64-unknown-linux-gnu"),
            ("valgrind", "3.19.0"),
            ("libc", "glibc 2.36"),
            ("cpu", "avx2"),
        ];
        Baseline {
            made_with: made_with.map(|(name, what)| (of(name), of(what))).into(),
            instructions: (counts.iter())
                .map(|(name, count)| (of(name), *count))
                .collect(),
        }
    }

    fn verdict(before: &[(&str, u64)], now: &[(&str, u64)]) -> CountVerdict {
        CountVerdict::new(&counted(before), &counted(now))
    }

    #[test]
    fn a_growth_of_up_to_two_percent_is_tolerated() {
        let findings = |now| verdict(&[("world", 1_000_000)], &[("world", now)]).findings;
        assert_eq!([1_000_000, 1_020_000].map(findings), [[""; 0], [""; 0]]);
        let found = findings(1_050_000);
        let told = "world: 5.0 % more instructions (1,000,000 → 1,050,000)";
        assert_eq!(found[0], told);
        assert!(found[1].contains("cargo xtask bench --accept"), "{found:?}");
    }

    #[test]
    fn a_lower_count_is_reported_and_passes() {
        let verdict = verdict(&[("world", 100_000)], &[("world", 97_000)]);
        assert_eq!(verdict.findings, [""; 0]);
        assert!(verdict.fewer.contains("fewer instructions: world;"));
    }

    #[test]
    fn a_new_or_missing_benchmark_must_be_accepted() {
        let found = verdict(&[("a", 1), ("c", 1)], &[("b", 1), ("c", 1)]).findings;
        let told = ["a: it is not counted any more", "b: it has no baseline"];
        assert_eq!(found[..2], told);
    }

    #[test]
    fn another_compiler_or_libc_is_reported() {
        for (name, version, count, place, told) in [
            ("rustc", "1.96.0", 100, 0, "rustc 1.95.0 there, 1.96.0 here"),
            ("libc", "glibc 2.40", 110, 1, "it may come from the machine"),
        ] {
            let (before, mut now) = (counted(&[("a", 100)]), counted(&[("a", count)]));
            now.made_with.insert(name.into(), version.into());
            let found = CountVerdict::new(&before, &now).findings;
            assert!(found[place].contains(told), "{found:?}");
        }
        let (before, mut now) = (counted(&[("a", 100)]), counted(&[("a", 100)]));
        now.made_with.insert("libc".into(), "glibc 2.40".into());
        let verdict = CountVerdict::new(&before, &now);
        assert_eq!(verdict.findings, [""; 0]);
        assert!(verdict.summary.contains("libc glibc 2.36 there"));
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let told = [1, 999, 1_000, 1_234_567].map(thousands);
        assert_eq!(told, ["1", "999", "1,000", "1,234,567"]);
    }

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
