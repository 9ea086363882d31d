//! The files of `deploy/` and `.github/` that other programs read, as those programs read them.

mod proxy;
mod schemas;

use std::path::Path;
use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{answers_to, install, node, run};
use crate::sim::Sim;

use schemas::Schemas;

/// The programs, each with the word that makes it say its version, and its package.
const NEEDED: [(&str, &str, &str); 5] = [
    ("promtool", "--version", "prometheus"),
    ("nginx", "-v", "nginx-light"),
    ("caddy", "version", "caddy"),
    ("curl", "--version", "curl"),
    ("openssl", "version", "openssl"),
];

/// The program that reads bundles for MCP clients, as npm runs it.
const BUNDLER: [&str; 2] = ["--yes", "@anthropic-ai/mcpb@2.1.2"];

/// Checks the files for containers, the alerts and the bundle, and sends streams and a load through each proxy.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let schemas = match Schemas::installed(cargo) {
        Ok(schemas) => schemas,
        Err(why) => return Outcome::Skipped(format!("no schemas: {why}")),
    };
    if let Err(why) = schemas.check(cargo.root()) {
        return Outcome::Failed(why);
    }
    for (program, word, package) in NEEDED {
        if answers_to(program, word) {
            continue;
        }
        let installed = install(&[package]);
        if !answers_to(program, word) {
            let why = installed.err().unwrap_or_else(|| "it brought none".into());
            return Outcome::Skipped(format!(
                "{program} is not installed, and `apt-get install {package}` did not help: {why}"
            ));
        }
    }
    let bundler = node().and_then(|()| run(Command::new("npx").args(BUNDLER).arg("--version")));
    if let Err(why) = bundler {
        return Outcome::Skipped(format!("the bundle cannot be read: {why}"));
    }
    if let Err(why) = alerts(cargo.root()).and_then(|()| bundle(cargo.root())) {
        return Outcome::Failed(why);
    }
    let server = match cargo.program("talking-stick") {
        Ok(server) => server,
        Err(outcome) => return outcome,
    };
    let sim = match Sim::debug(cargo) {
        Ok(sim) => sim,
        Err(outcome) => return outcome,
    };
    match proxy::check(cargo.root(), &server, &sim) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

/// What the bundle says of itself.
fn bundle(root: &Path) -> Result<(), String> {
    let mut bundler = Command::new("npx");
    bundler.args(BUNDLER).current_dir(root);
    run(bundler.args(["validate", "deploy/mcpb/manifest.json"]))
        .map_err(|why| format!("deploy/mcpb/manifest.json: {why}"))
}

/// The rules for alerts: their form, and whether they alert when they should.
fn alerts(root: &Path) -> Result<(), String> {
    let folder = root.join("deploy/prometheus");
    for words in [
        &["check", "config", "prometheus.yml"][..],
        &["test", "rules", "alerts.test.yml"],
    ] {
        run(Command::new("promtool").args(words).current_dir(&folder))
            .map_err(|why| format!("deploy/prometheus, {}: {why}", words.join(" ")))?;
    }
    Ok(())
}
