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
mod disk_space;
mod exhaust;
mod live;
mod mutants;
mod outcome;
mod package;
mod postgres;
mod programs;
mod run;
mod scenarios;
mod schema;
mod server;
mod sim;
mod steps;
mod tidy;
mod unit;
mod workspace_copy;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser as _;

use crate::apart::Apart;
use crate::bench::BenchRequest;
use crate::cargo::Cargo;
use crate::cluster::ClusterRequest;
use crate::command_line::{BenchWords, ClusterWords, CommandLine, MutantsWords, Word};
use crate::mutants::HuntRequest;
use crate::outcome::Outcome;
use crate::steps::{STEPS, Step};

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn main() -> ExitCode {
    match perform(CommandLine::parse().word, &Cargo::new(root())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the words say. Returns whether all is well.
#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
fn perform(word: Word, cargo: &Cargo) -> Result<bool, String> {
    match word {
        Word::Test { list: true, .. } => print!("{}", command_line::list()),
        Word::Test { only, .. } => return test(&only, cargo),
        Word::Step { step, outcome } => fs::write(&outcome, (step.run)(cargo).text())
            .map_err(|error| format!("cannot write {}: {error}", outcome.display()))?,
        Word::Mutants(words) => return mutate(words, cargo),
        Word::Bench(words) => return bench::run(cargo, counting(&words), &mut io::stdout()),
        Word::Load { what } => load(&what, cargo)?,
        Word::Cluster(words) => done(fail(words, cargo))?,
        Word::Book => {
            let folder = match book::build(cargo) {
                Ok(folder) => folder,
                Err(outcome) => return done(outcome).map(|()| false),
            };
            println!("{}", folder.join("index.html").display());
        }
        Word::Package => println!("{}", package::make(cargo)?.display()),
    }
    Ok(true)
}

/// Runs these steps, or all if there are none, and prints the summary.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn test(only: &[Step], cargo: &Cargo) -> Result<bool, String> {
    let is_wanted = |step: &Step| only.is_empty() || only.contains(step);
    let steps: Vec<_> = STEPS.into_iter().filter(is_wanted).collect();
    let apart = Apart::new(&cargo.scratch()?)?;
    let mut out = io::stdout();
    if let Some(warning) = disk_space::warning(&steps, &root()) {
        eprintln!("{warning}");
    }
    let report = run::all(
        &steps,
        &mut out,
        |step| (step.run)(cargo),
        |step| apart.run(step),
    );
    report
        .and_then(|report| report.write(&mut out, outcome::Strictness::from_environment()))
        .map(|verdict| verdict == run::Verdict::Good)
        .map_err(|error| format!("cannot write the summary: {error}"))
}

/// Runs or lists mutants.
fn mutate(words: MutantsWords, cargo: &Cargo) -> Result<bool, String> {
    let (which, out) = (words.which, &mut io::stdout());
    let request = HuntRequest {
        only: words.only,
        seeds: words.seeds,
        jobs: words.jobs,
    };
    if which.list {
        mutants::list(cargo, out).map(|()| true)
    } else if which.generated {
        mutants::run_generated(cargo, &request, out)
    } else if which.cluster {
        mutants::run_processes(cargo, out)
    } else if which.live {
        mutants::run_live(cargo, out)
    } else if which.table {
        mutants::write_table(cargo, &request, out)
    } else {
        mutants::run(cargo, &request, out)
    }
}

const fn counting(words: &BenchWords) -> BenchRequest {
    match words {
        BenchWords { accept: true, .. } => BenchRequest::Accept,
        BenchWords { growth: true, .. } => BenchRequest::Growth,
        BenchWords { flame: true, .. } => BenchRequest::Flame,
        BenchWords { .. } => BenchRequest::Compare,
    }
}

/// Builds the programs of the load test, and runs them.
fn load(what: &[String], cargo: &Cargo) -> Result<(), String> {
    let build = [
        "build",
        "--profile",
        "dist",
        "--package",
        "server",
        "--package",
        "benches",
        "--package",
        "sim",
        "--features",
        "server/cluster",
    ];
    done(cargo.run(&build))?;
    programs::run(Command::new(cargo.root().join("target/dist/load")).args(what))
}

/// Lets a cluster fail, or upgrades it.
fn fail(words: ClusterWords, cargo: &Cargo) -> Outcome {
    match words.from {
        Some(revision) => cluster::upgrade(cargo, &revision),
        None => cluster::run_rounds(
            cargo,
            &ClusterRequest {
                rounds: words.rounds,
                seed: words.seed,
                faults: words.faults,
            },
        ),
    }
}

/// Nothing, or the reason of an outcome that is none.
fn done(outcome: Outcome) -> Result<(), String> {
    match outcome {
        Outcome::Passed => Ok(()),
        Outcome::Failed(why) | Outcome::Skipped(why) => Err(why),
    }
}

/// The workspace's root: the parent of this package's folder.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}
