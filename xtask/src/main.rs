//! Runs all checks of the project: `cargo xtask test`.
//!
//! `steps.rs` lists the checks, and each has its own file. `cargo xtask mutants` tests the checks themselves:
//! see `mutants.rs`.

mod agents;
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

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use anyhow::Result;
use clap::Parser as _;
use xshell::{Shell, cmd};

use crate::command_line::{CommandLine, Word};
use crate::outcome::Outcome;
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
        Word::Test { quick: true, .. } => return run::test(&steps::quick(), sh),
        Word::Test { only, .. } => {
            let is_wanted = |step: &Step| only.is_empty() || only.contains(step);
            let steps: Vec<_> = STEPS.into_iter().filter(is_wanted).collect();
            return run::test(&steps, sh);
        }
        Word::Step { step, outcome } => {
            let ended = Outcome::from((step.run)(sh));
            fs::write(outcome, serde_json::to_vec(&ended)?)?;
        }
        Word::Race => mutants::show_race(sh)?,
        Word::Mutants(words) => return mutants::run(sh, &words, &mut io::stdout()),
        Word::Bench(words) => bench::run(sh, &words, &mut io::stdout())?,
        Word::Load { what } => load(&what, sh)?,
        Word::Cluster(words) => cluster::run(sh, &words)?,
        Word::Agents => agents::check_all(sh)?,
        Word::Book => println!("{}", book::build(sh)?.join("index.html").display()),
        Word::Package => println!("{}", package::make(sh)?.display()),
    }
    Ok(true)
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

/// The workspace's root: the parent of this package's folder.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}
