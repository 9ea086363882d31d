//! Counts instructions and compares them with the committed baseline, `benches/baseline.json`.
//!
//! One build gives the same counts on a busy machine as on an idle one. `benches/benches/counts.rs`
//! defines what is counted, and how.

mod verdict;

use std::io::Write;

use anyhow::{Context as _, Result};
use clap::Args;
use xshell::Shell;

use crate::bench::verdict::{Baseline, CountVerdict};
use crate::outcome::{none_of, skipped};

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
}

/// The step `bench`: fails if a count exceeds the baseline by more than the tolerance.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
pub(crate) fn check(sh: &Shell) -> Result<()> {
    verdict::ready(sh).map_err(skipped)?;
    let verdict = CountVerdict::new(&before(sh)?, &Baseline::count(sh)?);
    eprint!("{}{}", verdict.summary, verdict.fewer);
    none_of(&verdict.findings)
}

/// Counts, and prints the table; or makes the counts the baseline.
///
/// # Errors
/// The violations, or why it could not be done.
pub(crate) fn run(sh: &Shell, words: &BenchWords, out: &mut impl Write) -> Result<()> {
    verdict::ready(sh)?;
    let before = before(sh);
    if words.accept {
        let now = Baseline::count(sh)?;
        // The first baseline has no previous one.
        let verdict = CountVerdict::new(before.as_ref().unwrap_or(&now), &now);
        sh.write_file(BASELINE, serde_json::to_string_pretty(&now)? + "\n")?;
        return Ok(write!(out, "{}{}", verdict.table, verdict.summary)?);
    }
    let verdict = CountVerdict::new(&before?, &Baseline::count(sh)?);
    let (table, summary, fewer) = (verdict.table, verdict.summary, verdict.fewer);
    write!(out, "{table}{summary}{fewer}")?;
    none_of(&verdict.findings)
}

/// The committed baseline.
fn before(sh: &Shell) -> Result<Baseline> {
    serde_json::from_str(&sh.read_file(BASELINE)?).context(BASELINE)
}
