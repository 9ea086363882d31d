//! Requirements of tests in a real browser: a browser, Node, and a working directory.
//!
//! Missing ones are installed: a browser and Node as packages of the system, if that is permitted,
//! and the tests' imports by npm, at the versions of the lock file.

pub(crate) mod page;
pub(crate) mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{install, node, run};

/// The time limit in seconds. It guards against a browser that hangs.
const GUARD_S: &str = "600";

/// Tests that drive a browser.
struct Tests {
    /// Their folder, from the root.
    folder: &'static str,
    /// Their files. Node runs those that end in `.test.mjs`.
    files: &'static [&'static str],
    /// The working directory below `target/xtask`.
    workspace: &'static str,
    /// The folder in it for results, which is emptied before each run.
    left: &'static str,
}

/// The paths of browsers that speak Chrome's protocol, the preferred one first.
const BROWSERS: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

/// A browser and a working directory.
struct Stage {
    browser: &'static Path,
    workspace: PathBuf,
    left: PathBuf,
    files: &'static [&'static str],
}

impl Tests {
    /// Prepares the requirements.
    ///
    /// # Errors
    /// The outcome of a step that cannot continue.
    fn stage(&self, cargo: &Cargo) -> Result<Stage, Outcome> {
        let browser = browser().map_err(Outcome::Skipped)?;
        node().map_err(Outcome::Skipped)?;
        // The tests run in a copy, so that npm installs nothing among the sources.
        let workspace = self.workspace(cargo).map_err(Outcome::Failed)?;
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&workspace);
        run(&mut npm).map_err(|why| {
            Outcome::Skipped(format!("what the tests import cannot be installed: {why}"))
        })?;
        Ok(Stage {
            browser,
            left: workspace.join(self.left),
            workspace,
            files: self.files,
        })
    }

    /// Creates the working directory with a fresh copy of the tests.
    fn workspace(&self, cargo: &Cargo) -> Result<PathBuf, String> {
        let workspace = cargo.scratch()?.join(self.workspace);
        let left = workspace.join(self.left);
        if left.exists() {
            fs::remove_dir_all(&left)
                .map_err(|error| format!("cannot empty {}: {error}", left.display()))?;
        }
        fs::create_dir_all(&workspace)
            .map_err(|error| format!("cannot make {}: {error}", workspace.display()))?;
        for file in self
            .files
            .iter()
            .chain(&["package.json", "package-lock.json"])
        {
            let from = cargo.root().join(self.folder).join(file);
            fs::copy(&from, workspace.join(file))
                .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
        }
        Ok(workspace)
    }
}

impl Stage {
    /// Runs the tests with these variables, under the time limit.
    fn play(&self, variables: &[(&str, &Path)]) -> Outcome {
        let mut node = Command::new("timeout");
        let tests = self.files.iter().filter(|file| file.ends_with(".test.mjs"));
        node.args([GUARD_S, "node", "--test"])
            .args(tests)
            .current_dir(&self.workspace)
            .env("BROWSER_PROGRAM", self.browser)
            .envs(variables.iter().copied());
        run(&mut node).map_or_else(Outcome::Failed, |()| Outcome::Passed)
    }
}

/// The path of a browser, which is installed if there is none.
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
