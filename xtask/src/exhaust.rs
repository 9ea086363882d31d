//! Searches every interleaving of the tiny worlds, to a depth that takes half a minute on two
//! cores.

use crate::cargo::{Build, Cargo, ended};
use crate::outcome::Outcome;

/// The largest number of steps of a path. One more step takes four times as long.
const DEPTH: &str = "6";

/// Searches both worlds.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    cargo.build_sim(Build::Quick).and_then(|| {
        match cargo.sim(Build::Quick, &["exhaust", "--depth", DEPTH]) {
            Ok(status) if status.success() => Outcome::Passed,
            Ok(status) => Outcome::Failed(format!("sim exhaust {}", ended(status))),
            Err(why) => Outcome::Failed(why),
        }
    })
}
