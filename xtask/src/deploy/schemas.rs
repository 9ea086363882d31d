//! Files for containers, Kubernetes and GitHub, by the schemas that two Python packages bring along.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::skipped;
use crate::programs::from_pypi;
use crate::scenarios::files;

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

/// Checks all files.
///
/// # Errors
/// Which file differs from its schema; the program has printed where.
pub(super) fn check(sh: &Shell) -> Result<()> {
    let programs = ["check-jsonschema", "kubernetes-validate"];
    let [check, validate] = from_pypi(sh, PLACE, &PACKAGES, programs).map_err(skipped)?;
    let _imports = sh.push_env("PYTHONPATH", cargo::target(sh).join(PLACE));
    for (schema, files) in SCHEMAS {
        cmd!(
            sh,
            "{check} --quiet --builtin-schema vendor.{schema} {files...}"
        )
        .run()?;
    }
    let manifests = manifests(sh)?;
    cmd!(sh, "{validate} --strict --quiet {manifests...}").run()?;
    Ok(())
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
