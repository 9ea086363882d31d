//! Tests in a real browser, which drive it from Node: of the simulator's reports, in several sizes and both
//! colour schemes, and of the server's page, with people and an agent in the same rooms.
//!
//! What is missing is installed: a browser and Node as packages of the system, if that is permitted,
//! and the tests' imports by npm, at the versions of the lock file.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo::{self, WHOLE};
use crate::outcome::skipped;
use crate::programs::{found_or_installed, node, npm};

/// The time limit in seconds. It guards against a browser that hangs.
const GUARD_S: &str = "600";

/// The paths of browsers that speak Chrome's protocol, the preferred one first.
const BROWSERS: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

/// Writes sample reports, and runs the tests on them.
pub(crate) fn check_reports(sh: &Shell) -> Result<()> {
    let tests = "sim/tests/browser";
    let stage = stage(sh, tests, "browser").map_err(skipped)?;
    let reports = cargo::empty_scratch(sh, "browser/reports")?;
    cmd!(sh, "cargo test {WHOLE...} --test suite report::")
        .env("SIM_REPORT_SAMPLES", &reports)
        .run()?;
    play(sh, tests, stage, &[("REPORTS", &reports)])
}

/// Builds the server, and runs the tests of its page.
pub(crate) fn check_page(sh: &Shell) -> Result<()> {
    let tests = "server/tests/page";
    let stage = stage(sh, tests, "page").map_err(skipped)?;
    let screenshots = cargo::empty_scratch(sh, "page/screenshots")?;
    let server = cargo::program(sh, "talking-stick")?;
    let variables = [("SERVER_PROGRAM", &*server), ("SCREENSHOTS", &screenshots)];
    play(sh, tests, stage, &variables)
}

/// A browser, and a copy of the tests with what they import, so that npm installs nothing among the sources.
fn stage(sh: &Shell, tests: &str, name: &str) -> Result<(&'static Path, PathBuf)> {
    let browsers = BROWSERS.map(Path::new).into_iter();
    let there = || browsers.clone().find(|path| path.exists());
    let browser = found_or_installed(sh, there, "chromium")?;
    let workspace = cargo::copied(sh, tests, name)?;
    node(sh)?;
    let _within = sh.push_dir(&workspace);
    npm(sh)?;
    Ok((browser, workspace))
}

/// Runs the tests of this folder with these variables, under the time limit.
fn play(
    sh: &Shell,
    tests: &str,
    (browser, workspace): (&Path, PathBuf),
    variables: &[(&str, &Path)],
) -> Result<()> {
    let files = sh.read_dir(tests)?;
    let names = files.iter().filter_map(|path| path.file_name()?.to_str());
    let tests = names.filter(|name| name.ends_with(".test.mjs"));
    let _within = sh.push_dir(workspace);
    Ok(cmd!(sh, "timeout {GUARD_S} node --test {tests...}")
        .env("BROWSER_PROGRAM", browser)
        .envs(variables.iter().copied())
        .run()?)
}
