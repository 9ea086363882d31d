//! The files of `deploy/` and `.github/` that other programs read, as those programs read them.

mod proxy;
mod schemas;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::skipped;
use crate::programs::{node, there_or_installed};
use crate::sim::Sim;

/// The programs, each with its package.
const NEEDED: [(&str, &str); 5] = [
    ("promtool", "prometheus"),
    ("nginx", "nginx-light"),
    ("caddy", "caddy"),
    ("curl", "curl"),
    ("openssl", "openssl"),
];

/// The program that reads bundles for MCP clients, as npm runs it.
const BUNDLER: &str = "@anthropic-ai/mcpb@2.1.2";

/// Checks the files for containers, the alerts and the bundle, and sends streams and a load through each proxy.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    schemas::check(sh)?;
    for (program, package) in NEEDED {
        there_or_installed(sh, &[program], package).map_err(skipped)?;
    }
    node(sh).map_err(skipped)?;
    cmd!(sh, "npx --yes {BUNDLER} --version")
        .run()
        .map_err(skipped)?;
    cmd!(sh, "npx --yes {BUNDLER} validate deploy/mcpb/manifest.json").run()?;
    {
        // The rules for alerts: their form, and whether they alert when they should.
        let _within = sh.push_dir("deploy/prometheus");
        cmd!(sh, "promtool check config prometheus.yml").run()?;
        cmd!(sh, "promtool test rules alerts.test.yml").run()?;
    }
    let server = cargo::program(sh, "talking-stick")?;
    proxy::check(sh, &server, &Sim::debug(sh)?)
}
