//! Tests the simulator's reports in a real browser, in several sizes and both colour schemes.

use super::Tests;
use crate::cargo::{Cargo, WHOLE};
use crate::outcome::Outcome;

const TESTS: Tests = Tests {
    folder: "sim/tests/browser",
    files: &["browser.mjs", "report.test.mjs", "parts.test.mjs"],
    workspace: "browser",
    left: "reports",
};

/// Writes sample reports, and runs the tests on them.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let stage = match TESTS.stage(cargo) {
        Ok(stage) => stage,
        Err(outcome) => return outcome,
    };
    let Some(folder) = stage.left.to_str() else {
        return Outcome::Failed("the workspace's path is not Unicode".into());
    };
    let samples = [("SIM_REPORT_SAMPLES", folder)];
    let words = [&["test"][..], &WHOLE, &["--test", "report"]].concat();
    let written = cargo.run_with(&samples, &words);
    written.and_then(|| stage.play(&[("REPORTS", &stage.left)]))
}
