//! How instructions are counted: gungraun runs each bench once, inside valgrind.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cargo::{Cargo, ended};
use crate::programs::there_or_installed;
use crate::workspace_copy::{SELECTED, WorkspaceCopy};

/// The version of gungraun's runner. It must equal that of the library in `Cargo.toml`.
const RUNNER: &str = "0.20.0";

/// Processor features on which libraries choose between implementations.
const FEATURES: [&str; 6] = ["avx2", "avx512f", "bmi2", "erms", "fsrm", "sse4_2"];

/// Properties of the machine on which counts depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) rustc: String,
    pub(crate) target: String,
    pub(crate) valgrind: String,
    pub(crate) libc: String,
    pub(crate) cpu: String,
}

impl Machine {
    /// Reads the properties of this machine.
    ///
    /// # Errors
    /// A program or file that does not report its version.
    pub(crate) fn look() -> Result<Self, String> {
        let rustc = said(Command::new("rustc").arg("-vV"))?;
        let line = |key: &str| {
            let found = rustc.lines().find_map(|line| line.strip_prefix(key));
            found
                .map(str::to_owned)
                .ok_or(format!("rustc says no {key}"))
        };
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Ok(Self {
            rustc: line("release: ")?,
            target: line("host: ")?,
            valgrind: said(Command::new("valgrind").arg("--version"))?,
            libc: said(Command::new("getconf").arg("GNU_LIBC_VERSION"))
                .unwrap_or_else(|_| "unknown".into()),
            cpu: features(&info),
        })
    }
}

/// Those of `FEATURES` that the system lists.
fn features(info: &str) -> String {
    let line = info.lines().find(|line| line.starts_with("flags"));
    let there: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    let known = FEATURES.iter().filter(|feature| there.contains(feature));
    known.copied().collect::<Vec<_>>().join(" ")
}

/// The output of a program, trimmed.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{name}` did not start: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

/// Checks that valgrind and the runner are installed in the right version, and installs them
/// otherwise.
///
/// # Errors
/// Why they cannot be installed.
pub(crate) fn ready(cargo: &Cargo) -> Result<(), String> {
    there_or_installed(&["valgrind"], &["valgrind"])?;
    let runner = ("gungraun-runner", RUNNER);
    cargo.there_or_installed(|| has_runner(cargo), runner, &[])
}

fn has_runner(cargo: &Cargo) -> bool {
    let mut list = cargo.command_in(cargo.root(), &["install", "--list"]);
    let wanted = format!("gungraun-runner v{RUNNER}:");
    said(&mut list).is_ok_and(|said| said.lines().any(|line| line == wanted))
}

/// Counts everything, and returns instructions by name.
///
/// # Errors
/// Why counting failed.
pub(crate) fn count(cargo: &Cargo) -> Result<BTreeMap<String, u64>, String> {
    // Counts of an earlier run must not mix with those of this one.
    let home = cargo.scratch()?.join("gungraun");
    match fs::remove_dir_all(&home) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("{}: {error}", home.display()));
        }
        Ok(()) | Err(_) => {}
    }
    let home = format!("--home={}", home.display());
    let counted = [
        "--bench",
        "counts",
        "--",
        "--output-format=json",
        "--nosummary",
        "--parallel=2",
        &home,
    ];
    // The other steps have built the simulator with this profile. A release build would take minutes
    // and change the counts by few percent.
    let words = [&["bench"], &SELECTED[..], &counted].concat();
    let output = WorkspaceCopy::refresh(cargo)?
        .command(&words)
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let ended = ended(output.status);
        return Err(format!("{told}\n`cargo {}` {ended}", words.join(" ")));
    }
    let counts: BTreeMap<String, u64> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(read)
        .collect::<Result<_, _>>()?;
    match counts.iter().find(|(_, count)| **count == 0) {
        _ if counts.is_empty() => Err("nothing was counted".into()),
        Some((name, _)) => Err(format!("{name}: the function to be counted was not found")),
        None => Ok(counts),
    }
}

/// Reads the name and the instructions of one bench from the runner's output.
fn read(line: &str) -> Result<(String, u64), String> {
    let all: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let function = all["function_name"].as_str().ok_or("a bench has no name")?;
    let name = match all["id"].as_str() {
        Some(id) => format!("{function}/{id}"),
        None => function.to_owned(),
    };
    let profiles = all["profiles"].as_array().into_iter().flatten();
    let count = profiles
        .filter_map(|profile| profile["data"]["total"]["metrics"]["Ir"]["values"]["new"].as_u64())
        .next();
    Ok((name, count.ok_or("a bench was not counted")?))
}

#[cfg(test)]
mod tests {
    use super::{RUNNER, features, read};

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
        let named = read(&line(r#""id": "login","#));
        assert_eq!(named, Ok(("command/login".to_owned(), 651_141)));
        assert_eq!(read(&line("")), Ok(("command".to_owned(), 651_141)));
        assert!(read("{}").is_err());
    }

    #[test]
    fn only_features_that_count_are_noted() {
        let info = "model name : x\nflags\t: fpu sse4_2 avx2 avx bmi2\nflags : erms\n";
        assert_eq!(features(info), "avx2 bmi2 sse4_2");
        assert_eq!(features(""), "");
    }
}
