//! Licences, duplicates, sources and known vulnerabilities of the dependencies, and the layers of our
//! own crates, by cargo-deny.
//!
//! The advisory database is fetched at every run. So advisories are a step of their own: it may
//! fail without any change here. It is skipped, and never passed, if the database is not available.

use crate::cargo::Cargo;
use crate::outcome::Outcome;

/// The version of cargo-deny to install if it is missing.
const VERSION: &str = "0.20.2";

/// Checks `deny.toml` and `xtask/layers.toml`. Installs cargo-deny first if it is missing.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    installed(cargo)
        .and_then(|| {
            let words = ["deny", "--workspace", "check"];
            cargo.run(&[&words[..], &["bans", "licenses", "sources"]].concat())
        })
        .and_then(|| {
            let layers = ["--config", "xtask/layers.toml", "check", "bans"];
            cargo.run(&[&["deny", "--workspace"], &layers[..]].concat())
        })
}

/// Checks that no dependency has a known vulnerability.
pub(crate) fn advisories(cargo: &Cargo) -> Outcome {
    installed(cargo).and_then(|| {
        if let Outcome::Failed(why) = cargo.run(&["deny", "fetch", "db"]) {
            return Outcome::Skipped(format!(
                "the database of advisories could not be fetched from github.com: {why}"
            ));
        }
        // The database was fetched, so a failure from here on is a finding.
        let words = ["deny", "--workspace", "check", "--disable-fetch"];
        cargo.run(&[&words[..], &["advisories"]].concat())
    })
}

/// Passed if cargo-deny is installed, or can be.
fn installed(cargo: &Cargo) -> Outcome {
    match cargo.there_or_installed(|| cargo.has("deny"), ("cargo-deny", VERSION), &[]) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Skipped(why),
    }
}
