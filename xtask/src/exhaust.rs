//! Searches every interleaving of the tiny worlds, to a depth that takes half a minute on two
//! cores.

use anyhow::Result;
use xshell::Shell;

use crate::sim::Sim;

/// The largest number of steps of a path. One more step takes four times as long.
const DEPTH: &str = "6";

/// The steps of a path in the world of two members and a log.
pub(crate) const CLUSTER_DEPTH: &str = "8";

/// Searches all worlds.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let sim = Sim::optimised(sh)?;
    sim.run(&["exhaust", "--depth", DEPTH]).run()?;
    sim.run(&["exhaust", "--world", "cluster", "--depth", CLUSTER_DEPTH])
        .run()?;
    Ok(())
}
