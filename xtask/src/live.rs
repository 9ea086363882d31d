//! Runs the simulator against the real server: a short scenario in every protocol.

use crate::cargo::{Build, Cargo, ended};
use crate::outcome::Outcome;
use crate::server::Server;

/// All users of a scenario have one address here, so the limits of an address are raised.
const LIMITS: [&str; 6] = [
    "--limit",
    "rate_limit=none",
    "--limit",
    "registration_rate_limit=none",
    "--limit",
    "max_per_address=100000",
];

/// Short enough to run with every check.
const SCENARIO: &str = "scenarios/brief.yaml";

/// Every protocol.
const PROTOCOLS: [&str; 3] = ["http", "2025-11-25", "2026-07-28"];

/// Starts a server, and runs the scenario in each protocol.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let program = match cargo.program("talking-stick") {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let server = match Server::start(&program, &LIMITS) {
        Ok(server) => server,
        Err(why) => return Outcome::Failed(why),
    };
    let failed = |protocol: &&str| {
        let target = ["--target", server.url(), "--protocol", protocol];
        let words = [&[SCENARIO][..], &target].concat();
        match cargo.sim(Build::Debug, &words) {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{SCENARIO} by {protocol}: sim {}", ended(status))),
            Err(why) => Some(why),
        }
    };
    let failures: Vec<String> = PROTOCOLS.iter().filter_map(failed).collect();
    Outcome::of_findings(&failures)
}
