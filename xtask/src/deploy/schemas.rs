//! Files for containers, Kubernetes and GitHub, by the schemas that two Python packages bring along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::Cargo;
use crate::programs::{answers, run, there_or_installed};

/// The packages, which are installed by pip into a folder of the target.
const PACKAGES: [&str; 2] = ["check-jsonschema==0.39.0", "kubernetes-validate==1.37.0"];

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

/// The programs.
pub(super) struct Schemas {
    folder: PathBuf,
}

impl Schemas {
    /// Installs the packages unless they are there.
    ///
    /// # Errors
    /// Why they are missing.
    pub(super) fn installed(cargo: &Cargo) -> Result<Self, String> {
        let folder = cargo.scratch()?.join(PACKAGES.join("-").replace("==", "-"));
        let schemas = Self { folder };
        let is_there = || {
            let programs = ["check-jsonschema", "kubernetes-validate"];
            let paths = programs.map(|name| schemas.program(name));
            paths.iter().all(|path| answers(&path.to_string_lossy()))
        };
        if !is_there() {
            there_or_installed(&["python3"], &["python3", "python3-venv"])?;
            run(Command::new("python3")
                .args(["-m", "venv"])
                .arg(&schemas.folder))?;
            run(Command::new(schemas.program("python"))
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                ])
                .args(PACKAGES))?;
        }
        match is_there() {
            true => Ok(schemas),
            false => Err(format!("{} do not run", PACKAGES.join(" and "))),
        }
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Checks all files.
    ///
    /// # Errors
    /// Which file differs from its schema; the program has printed where.
    pub(super) fn check(&self, root: &Path) -> Result<(), String> {
        for (schema, files) in SCHEMAS {
            let schema = format!("vendor.{schema}");
            run(Command::new(self.program("check-jsonschema"))
                .args(["--quiet", "--builtin-schema", &schema])
                .args(files)
                .current_dir(root))
            .map_err(|why| format!("{}: {why}", files.join(", ")))?;
        }
        let manifests = manifests(root)?;
        run(Command::new(self.program("kubernetes-validate"))
            .args(["--strict", "--quiet"])
            .args(&manifests)
            .current_dir(root))
        .map_err(|why| format!("{}: {why}", manifests.join(", ")))
    }
}

fn manifests(root: &Path) -> Result<Vec<String>, String> {
    let said = |error| format!("cannot list {MANIFESTS}: {error}");
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(MANIFESTS)).map_err(said)? {
        let name = entry.map_err(said)?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".yaml") && !OTHERS.contains(&&*name) {
            found.push(format!("{MANIFESTS}/{name}"));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of this folder with this ending.
    fn in_folder(folder: &str, ending: &str) -> Vec<String> {
        let list = fs::read_dir(crate::root().join(folder)).expect("it is there");
        let names = list.map(|entry| entry.expect("it is there").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let named = names.filter(|name| name.ends_with(ending));
        named.map(|name| format!("{folder}/{name}")).collect()
    }

    #[test]
    fn every_workflow_and_every_manifest_has_a_schema() {
        let all: Vec<_> = SCHEMAS.into_iter().flat_map(|(_, files)| files).collect();
        let workflows = in_folder(".github/workflows", ".yml");
        assert!(workflows.len() > 1);
        assert!(workflows.iter().all(|file| all.contains(&&&**file)));
        let manifests = manifests(&crate::root()).expect("it is a folder");
        assert_eq!(
            manifests.len(),
            in_folder(MANIFESTS, ".yaml").len() - OTHERS.len()
        );
    }
}
