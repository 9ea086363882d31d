//! Counts instructions and compares them with the committed baseline, `benches/baseline.json`.
//!
//! One build gives the same counts on a busy machine as on an idle one. `benches/benches/counts.rs`
//! defines what is counted, and how.

mod chart;
mod flame;
mod growth;
mod verdict;

use std::io::Write;

use anyhow::{Context as _, Result};
use clap::Args;
use xshell::Shell;

use crate::bench::verdict::{Baseline, CountVerdict};
use crate::outcome::{none_of, skipped};

pub(crate) use flame::draw as draw_flames;
pub(crate) use growth::measure as measure_growth;
pub(crate) use verdict::thousands;

/// The path of the baseline.
const BASELINE: &str = "benches/baseline.json";

/// Count the instructions of the core's commands, the node and the virtual world
///
/// They are compared with benches/baseline.json. Exit code 1: a count grew by more than 2 %. Counting needs
/// no idle machine.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct BenchWords {
    /// Compare with the baseline, which is the default
    #[arg(long)]
    pub(crate) compare: bool,
    /// Write a new baseline, to be committed with the change that caused it
    #[arg(long)]
    pub(crate) accept: bool,
    /// Measure all costs from a thousand participants to a million, and name those that grow faster than a
    /// logarithm; the times need an idle machine
    #[arg(long)]
    pub(crate) growth: bool,
    /// Profile the core, the node and the virtual world with perf for ten seconds each, and draw a flame
    /// graph of each
    #[arg(long)]
    pub(crate) flame: bool,
}

/// The step `bench`: fails if a count exceeds the baseline by more than the tolerance.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
pub(crate) fn check(sh: &Shell) -> Result<()> {
    verdict::ready(sh).map_err(skipped)?;
    let verdict = CountVerdict::new(before(sh)?, Baseline::count(sh)?);
    eprint!("{}{}", verdict.summary(), verdict.fewer());
    none_of(&verdict.findings())
}

/// Counts, and prints the table. Returns whether the verdict is good.
///
/// # Errors
/// Why it could not be done.
pub(crate) fn compare(sh: &Shell, out: &mut impl Write) -> Result<bool> {
    verdict::ready(sh)?;
    let verdict = CountVerdict::new(before(sh)?, Baseline::count(sh)?);
    let findings = verdict.findings();
    let (table, summary, fewer) = (verdict.table(), verdict.summary(), verdict.fewer());
    writeln!(out, "{table}{summary}{fewer}{}", findings.join("\n"))?;
    Ok(findings.is_empty())
}

/// Counts, and writes the counts as the baseline. Compares them with the previous one for the
/// table.
///
/// # Errors
/// Why it could not be done.
pub(crate) fn accept(sh: &Shell, out: &mut impl Write) -> Result<()> {
    verdict::ready(sh)?;
    let now = Baseline::count(sh)?;
    // The first baseline has no previous one.
    let before = before(sh).unwrap_or_else(|_| now.clone());
    sh.write_file(BASELINE, serde_json::to_string_pretty(&now)? + "\n")?;
    let verdict = CountVerdict::new(before, now);
    write!(out, "{}{}", verdict.table(), verdict.summary())?;
    Ok(())
}

/// The committed baseline.
fn before(sh: &Shell) -> Result<Baseline> {
    serde_json::from_str(&sh.read_file(BASELINE)?).context(BASELINE)
}
