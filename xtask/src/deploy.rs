//! The files of `deploy/` that other programs read, as those programs read them.

mod proxy;

use std::path::Path;
use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{answers_to, install, run};

/// The programs, each with the word that makes it say its version, and its package.
const NEEDED: [(&str, &str, &str); 5] = [
    ("promtool", "--version", "prometheus"),
    ("nginx", "-v", "nginx-light"),
    ("caddy", "version", "caddy"),
    ("curl", "--version", "curl"),
    ("openssl", "version", "openssl"),
];

/// Checks the alerts, and sends a stream through each proxy.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
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
    if let Err(why) = alerts(cargo.root()) {
        return Outcome::Failed(why);
    }
    let server = match cargo.program("talking-stick") {
        Ok(server) => server,
        Err(outcome) => return outcome,
    };
    match proxy::check(cargo.root(), &server) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
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
