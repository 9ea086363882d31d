//! Runs the simulator against the real server: a short scenario in every protocol, judged by the
//! server's journal. Then it replays that journal.

use crate::cargo::{Cargo, ended};
use crate::outcome::Outcome;
use crate::server::{FOR_ONE_ADDRESS, Server};
use crate::sim::Sim;

/// Short enough to run with every check.
pub(crate) const SCENARIO: &str = "scenarios/brief.yaml";

/// Every protocol.
const PROTOCOLS: [&str; 3] = ["http", "2025-11-25", "2026-07-28"];

/// The folder of the server's journal, and the scenario that is made of it.
const JOURNAL: &str = "target/xtask/live-journal";
const REPLAYED: &str = "target/xtask/live-replayed.yaml";

/// Starts a server, runs the scenario in each protocol, and replays the server's journal.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let program = match cargo.program("talking-stick") {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let sim = match Sim::debug(cargo) {
        Ok(sim) => sim,
        Err(outcome) => return outcome,
    };
    let folder = cargo.root().join(JOURNAL);
    // The journal of the check before.
    if folder.exists()
        && let Err(why) = std::fs::remove_dir_all(&folder)
    {
        return Outcome::Failed(format!("{JOURNAL}: {why}"));
    }
    let server = match Server::with_journal(&program, &folder, &FOR_ONE_ADDRESS) {
        Ok(server) => server,
        Err(why) => return Outcome::Failed(why),
    };
    let program = program.to_string_lossy();
    let live = PROTOCOLS.map(|protocol| {
        let target = ["--target", server.url(), "--protocol", protocol];
        let journal = ["--journal", JOURNAL, "--server", &program];
        [&[SCENARIO][..], &target, &journal].concat()
    });
    let scenario = ["--to-scenario", REPLAYED, "--last", "50", "--quiet"];
    let replay = [&["replay", JOURNAL, "--server", &program][..], &scenario].concat();
    let validate = vec!["validate", REPLAYED];
    let runs = live.into_iter().chain([replay, validate]);
    let failed = |words: Vec<&str>| match sim.run(&words) {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("sim {}: it {}", words.join(" "), ended(status))),
        Err(why) => Some(why),
    };
    let failures: Vec<String> = runs.filter_map(failed).collect();
    Outcome::of_findings(&failures)
}
