//! Runs the simulator against the real server: a short scenario in every protocol, judged by the
//! server's journal. Then it replays that journal, and calibrates by that server.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::none_of;
use crate::server::{FOR_ONE_ADDRESS, Server};

/// Short enough to run with every check.
pub(crate) const SCENARIO: &str = "scenarios/brief.yaml";

/// Every protocol.
const PROTOCOLS: [&str; 3] = ["http", "2025-11-25", "2026-07-28"];

/// The folder of the server's journal, and the scenario that is made of it.
const JOURNAL: &str = "target/xtask/live-journal";
const REPLAYED: &str = "target/xtask/live-replayed.yaml";

/// Starts a server, runs the scenario in each protocol, replays the server's journal, and measures the server.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let program = cargo::program(sh, "talking-stick")?;
    let sim = cargo::program(sh, "sim")?;
    // The journal of the check before.
    sh.remove_path(JOURNAL)?;
    let data = sh.current_dir().join(JOURNAL);
    let (data, name) = (data.to_string_lossy(), program.to_string_lossy());
    let words = [&["--data", &data][..], &FOR_ONE_ADDRESS];
    let server = Server::start(&program, &words.concat())?;
    let live = PROTOCOLS.map(|protocol| {
        let target = ["--target", &server.url, "--protocol", protocol];
        let journal = ["--journal", JOURNAL, "--server", &name];
        [&[SCENARIO][..], &target, &journal].concat()
    });
    let scenario = ["--to-scenario", REPLAYED, "--last", "50", "--quiet"];
    let replay = [&["replay", JOURNAL, "--server", &name][..], &scenario].concat();
    let validate = vec!["validate", REPLAYED];
    let calibrate = vec!["calibrate", "--target", &server.url];
    let runs = live.into_iter().chain([replay, validate, calibrate]);
    let failures = runs.filter_map(|words| cmd!(sh, "{sim} {words...}").run().err());
    none_of(&failures.collect::<Vec<_>>())
}
