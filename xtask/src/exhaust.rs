//! Searches every interleaving of the tiny worlds, to a depth that takes half a minute on two
//! cores; and histories of a cluster.

use crate::cargo::{Build, Cargo, ended};
use crate::outcome::Outcome;

/// The largest number of steps of a path. One more step takes four times as long.
const DEPTH: &str = "6";

/// The steps of a path in the world of two members and a log.
const CLUSTER_DEPTH: &str = "6";

/// The histories of a cluster.
const CLUSTER_SEEDS: &str = "40";

/// Searches all worlds.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    cargo
        .build_sim(Build::Quick)
        .and_then(|| sim(cargo, &["exhaust", "--depth", DEPTH]))
        .and_then(|| sim(cargo, &["cluster", "--exhaust", CLUSTER_DEPTH]))
        .and_then(|| sim(cargo, &["cluster", "--seeds", CLUSTER_SEEDS]))
}

fn sim(cargo: &Cargo, words: &[&str]) -> Outcome {
    match cargo.sim(Build::Quick, words) {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("sim {} {}", words.join(" "), ended(status))),
        Err(why) => Outcome::Failed(why),
    }
}
