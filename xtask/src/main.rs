//! Runs all checks of the project: `cargo xtask test`.
//!
//! It depends on the standard library and on parsers of JSON and Markdown only, so it builds fast
//! on a fresh machine. `steps.rs` lists the checks, and each has its own file. `cargo xtask
//! mutants` tests the checks themselves: see `mutants.rs`.

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

use crate::apart::Apart;
use crate::cargo::Cargo;
use crate::command_line::{MutantsRequest, Request};
use crate::outcome::Outcome;
use crate::steps::Step;

/// The exit code of an invalid command line.
const USAGE: u8 = 2;

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let steps = match command_line::read(&words) {
        Ok(Request::Help) => {
            print!("{}", command_line::help());
            return ExitCode::SUCCESS;
        }
        Ok(Request::List) => {
            print!("{}", command_line::list());
            return ExitCode::SUCCESS;
        }
        Ok(Request::MutantsRequest(which)) => return mutate(&which),
        Ok(Request::Bench(request)) => return count(request),
        Ok(Request::Load(words)) => return load(&words),
        Ok(Request::Cluster(request)) => {
            return ended(cluster::run_rounds(&Cargo::new(root()), &request));
        }
        Ok(Request::Upgrade(revision)) => {
            return ended(cluster::upgrade(&Cargo::new(root()), &revision));
        }
        Ok(Request::Book) => return write_book(),
        Ok(Request::Package) => return make_packages(),
        Ok(Request::Step(step, outcome)) => return one(step, &outcome),
        Ok(Request::Test(steps)) => steps,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(USAGE);
        }
    };
    match test(&steps) {
        Ok(run::Verdict::Good) => ExitCode::SUCCESS,
        Ok(run::Verdict::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs steps, and prints the summary.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn test(steps: &[Step]) -> Result<run::Verdict, String> {
    let cargo = Cargo::new(root());
    let apart = Apart::new(&cargo.scratch()?)?;
    let mut out = io::stdout();
    if let Some(warning) = disk_space::warning(steps, &root()) {
        eprintln!("{warning}");
    }
    run::all(
        steps,
        &mut out,
        |step| step.run(&cargo),
        |step| apart.run(step),
    )
    .and_then(|report| report.write(&mut out, outcome::Strictness::from_environment()))
    .map_err(|error| format!("cannot write the summary: {error}"))
}

/// Runs one step, and writes its outcome to a file.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn one(step: Step, file: &Path) -> ExitCode {
    match fs::write(file, step.run(&Cargo::new(root())).text()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write {}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}

/// Runs or lists mutants.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn mutate(which: &MutantsRequest) -> ExitCode {
    let cargo = Cargo::new(root());
    let mut out = io::stdout();
    let done = match which {
        MutantsRequest::List => mutants::list(&cargo, &mut out).map(|()| true),
        MutantsRequest::Curated(request) => mutants::run(&cargo, request, &mut out),
        MutantsRequest::Generated(request) => mutants::run_generated(&cargo, request, &mut out),
        MutantsRequest::Processes => mutants::run_processes(&cargo, &mut out),
        MutantsRequest::Live => mutants::run_live(&cargo, &mut out),
        MutantsRequest::Table(request) => mutants::write_table(&cargo, request, &mut out),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Counts instructions.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn count(request: bench::BenchRequest) -> ExitCode {
    match bench::run(&Cargo::new(root()), request, &mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the programs of the load test, and runs them.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn load(words: &[String]) -> ExitCode {
    let cargo = Cargo::new(root());
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
    let program = cargo.root().join("target/dist/load");
    let done = match cargo.run(&build) {
        Outcome::Passed => programs::run(Command::new(program).args(words)),
        Outcome::Failed(why) | Outcome::Skipped(why) => Err(why),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The exit code of an outcome, whose reason is printed.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn ended(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed(why) | Outcome::Skipped(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the book, and prints the path of its first page.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]
fn write_book() -> ExitCode {
    match book::build(&Cargo::new(root())) {
        Ok(folder) => {
            println!("{}", folder.join("index.html").display());
            ExitCode::SUCCESS
        }
        Err(Outcome::Failed(why) | Outcome::Skipped(why)) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
        Err(Outcome::Passed) => ExitCode::FAILURE,
    }
}

/// Makes the published packages, and prints the folder from which they are published.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]
fn make_packages() -> ExitCode {
    match package::make(&Cargo::new(root())) {
        Ok(folder) => {
            println!("{}", folder.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's root: the parent of this package's folder.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}
