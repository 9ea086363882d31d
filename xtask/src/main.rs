//! The one command that checks the whole house: `cargo xtask test`.
//!
//! It is plain Rust on the standard library alone, so that it builds in a moment on a fresh
//! machine. `steps.rs` lists what is checked; each step's own file says how.

mod browser;
mod cargo;
mod deny;
mod determinism;
mod outcome;
mod run;
mod scenarios;
mod schema;
mod steps;
mod tidy;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::words::Request;

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
        Ok(Request::Test(steps)) => steps,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(USAGE);
        }
    };
    let cargo = Cargo::new(root());
    let mut out = io::stdout();
    let done = run::all(&steps, &mut out, |step| step.run(&cargo))
        .and_then(|report| report.write(&mut out, run::Strictness::from_environment()));
    match done {
        Ok(run::Verdict::Good) => ExitCode::SUCCESS,
        Ok(run::Verdict::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cannot write the summary: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's root: where Cargo says this package is, and one up.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}
