//! The simulator, built and run.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use anyhow::{Result, bail};
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

/// The largest number of steps of a path. One more step takes four times as long.
const DEPTH: &str = "6";

/// The steps of a path in the world of two members and a log.
pub(crate) const CLUSTER_DEPTH: &str = "8";

/// Searches every interleaving of the tiny worlds, to a depth that takes half a minute on two cores.
pub(crate) fn exhaust(sh: &Shell) -> Result<()> {
    let sim = Sim::optimised(sh)?;
    sim.run(&["exhaust", "--depth", DEPTH]).run()?;
    sim.run(&["exhaust", "--world", "cluster", "--depth", CLUSTER_DEPTH])
        .run()?;
    Ok(())
}

/// The committed schema of scenarios.
const SCHEMA: &str = "scenarios/schema.json";

/// Checks that the committed schema equals the output of `sim schema`, byte for byte.
pub(crate) fn check_schema(sh: &Shell) -> Result<()> {
    let printed = Sim::optimised(sh)?.run(&["schema"]).read()?;
    compare(&sh.read_file(SCHEMA)?, &printed)
}

/// Compares a file with what was printed, without the last newline.
fn compare(committed: &str, printed: &str) -> Result<()> {
    if committed.strip_suffix('\n') != Some(printed) {
        bail!(
            "{SCHEMA} is not what `sim schema` prints; write it: cargo run --release -p sim -- schema > {SCHEMA}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn the_same_bytes_pass_and_others_fail_and_say_how_to_write_them() {
        assert!(compare("{}\n", "{}").is_ok());
        for committed in ["{}", "", "{} \n"] {
            let why = compare(committed, "{}").expect_err(committed).to_string();
            assert!(why.contains("-- schema > scenarios/"), "{why}");
        }
    }
}
