//! Licences, duplicates and sources of what the workspace depends on, by cargo-deny.
//!
//! Advisories are left out: their database is fetched from the network at every run, so a build
//! would turn red without anything having changed here.

use crate::cargo::Cargo;
use crate::outcome::Outcome;

/// The release that is installed where none is.
const VERSION: &str = "0.20.2";

/// Checks `deny.toml`, installing cargo-deny first where it is missing.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    if !cargo.has("deny") {
        let installed = cargo.run(&["install", "--locked", "cargo-deny", "--version", VERSION]);
        if installed != Outcome::Passed || !cargo.has("deny") {
            return Outcome::Skipped(format!(
                "cargo-deny is not installed, and `cargo install --locked cargo-deny --version \
                 {VERSION}` did not bring it"
            ));
        }
    }
    cargo.run(&[
        "deny",
        "--workspace",
        "check",
        "bans",
        "licenses",
        "sources",
    ])
}
