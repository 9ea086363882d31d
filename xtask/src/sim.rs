//! The simulator, built and run.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use anyhow::Result;
use xshell::{Cmd, Shell};

use crate::cargo;
use crate::workspace_copy::WorkspaceCopy;

/// A simulator that was built. It runs in the workspace's root.
#[derive(Debug)]
pub(crate) struct Sim<'a> {
    program: PathBuf,
    sh: &'a Shell,
    /// The copy that it was built in; its lock keeps others from replacing the program.
    _copy: Option<WorkspaceCopy>,
}

impl<'a> Sim<'a> {
    /// Builds it in debug, with all that the tests need.
    ///
    /// # Errors
    /// The build failed.
    pub(crate) fn debug(sh: &'a Shell) -> Result<Self> {
        Ok(Self {
            program: cargo::program(sh, "sim")?,
            sh,
            _copy: None,
        })
    }

    /// Builds it nearly as fast as a release, in a third of the time.
    ///
    /// # Errors
    /// The build failed.
    pub(crate) fn optimised(sh: &'a Shell) -> Result<Self> {
        let copy = WorkspaceCopy::refresh(sh)?;
        copy.build(&[])?;
        Ok(Self {
            program: copy.program("sim"),
            sh,
            _copy: Some(copy),
        })
    }

    /// Runs `sim words…`, shows its output, and returns its exit status.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) fn status(&self, words: &[&str]) -> Result<ExitStatus> {
        Ok(Command::from(self.run(words)).status()?)
    }

    /// The command `sim words…`.
    pub(crate) fn run(&self, words: &[&str]) -> Cmd<'a> {
        self.sh.cmd(&self.program).args(words)
    }
}
