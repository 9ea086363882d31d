//! Runs all checks of the project: `cargo xtask test`.
//!
//! `steps.rs` lists the checks, and each has its own file. `cargo xtask mutants` tests the checks themselves:
//! see `mutants.rs`.

mod apart;
mod bench;
mod book;
mod browser;
mod cargo;
mod clients;
mod cluster;
mod command_line;
mod deny;
mod deploy;
mod determinism;
mod live;
mod mutants;
mod outcome;
mod package;
mod postgres;
mod programs;
mod run;
mod scenarios;
mod server;
mod sim;
mod steps;
mod tidy;
mod unit;
mod workspace_copy;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;
use xshell::{Shell, cmd};

use crate::apart::Apart;
use crate::bench::BenchWords;
use crate::cluster::ClusterWords;
use crate::command_line::{CommandLine, Word};
use crate::mutants::MutantsWords;
use crate::outcome::{Outcome, Strictness};
use crate::steps::{STEPS, Step};

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn main() -> ExitCode {
    let word = CommandLine::parse().word;
    match cargo::shell().and_then(|sh| perform(word, &sh)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the words say. Returns whether all is well.
#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
fn perform(word: Word, sh: &Shell) -> Result<bool> {
    match word {
        Word::Test { list: true, .. } => print!("{}", command_line::list()),
        Word::Test { only, .. } => return test(&only, sh),
        Word::Step { step, outcome } => {
            let ended = Outcome::from((step.run)(sh));
            fs::write(outcome, serde_json::to_vec(&ended)?)?;
        }
        Word::Race => mutants::show_race(sh)?,
        Word::Mutants(words) => return mutate(&words, sh),
        Word::Bench(words) => return count(&words, sh),
        Word::Load { what } => load(&what, sh)?,
        Word::Cluster(words) => fail(&words, sh)?,
        Word::Book => println!("{}", book::build(sh)?.join("index.html").display()),
        Word::Package => println!("{}", package::make(sh)?.display()),
    }
    Ok(true)
}

/// Runs these steps, or all if there are none, and prints the summary.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn test(only: &[Step], sh: &Shell) -> Result<bool> {
    let is_wanted = |step: &Step| only.is_empty() || only.contains(step);
    let steps: Vec<_> = STEPS.into_iter().filter(is_wanted).collect();
    let apart = Apart::new(sh)?;
    let mut out = io::stdout();
    if let Some(warning) = run::warning(&steps, sh) {
        eprintln!("{warning}");
    }
    let run = |step: Step| Outcome::from((step.run)(sh));
    let report = run::all(&steps, &mut out, run, |step| apart.run(step))?;
    Ok(report.write(&mut out, Strictness::from_environment())?)
}

/// Runs or lists mutants.
fn mutate(words: &MutantsWords, sh: &Shell) -> Result<bool> {
    let (which, out) = (&words.which, &mut io::stdout());
    if let Some(jobs) = words.jobs {
        sh.set_var("SIM_JOBS", jobs.to_string());
    }
    if which.list {
        mutants::list(sh, out).map(|()| true)
    } else if which.generated {
        mutants::run_generated(sh, words, out)
    } else if which.cluster {
        mutants::run_processes(sh, out)
    } else if which.live {
        mutants::run_live(sh, out)
    } else if which.table {
        mutants::write_table(sh, words, out)
    } else {
        mutants::run(sh, words, out)
    }
}

/// Counts, compares, or draws.
fn count(words: &BenchWords, sh: &Shell) -> Result<bool> {
    let out = &mut io::stdout();
    match words {
        BenchWords { growth: true, .. } => bench::measure_growth(sh, out),
        BenchWords { flame: true, .. } => bench::draw_flames(sh, out).map(|()| true),
        BenchWords { accept: true, .. } => bench::accept(sh, out).map(|()| true),
        BenchWords { .. } => bench::compare(sh, out),
    }
}

/// Builds the programs of the load test, and runs them.
fn load(what: &[String], sh: &Shell) -> Result<()> {
    let packages = "--package server --package benches --package sim".split(' ');
    cmd!(
        sh,
        "cargo build --profile dist {packages...} --features server/cluster"
    )
    .run()?;
    let load = cargo::target(sh).join("dist/load");
    Ok(cmd!(sh, "{load} {what...}").run()?)
}

/// Lets a cluster fail, or upgrades it.
fn fail(words: &ClusterWords, sh: &Shell) -> Result<()> {
    match &words.from {
        Some(revision) => cluster::upgrade(sh, revision),
        None => cluster::run_rounds(sh, words),
    }
}

/// The workspace's root: the parent of this package's folder.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}
