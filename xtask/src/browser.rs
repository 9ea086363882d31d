//! The simulator's reports in a real browser, at several sizes and in both schemes.
//!
//! What it needs is installed where it is missing: a browser and Node by the system's packages,
//! if this may install any, and what the tests import by npm, at the versions of the lock file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, ended};
use crate::outcome::Outcome;

/// Where the tests are, and the files of that folder that they are made of.
const TESTS: &str = "sim/tests/browser";
const FILES: [&str; 3] = ["package.json", "package-lock.json", "report.test.mjs"];

/// Where browsers lie that speak Chrome's protocol, the best first.
const BROWSERS: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

/// Writes sample reports, and opens them.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let browser = match browser() {
        Ok(browser) => browser,
        Err(why) => return Outcome::Skipped(why),
    };
    if let Err(why) = node() {
        return Outcome::Skipped(why);
    }
    // The tests run in a copy, so that nothing is installed among the sources.
    let desk = match desk(cargo) {
        Ok(desk) => desk,
        Err(why) => return Outcome::Failed(why),
    };
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&desk);
    if let Err(why) = run(&mut npm) {
        return Outcome::Skipped(format!("what the tests import cannot be installed: {why}"));
    }
    let reports = desk.join("reports");
    let Some(folder) = reports.to_str() else {
        return Outcome::Failed("the workspace's path is not Unicode".into());
    };
    let samples = [("SIM_REPORT_SAMPLES", folder)];
    let written = cargo.run_with(&samples, &["test", "--package", "sim", "--test", "report"]);
    written.and_then(|| {
        let mut node = Command::new("node");
        node.args(["--test", "report.test.mjs"])
            .current_dir(&desk)
            .env("REPORTS", folder)
            .env("BROWSER_PROGRAM", browser);
        run(&mut node).map_or_else(Outcome::Failed, |()| Outcome::Passed)
    })
}

/// The browser, installed first if there is none.
fn browser() -> Result<&'static Path, String> {
    let there = || {
        BROWSERS
            .map(Path::new)
            .into_iter()
            .find(|path| path.exists())
    };
    if let Some(browser) = there() {
        return Ok(browser);
    }
    let installed = install(&["chromium"]);
    there().ok_or_else(|| {
        let why = installed.err().unwrap_or_else(|| "it brought none".into());
        format!("no browser is installed, and `apt-get install chromium` did not help: {why}")
    })
}

fn node() -> Result<(), String> {
    let there = || ["node", "npm"].into_iter().all(answers);
    if there() {
        return Ok(());
    }
    let installed = install(&["nodejs", "npm"]);
    if there() {
        return Ok(());
    }
    let why = installed
        .err()
        .unwrap_or_else(|| "it brought neither".into());
    Err(format!(
        "node or npm is not installed, and `apt-get install nodejs npm` did not help: {why}"
    ))
}

/// Whether a program is there and says its version.
fn answers(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs packages of the system, which only its owner may.
fn install(packages: &[&str]) -> Result<(), String> {
    let mut words = vec!["install", "--yes", "--no-install-recommends"];
    words.extend(packages);
    run(Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(words))
}

/// A folder with a fresh copy of the tests, and no reports of an earlier run.
fn desk(cargo: &Cargo) -> Result<PathBuf, String> {
    let desk = cargo.scratch()?.join("browser");
    let reports = desk.join("reports");
    if reports.exists() {
        fs::remove_dir_all(&reports)
            .map_err(|error| format!("cannot empty {}: {error}", reports.display()))?;
    }
    fs::create_dir_all(&desk)
        .map_err(|error| format!("cannot make {}: {error}", desk.display()))?;
    for file in FILES {
        let from = cargo.root().join(TESTS).join(file);
        fs::copy(&from, desk.join(file))
            .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    Ok(desk)
}

/// Runs a program, showing what it prints.
fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` {}", ended(status))),
        Err(error) => Err(format!("`{name}` did not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{answers, run};

    #[test]
    fn a_program_that_is_not_there_is_told_by_its_name() {
        assert!(!answers("no-such-program"));
        let error = run(&mut Command::new("no-such-program")).expect_err("there is none");
        assert!(
            error.starts_with("`no-such-program` did not start: "),
            "{error}"
        );
    }

    #[test]
    fn a_program_that_ends_badly_is_told_with_its_code() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).expect_err("it fails");
        assert_eq!(error, "`sh` ended with exit code 3");
    }
}
