//! Commands to repeat a run start the program as its user did.

use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sim");

/// The command after `next:` of a passing run.
fn next(from_cargo: bool) -> String {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/brief.yaml");
    let mut command = Command::new(PROGRAM);
    command.arg(scenario).env_remove("CARGO");
    if from_cargo {
        command.env("CARGO", "cargo");
    }
    let output = command.output().expect("it starts");
    let page = String::from_utf8(output.stdout).expect("text");
    let (_, next) = page.split_once("\nnext: ").expect("a next command");
    next.to_owned()
}

#[test]
fn commands_start_the_program_as_it_was_started() {
    assert!(next(false).starts_with(PROGRAM));
    assert!(next(true).starts_with("cargo run --release -p sim -- "));
}
