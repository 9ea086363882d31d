//! The one command that checks the whole house: `cargo xtask test`.
//!
//! It is plain Rust on the standard library and readers of JSON and Markdown, so that it builds in a
//! moment on a fresh machine. `steps.rs` lists what is checked; each step's own file says how. And
//! `cargo xtask mutants` checks the checks: see `mutants.rs`.

mod bench;
mod book;
mod browser;
mod cargo;
mod clients;
mod deny;
mod determinism;
mod exhaust;
mod live;
mod mutants;
mod outcome;
mod programs;
mod run;
mod scenarios;
mod schema;
mod server;
mod steps;
mod tidy;
mod unit;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::words::{Mutants, Request};

/// The exit code of a command line that says nothing we know.
const USAGE: u8 = 2;

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let steps = match words::read(&words) {
        Ok(Request::Help) => {
            print!("{}", words::help());
            return ExitCode::SUCCESS;
        }
        Ok(Request::List) => {
            print!("{}", words::list());
            return ExitCode::SUCCESS;
        }
        Ok(Request::Mutants(which)) => return mutate(&which),
        Ok(Request::Bench(request)) => return count(request),
        Ok(Request::Load(words)) => return load(&words),
        Ok(Request::Book) => return write_book(),
        Ok(Request::Test(steps)) => steps,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(USAGE);
        }
    };
    let cargo = Cargo::new(root());
    let mut out = io::stdout();
    let done = run::all(&steps, &mut out, |step| step.run(&cargo))
        .and_then(|report| report.write(&mut out, outcome::Strictness::from_environment()));
    match done {
        Ok(run::Verdict::Good) => ExitCode::SUCCESS,
        Ok(run::Verdict::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cannot write the summary: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Plants bugs, or lists those that could be.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn mutate(which: &Mutants) -> ExitCode {
    let cargo = Cargo::new(root());
    let mut out = io::stdout();
    let done = match which {
        Mutants::List => mutants::list(&cargo, &mut out).map(|()| true),
        Mutants::Curated(request) => mutants::run(&cargo, request, &mut out),
        Mutants::Generated(request) => mutants::run_generated(&cargo, request, &mut out),
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
fn count(request: bench::Request) -> ExitCode {
    match bench::run(&Cargo::new(root()), request, &mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds what is measured and what measures it, and runs that.
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

/// Builds the book, and says where it begins.
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

/// The workspace's root: where Cargo says this package is, and one up.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}
