//! Flame graphs: where the core, the node and the virtual world spend their time.
//!
//! `perf` samples the benches of `cargo bench`, and inferno draws the samples. Criterion runs each
//! bench for a while without analysing it. Only samples below the timed function are kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cargo::{Cargo, ended};
use crate::programs::{answers_to, run, there_or_installed};

/// The version of inferno to install if it is missing.
const INFERNO: &str = "0.12.8";

/// The profiled benches: a name, the bench of `benches/benches/times.rs`, and the function below
/// which samples are kept. The world's own function lies deeper than the stack that `perf` records.
const SUBJECTS: [(&str, &str, &str); 3] = [
    ("core", "mixed/100000", BENCHER),
    ("node", "node/100000", BENCHER),
    ("world", "sim/world/steps", "sim::world::run"),
];

/// The running time of each, in seconds.
const SECONDS: &str = "10";

/// The function of criterion that calls the timed code.
const BENCHER: &str = "criterion::bencher::Bencher";

/// The number of functions in the table for each bench.
const ROWS: usize = 12;

/// Profiles all benches. Returns the table, which names the pages.
///
/// # Errors
/// Why profiling failed.
pub(crate) fn draw(cargo: &Cargo) -> Result<String, String> {
    there_or_installed(&["perf"], &["linux-perf"])?;
    cargo.there_or_installed(is_there, ("inferno", INFERNO), &[])?;
    let program = build(cargo)?;
    let folder = cargo.scratch()?.join("flame");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut table = String::new();
    for (name, bench, below) in SUBJECTS {
        let stacks = timed(&record(&program, bench, &folder)?, below);
        if stacks.is_empty() {
            return Err(format!("perf saw nothing of `{bench}`"));
        }
        let page = folder.join(format!("{name}.svg"));
        paint(&stacks, bench, &folder, &page)?;
        table.push_str(&rows(name, bench, &stacks));
        let _ = writeln!(table, "drawn in {}\n", page.display());
    }
    Ok(table)
}

/// Whether inferno is installed. It does not report a version.
fn is_there() -> bool {
    answers_to("inferno-flamegraph", "--help")
}

/// Builds the benches as `cargo bench` does. Returns the path of the program.
fn build(cargo: &Cargo) -> Result<PathBuf, String> {
    let mut words = vec!["bench", "--package", "benches", "--bench", "times"];
    words.extend(["--no-run", "--message-format", "json"]);
    let output = cargo
        .command_in(cargo.root(), &words)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "`cargo {}` {}",
            words.join(" "),
            ended(output.status)
        ));
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "times")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| "cargo does not say where the benches are".into())
}

