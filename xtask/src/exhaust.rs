//! Searches every interleaving of the tiny worlds, to a depth that takes half a minute on two
//! cores.

use crate::cargo::{Cargo, ended};
use crate::outcome::Outcome;
use crate::sim::Sim;

/// The largest number of steps of a path. One more step takes four times as long.
const DEPTH: &str = "6";

/// The steps of a path in the world of two members and a log.
pub(crate) const CLUSTER_DEPTH: &str = "8";

/// Searches all worlds.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let sim = match Sim::optimised(cargo) {
        Ok(sim) => sim,
        Err(outcome) => return outcome,
    };
    search(&sim, &["exhaust", "--depth", DEPTH]).and_then(|| {
        search(
            &sim,
            &["exhaust", "--world", "cluster", "--depth", CLUSTER_DEPTH],
        )
    })
}

fn search(sim: &Sim<'_>, words: &[&str]) -> Outcome {
    match sim.run(words) {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("sim {} {}", words.join(" "), ended(status))),
        Err(why) => Outcome::Failed(why),
    }
}
