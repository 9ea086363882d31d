//! The simulator, built and run.

use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::cargo::{Cargo, ended};
use crate::outcome::Outcome;
use crate::workspace_copy::WorkspaceCopy;

/// A simulator that was built. It runs in the workspace's root.
#[derive(Debug)]
pub(crate) struct Sim<'a> {
    program: PathBuf,
    root: PathBuf,
    /// The copy that it was built in; its lock keeps others from replacing the program.
    _copy: Option<WorkspaceCopy<'a>>,
}

impl<'a> Sim<'a> {
    /// Builds it in debug, with all that the tests need.
    ///
    /// # Errors
    /// The outcome of a failed build.
    pub(crate) fn debug(cargo: &'a Cargo) -> Result<Self, Outcome> {
        Ok(Self {
            program: cargo.program("sim")?,
            root: cargo.root().into(),
            _copy: None,
        })
    }

    /// Builds it nearly as fast as a release, in a third of the time.
    ///
    /// # Errors
    /// The outcome of a failed build.
    pub(crate) fn optimised(cargo: &'a Cargo) -> Result<Self, Outcome> {
        let copy = WorkspaceCopy::refresh(cargo).map_err(Outcome::Failed)?;
        copy.build().map_err(Outcome::Failed)?;
        Ok(Self {
            program: copy.program("sim"),
            root: cargo.root().into(),
            _copy: Some(copy),
        })
    }

    /// Runs `sim words…`, shows its output, and returns its exit status.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) fn run(&self, words: &[&str]) -> Result<ExitStatus, String> {
        self.command(words)
            .status()
            .map_err(|error| format!("sim did not start: {error}"))
    }

    /// Runs `sim words…` and returns its output.
    ///
    /// # Errors
    /// Why it did not start, or its exit status if it failed.
    pub(crate) fn prints(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        let output = self
            .command(words)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("sim did not start: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "`sim {}` {}",
                words.join(" "),
                ended(output.status)
            ));
        }
        Ok(output.stdout)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }
}