/// Runs one bench under `perf`, and returns the output of `perf script`.
fn record(program: &Path, bench: &str, folder: &Path) -> Result<String, String> {
    let data = folder.join("perf.data");
    run(Command::new("perf")
        .args([
            "record",
            "--quiet",
            "--freq",
            "997",
            "--call-graph",
            "dwarf,16384",
        ])
        .arg("--output")
        .arg(&data)
        .arg(program)
        .args(["--bench", &format!("^{bench}$"), "--profile-time", SECONDS])
        .stdout(Stdio::null()))?;
    let output = Command::new("perf")
        .args([
            "script",
            "--no-inline",
            "--fields",
            "comm,ip,sym",
            "--input",
        ])
        .arg(&data)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`perf script` did not start: {error}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`perf script` {}: {told}", ended(output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number of samples of each stack, from the outermost timed call to the innermost.
type Stacks = BTreeMap<Vec<String>, u64>;

/// Reads the output of `perf script`: a line for each sample, followed by a line for each call, the
/// innermost first. Calls outside of the function whose name begins with `below` are left out.
fn timed(script: &str, below: &str) -> Stacks {
    let mut stacks = Stacks::new();
    for sample in script.split("\n\n") {
        let calls = sample.trim_start().lines().skip(1);
        let symbols = calls.filter_map(|line| line.trim().split_once(' '));
        let mut stack: Vec<String> = Vec::new();
        for (_, symbol) in symbols {
            stack.push(symbol.to_owned());
            if symbol.starts_with(below) {
                stack.reverse();
                *stacks.entry(stack).or_default() += 1;
                break;
            }
        }
    }
    stacks
}

/// Draws the stacks by inferno.
fn paint(stacks: &Stacks, title: &str, folder: &Path, page: &Path) -> Result<(), String> {
    let folded = folder.join("folded.txt");
    let mut text = String::new();
    for (stack, times) in stacks {
        // Semicolons separate the calls.
        let calls: Vec<String> = stack.iter().map(|call| call.replace(';', ":")).collect();
        let _ = writeln!(text, "{} {times}", calls.join(";"));
    }
    fs::write(&folded, text).map_err(|error| format!("{}: {error}", folded.display()))?;
    let file = File::create(page).map_err(|error| format!("{}: {error}", page.display()))?;
    run(Command::new("inferno-flamegraph")
        .args(["--title", title, "--colors", "rust", "--hash"])
        .arg(&folded)
        .stdout(file))
}

/// The functions with the most time, by themselves and with all that they call.
fn rows(name: &str, bench: &str, stacks: &Stacks) -> String {
    let all: u64 = stacks.values().sum();
    let (mut own, mut with_calls) = (BTreeMap::new(), BTreeMap::new());
    for (stack, times) in stacks {
        if let Some(innermost) = stack.last() {
            *own.entry(innermost.as_str()).or_insert(0) += times;
        }
        let mut calls: Vec<&str> = stack.iter().map(String::as_str).collect();
        calls.sort_unstable();
        calls.dedup();
        for call in calls {
            *with_calls.entry(call).or_insert(0) += times;
        }
    }
    let mut most: Vec<(&str, u64)> = own.iter().map(|(call, times)| (*call, *times)).collect();
    most.sort_by_key(|(call, times)| (std::cmp::Reverse(*times), *call));
    let share = |times: u64| 100.0 * times as f64 / all as f64;
    let mut text = format!("{name} ({bench}), {all} samples\n  itself  with calls\n");
    for (call, times) in most.into_iter().take(ROWS) {
        let whole = with_calls.get(call).copied().unwrap_or_default();
        let _ = writeln!(
            text,
            "  {:5.1} %     {:5.1} %  {call}",
            share(times),
            share(whole)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{BENCHER, rows, timed};

    const SCRIPT: &str = "\
times-57ad\n\t\tf1 memcpy\n\t\tf2 chat_core::hub::Hub::handle\n\t\tf3 \
criterion::bencher::Bencher<M>::iter_custom\n\t\tf4 main\n\ntimes-57ad\n\t\tf2 \
chat_core::hub::Hub::handle\n\t\tf3 criterion::bencher::Bencher<M>::iter\n\ntimes-57ad\n\t\tf9 \
benches::population::Population::new\n\t\tf4 main\n\n";

    #[test]
    fn stacks_begin_at_the_timed_function() {
        let stacks: Vec<_> = timed(SCRIPT, BENCHER).into_iter().collect();
        let handle = "chat_core::hub::Hub::handle";
        let first = [format!("{BENCHER}<M>::iter"), handle.to_owned()];
        let second = [format!("{BENCHER}<M>::iter_custom"), handle.to_owned()];
        let second = [second.as_slice(), &["memcpy".to_owned()]].concat();
        assert_eq!(stacks, [(first.to_vec(), 1), (second, 1)]);
    }

    #[test]
    fn the_table_separates_own_samples_from_those_of_callees() {
        let table = rows("core", "mixed", &timed(SCRIPT, BENCHER));
        assert_eq!(
            table,
            "core (mixed), 2 samples\n  itself  with calls\n   50.0 %     100.0 %  \
             chat_core::hub::Hub::handle\n   50.0 %      50.0 %  memcpy\n"
        );
    }
}
