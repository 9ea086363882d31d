//! Licences, duplicates and sources of what the workspace depends on, and what is known against it,
//! by cargo-deny.
//!
//! The database of advisories is fetched at every run. So they are a step of their own, which may
//! turn red without anything having changed here, and which is skipped, and never passed, where the
//! database cannot be had.

use crate::cargo::Cargo;
use crate::outcome::Outcome;

/// The release that is installed where none is.
const VERSION: &str = "0.20.2";

/// Checks `deny.toml`, installing cargo-deny first where it is missing.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    installed(cargo).and_then(|| {
        let words = ["deny", "--workspace", "check"];
        cargo.run(&[&words[..], &["bans", "licenses", "sources"]].concat())
    })
}

/// Checks that no dependency has a known weakness.
pub(crate) fn advisories(cargo: &Cargo) -> Outcome {
    installed(cargo).and_then(|| {
        if let Outcome::Failed(why) = cargo.run(&["deny", "fetch", "db"]) {
            return Outcome::Skipped(format!(
                "the database of advisories could not be fetched from github.com: {why}"
            ));
        }
        // What was fetched is looked at, and a failure from here on is a finding.
        let words = ["deny", "--workspace", "check", "--disable-fetch"];
        cargo.run(&[&words[..], &["advisories"]].concat())
    })
}

/// Passed if cargo-deny is there, or can be installed.
fn installed(cargo: &Cargo) -> Outcome {
    if cargo.has("deny") {
        return Outcome::Passed;
    }
    let installed = cargo.run(&["install", "--locked", "cargo-deny", "--version", VERSION]);
    if installed == Outcome::Passed && cargo.has("deny") {
        return Outcome::Passed;
    }
    Outcome::Skipped(format!(
        "cargo-deny is not installed, and `cargo install --locked cargo-deny --version {VERSION}` \
         did not bring it"
    ))
}
