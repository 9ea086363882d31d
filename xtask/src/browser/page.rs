//! Tests the server's page in a real browser: people and an agent in the same rooms.

use super::Tests;
use crate::cargo::Cargo;
use crate::outcome::Outcome;

const TESTS: Tests = Tests {
    folder: "server/tests/page",
    files: &[
        "attention.test.mjs",
        "forms.test.mjs",
        "operator.test.mjs",
        "page.test.mjs",
        "past.test.mjs",
        "phone.test.mjs",
        "returns.test.mjs",
        "stage.mjs",
    ],
    workspace: "page",
    left: "screenshots",
};

/// Builds the server, and runs the tests of its page.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let stage = match TESTS.stage(cargo) {
        Ok(stage) => stage,
        Err(outcome) => return outcome,
    };
    match cargo.program("talking-stick") {
        Ok(server) => stage.play(&[("SERVER_PROGRAM", &server), ("SCREENSHOTS", &stage.left)]),
        Err(outcome) => outcome,
    }
}
