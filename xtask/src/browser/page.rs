//! The server's page in a real browser: people and an agent in the same rooms.

use super::Tests;
use crate::cargo::Cargo;
use crate::outcome::Outcome;

const TESTS: Tests = Tests {
    folder: "server/tests/page",
    files: &["page.test.mjs", "stage.mjs"],
    desk: "page",
    left: "screenshots",
};

/// Builds the server, and has people use its page.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let stage = match TESTS.stage(cargo) {
        Ok(stage) => stage,
        Err(outcome) => return outcome,
    };
    let name = format!("talking-stick{}", std::env::consts::EXE_SUFFIX);
    let server = cargo.root().join("target").join("debug").join(name);
    cargo
        .run(&["build", "--package", "server"])
        .and_then(|| stage.play(&[("SERVER_PROGRAM", &server), ("SCREENSHOTS", &stage.left)]))
}
