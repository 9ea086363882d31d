//! Pages in a real browser: what all such tests need, which is a browser, Node, and a folder to run in.
//!
//! What is missing is installed: a browser and Node by the system's packages, if this may install
//! any, and what the tests import by npm, at the versions of the lock file.

pub(crate) mod page;
pub(crate) mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{install, node, run};

/// How long they may take, in seconds: a guard, since a browser that hangs says nothing.
const GUARD_S: &str = "420";

/// Tests that drive a browser.
struct Tests {
    /// The folder they are in, from the root.
    folder: &'static str,
    /// What they are made of; the first is what Node runs.
    files: &'static [&'static str],
    /// The folder below `target/xtask` in which they run.
    desk: &'static str,
    /// The folder in that one which holds what a run leaves, and which each run begins without.
    left: &'static str,
}

/// Where browsers lie that speak Chrome's protocol, the best first.
const BROWSERS: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

/// All that tests need, ready.
struct Stage {
    browser: &'static Path,
    desk: PathBuf,
    left: PathBuf,
    program: &'static str,
}

impl Tests {
    /// Makes ready what they need.
    ///
    /// # Errors
    /// What a step comes to that cannot go on.
    fn stage(&self, cargo: &Cargo) -> Result<Stage, Outcome> {
        let browser = browser().map_err(Outcome::Skipped)?;
        node().map_err(Outcome::Skipped)?;
        // The tests run in a copy, so that nothing is installed among the sources.
        let desk = self.desk(cargo).map_err(Outcome::Failed)?;
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&desk);
        run(&mut npm).map_err(|why| {
            Outcome::Skipped(format!("what the tests import cannot be installed: {why}"))
        })?;
        Ok(Stage {
            browser,
            left: desk.join(self.left),
            desk,
            program: self.files[0],
        })
    }

    /// A folder with a fresh copy of the tests, and nothing of an earlier run.
    fn desk(&self, cargo: &Cargo) -> Result<PathBuf, String> {
        let desk = cargo.scratch()?.join(self.desk);
        let left = desk.join(self.left);
        if left.exists() {
            fs::remove_dir_all(&left)
                .map_err(|error| format!("cannot empty {}: {error}", left.display()))?;
        }
        fs::create_dir_all(&desk)
            .map_err(|error| format!("cannot make {}: {error}", desk.display()))?;
        for file in self
            .files
            .iter()
            .chain(&["package.json", "package-lock.json"])
        {
            let from = cargo.root().join(self.folder).join(file);
            fs::copy(&from, desk.join(file))
                .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
        }
        Ok(desk)
    }
}

impl Stage {
    /// Runs the tests with these variables, and ends them when they take far too long.
    fn play(&self, variables: &[(&str, &Path)]) -> Outcome {
        let mut node = Command::new("timeout");
        node.args([GUARD_S, "node", "--test", self.program])
            .current_dir(&self.desk)
            .env("BROWSER_PROGRAM", self.browser)
            .envs(variables.iter().copied());
        run(&mut node).map_or_else(Outcome::Failed, |()| Outcome::Passed)
    }
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
