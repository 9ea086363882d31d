//! Licences, duplicates, sources and known vulnerabilities of the dependencies, and the layers of our
//! own crates, by cargo-deny.
//!
//! The advisory database is fetched at every run. So advisories are a step of their own: it may
//! fail without any change here. It is skipped, and never passed, if the database is not available.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::outcome::skipped;
use crate::programs::{answers, from_cargo};

/// The version of cargo-deny to install if it is missing.
const VERSION: &str = "0.20.2";

/// Checks `.cargo/deny.toml` and `xtask/layers.toml`. Installs cargo-deny first if it is missing.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    installed(sh)?;
    cmd!(sh, "cargo deny --workspace check bans licenses sources").run()?;
    Ok(cmd!(
        sh,
        "cargo deny --workspace --config xtask/layers.toml check bans"
    )
    .run()?)
}

/// Checks that no dependency has a known vulnerability.
pub(crate) fn advisories(sh: &Shell) -> Result<()> {
    installed(sh)?;
    if let Err(why) = cmd!(sh, "cargo deny fetch db").run() {
        let what = "the database of advisories could not be fetched from github.com";
        return Err(skipped(format!("{what}: {why}")));
    }
    // The database was fetched, so a failure from here on is a finding.
    Ok(cmd!(
        sh,
        "cargo deny --workspace check --disable-fetch advisories"
    )
    .run()?)
}

fn installed(sh: &Shell) -> Result<()> {
    let package = ("cargo-deny", VERSION);
    from_cargo(sh, || answers(sh, "cargo-deny"), package, &[]).map_err(skipped)
}
