//! The simulator, built and run.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::workspace_copy::WorkspaceCopy;

/// Builds the simulator nearly as fast as a release, in a third of the time. Returns the copy that it was built
/// in, whose lock keeps others from replacing the program, and the program.
///
/// # Errors
/// The build failed.
pub(crate) fn optimised(sh: &Shell) -> Result<(WorkspaceCopy, PathBuf)> {
    let copy = WorkspaceCopy::refresh(sh)?;
    copy.build(&[])?;
    let program = copy.program("sim");
    Ok((copy, program))
}

/// The largest number of steps of a path. One more step takes four times as long.
const DEPTH: &str = "6";

/// The steps of a path in the world of two members and a log.
pub(crate) const CLUSTER_DEPTH: &str = "8";

/// Searches every interleaving of the tiny worlds, to a depth that takes half a minute on two cores.
pub(crate) fn exhaust(sh: &Shell) -> Result<()> {
    let (_copy, sim) = optimised(sh)?;
    cmd!(sh, "{sim} exhaust --depth {DEPTH}").run()?;
    let deeper = ["--depth", CLUSTER_DEPTH];
    Ok(cmd!(sh, "{sim} exhaust --world cluster {deeper...}").run()?)
}

/// The committed schema of scenarios.
const SCHEMA: &str = "scenarios/schema.json";

/// Checks that the committed schema equals the output of `sim schema`, byte for byte.
pub(crate) fn check_schema(sh: &Shell) -> Result<()> {
    let (_copy, sim) = optimised(sh)?;
    let printed = cmd!(sh, "{sim} schema").read()?;
    compare(&sh.read_file(SCHEMA)?, &printed)
}

/// Compares a file with what was printed, without the last newline.
fn compare(committed: &str, printed: &str) -> Result<()> {
    let is_same = committed.strip_suffix('\n') == Some(printed);
    let how = format!("cargo run --release -p sim -- schema > {SCHEMA}");
    ensure!(is_same, "{SCHEMA} is not what `sim schema` prints: {how}");
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
