//! Flame graphs: where the core, the node and the virtual world spend their time.
//!
//! `perf` samples the benches of `cargo bench`, and inferno folds and draws the samples. Criterion runs each
//! bench for a while without analysing it. Only samples below the timed function are kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::cargo;
use crate::programs::{answers, there_or_installed};

/// The version of inferno to install if it is missing.
const INFERNO: &str = "0.12.8";

/// The profiled benches: a name, the bench of `benches/benches/times.rs`, and the function below
/// which samples are kept. The world's own function lies deeper than the stack that `perf` records.
const SUBJECTS: [(&str, &str, &str); 3] = [
    ("core", "mixed/100000", BENCHER),
    ("node", "node/100000", BENCHER),
    ("world", "sim/world/steps", "sim_world::run"),
];

/// The program of all benches, for `cargo bench`.
const BENCH: [&str; 4] = ["--package", "benches", "--bench", "times"];

/// The running time of each, in seconds.
const SECONDS: &str = "10";

/// The function of criterion that calls the timed code.
const BENCHER: &str = "criterion::bencher::Bencher";

/// The number of functions in the table for each bench.
const ROWS: usize = 12;

/// Profiles all benches, and writes the table, which names the pages.
///
/// # Errors
/// Why profiling failed.
pub(crate) fn draw(sh: &Shell, out: &mut impl Write) -> Result<()> {
    there_or_installed(sh, &["perf"], "linux-perf")?;
    let is_there = || answers(sh, "inferno-flamegraph");
    cargo::there_or_installed(sh, is_there, ("inferno", INFERNO), &[])?;
    // The build is not profiled.
    cmd!(sh, "cargo bench {BENCH...} --no-run").run()?;
    let folder = cargo::scratch(sh, "flame")?;
    for (name, bench, below) in SUBJECTS {
        let stacks = timed(&record(sh, bench, &folder)?, below);
        ensure!(!stacks.is_empty(), "perf saw nothing of `{bench}`");
        let page = folder.join(format!("{name}.svg"));
        let lines = stacks
            .iter()
            .map(|(stack, times)| format!("{stack} {times}\n"));
        let drawn = cmd!(
            sh,
            "inferno-flamegraph --title {bench} --colors rust --hash"
        )
        .stdin(lines.collect::<String>())
        .read()?;
        sh.write_file(&page, drawn)?;
        let (rows, page) = (rows(name, bench, &stacks), page.display());
        writeln!(out, "{rows}drawn in {page}\n")?;
    }
    Ok(())
}

/// Runs one bench under `perf`, and returns its samples: a line for each stack, with semicolons between its
/// calls, and its number.
fn record(sh: &Shell, bench: &str, folder: &Path) -> Result<String> {
    let data = folder.join("perf.data");
    let sampled = "--quiet --freq 997 --call-graph dwarf,16384 --output".split(' ');
    let timed = [&format!("^{bench}$"), "--profile-time", SECONDS];
    cmd!(
        sh,
        "perf record {sampled...} {data} cargo bench {BENCH...} -- {timed...}"
    )
    .ignore_stdout()
    .run()?;
    let samples = cmd!(sh, "perf script --no-inline --input {data}").read()?;
    Ok(cmd!(sh, "inferno-collapse-perf").stdin(samples).read()?)
}

/// The number of samples of each stack, from the outermost timed call to the innermost.
type Stacks = BTreeMap<String, u64>;

/// Reads folded stacks. Calls outside of the function whose name begins with `below` are left out.
fn timed(folded: &str, below: &str) -> Stacks {
    let mut stacks = Stacks::new();
    for line in folded.lines() {
        let Some((stack, times)) = line.rsplit_once(' ') else {
            continue;
        };
        let inside = stack
            .rmatch_indices(';')
            .find(|(at, _)| stack[at + 1..].starts_with(below));
        if let (Some((at, _)), Ok(times)) = (inside, times.parse::<u64>()) {
            *stacks.entry(stack[at + 1..].to_owned()).or_default() += times;
        }
    }
    stacks
}

/// The functions with the most time, by themselves and with all that they call.
fn rows(name: &str, bench: &str, stacks: &Stacks) -> String {
    let all: u64 = stacks.values().sum();
    // The samples of each function: its own, and those with all that it calls.
    let mut spent: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (stack, times) in stacks {
        let mut calls: Vec<&str> = stack.split(';').collect();
        if let Some(innermost) = calls.last() {
            spent.entry(innermost).or_default()[0] += times;
        }
        calls.sort_unstable();
        calls.dedup();
        for call in calls {
            spent.entry(call).or_default()[1] += times;
        }
    }
    let mut most: Vec<_> = spent.into_iter().filter(|(_, [own, _])| *own > 0).collect();
    most.sort_by_key(|(call, [own, _])| (std::cmp::Reverse(*own), *call));
    let share = |times: u64| 100.0 * times as f64 / all as f64;
    let mut text = format!("{name} ({bench}), {all} samples\n  itself  with calls\n");
    for (call, times) in most.into_iter().take(ROWS) {
        let [own, whole] = times.map(share);
        let _ = writeln!(text, "  {own:5.1} %     {whole:5.1} %  {call}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{BENCHER, rows, timed};

    const FOLDED: &str = "\
times-57ad;main;criterion::bencher::Bencher<M>::iter_custom;chat_core::hub::Hub::handle;memcpy 1
times-57ad;criterion::bencher::Bencher<M>::iter;chat_core::hub::Hub::handle 1
times-57ad;main;benches::population::Population::new 1
";

    #[test]
    fn stacks_begin_at_the_timed_function() {
        let stacks: Vec<_> = timed(FOLDED, BENCHER).into_iter().collect();
        let handle = "chat_core::hub::Hub::handle";
        let first = format!("{BENCHER}<M>::iter;{handle}");
        let second = format!("{BENCHER}<M>::iter_custom;{handle};memcpy");
        assert_eq!(stacks, [(first, 1), (second, 1)]);
    }

    #[test]
    fn the_table_separates_own_samples_from_those_of_callees() {
        let table = rows("core", "mixed", &timed(FOLDED, BENCHER));
        assert_eq!(
            table,
            "core (mixed), 2 samples\n  itself  with calls\n   50.0 %     100.0 %  \
             chat_core::hub::Hub::handle\n   50.0 %      50.0 %  memcpy\n"
        );
    }
}
