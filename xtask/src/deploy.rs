//! The files of `deploy/` and `.github/` that other programs read, as those programs read them.

mod proxy;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::skipped;
use crate::programs::{from_pypi, node, there_or_installed};
use crate::scenarios::files;

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
    check_schemas(sh)?;
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
    proxy::check(sh, &server, &cargo::program(sh, "sim")?)
}

/// The packages, and their place in the build folder.
const PACKAGES: [&str; 2] = ["check-jsonschema==0.39.0", "kubernetes-validate==1.37.0"];
const PLACE: &str = "schemas-0.39.0-1.37.0";

/// The folder of manifests, and files there that have no schema, or another one.
const MANIFESTS: &str = "deploy/cluster";
const OTHERS: [&str; 2] = ["compose.yaml", "kustomization.yaml"];

/// Schemas of other files.
const SCHEMAS: [(&str, &[&str]); 3] = [
    (
        "compose-spec",
        &["deploy/compose.yaml", "deploy/cluster/compose.yaml"],
    ),
    (
        "github-workflows",
        &[".github/workflows/ci.yml", ".github/workflows/release.yml"],
    ),
    ("github-actions", &["action.yml"]),
];

/// Checks files for containers, Kubernetes and GitHub by the schemas that two Python packages bring along.
///
/// # Errors
/// Which file differs from its schema; the program has printed where.
fn check_schemas(sh: &Shell) -> Result<()> {
    let programs = ["check-jsonschema", "kubernetes-validate"];
    let [check, validate] = from_pypi(sh, PLACE, &PACKAGES, programs).map_err(skipped)?;
    for (schema, files) in SCHEMAS {
        cmd!(
            sh,
            "{check} --quiet --builtin-schema vendor.{schema} {files...}"
        )
        .run()?;
    }
    let manifests = manifests(sh)?;
    Ok(cmd!(sh, "{validate} --strict --quiet {manifests...}").run()?)
}

fn manifests(sh: &Shell) -> Result<Vec<String>> {
    let mut manifests = files(sh, MANIFESTS)?;
    manifests.retain(|path| !OTHERS.iter().any(|other| path.ends_with(other)));
    Ok(manifests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workflow_and_every_manifest_has_a_schema() {
        let sh = crate::cargo::shell().expect("a folder");
        let all: Vec<_> = SCHEMAS.into_iter().flat_map(|(_, files)| files).collect();
        let workflows = sh.read_dir(".github/workflows").expect("a folder");
        assert!(workflows.len() > 1);
        let named = |path: &std::path::PathBuf| all.iter().any(|file| path.ends_with(file));
        assert!(workflows.iter().all(named), "{workflows:?}");
        let manifests = manifests(&sh).expect("a folder");
        let yaml = files(&sh, MANIFESTS).expect("a folder");
        assert_eq!(manifests.len(), yaml.len() - OTHERS.len());
    }
}
