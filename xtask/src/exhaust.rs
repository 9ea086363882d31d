//! Searches every interleaving of the tiny worlds, to a depth that takes half a minute on two
//! cores; and histories of a cluster.

use crate::cargo::{Cargo, ended};
use crate::outcome::Outcome;
use crate::sim::Sim;

/// The largest number of steps of a path. One more step takes four times as long.
const DEPTH: &str = "6";

/// The steps of a path in the world of two members and a log.
const CLUSTER_DEPTH: &str = "6";

/// The histories of a cluster.
const CLUSTER_SEEDS: &str = "40";

/// Searches all worlds.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let sim = match Sim::optimised(cargo) {
        Ok(sim) => sim,
        Err(outcome) => return outcome,
    };
    search(&sim, &["exhaust", "--depth", DEPTH])
        .and_then(|| search(&sim, &["cluster", "--exhaust", CLUSTER_DEPTH]))
        .and_then(|| search(&sim, &["cluster", "--seeds", CLUSTER_SEEDS]))
}

fn search(sim: &Sim<'_>, words: &[&str]) -> Outcome {
    match sim.run(words) {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("sim {} {}", words.join(" "), ended(status))),
        Err(why) => Outcome::Failed(why),
    }
}
