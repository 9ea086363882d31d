//! The server of an earlier revision, built beside this one.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::cargo::{self, WHOLE};

/// Builds the server of a Git revision, unless it was built before. Its version gets the revision as
/// build metadata, so that two builds of one version are different ones to each other. Dependencies are
/// built once for both, as both use one build folder.
///
/// # Errors
/// There is no such revision, or it cannot be built.
pub(super) fn build(sh: &Shell, revision: &str) -> Result<PathBuf> {
    let commit = commit(sh, revision)?;
    let target = cargo::target(sh);
    let folder = sh.create_dir(target.join("revisions").join(&commit).join("workspace"))?;
    let program = folder.with_file_name("talking-stick");
    if program.is_file() {
        return Ok(program);
    }
    let archive = folder.with_extension("tar");
    cmd!(sh, "git archive --output {archive} {commit}").run()?;
    let _within = sh.push_dir(&folder);
    cmd!(sh, "tar -xf {archive}").run()?;
    let manifest = marked(&sh.read_file("Cargo.toml")?, &commit)?;
    sh.write_file("Cargo.toml", manifest)?;
    cmd!(sh, "cargo build --bin talking-stick {WHOLE...}")
        .env("CARGO_TARGET_DIR", &target)
        .run()?;
    sh.copy_file(target.join("debug/talking-stick"), &program)?;
    Ok(program)
}

/// The short name of a commit.
fn commit(sh: &Shell, revision: &str) -> Result<String> {
    let commit = format!("{revision}^{{commit}}");
    cmd!(sh, "git rev-parse --verify --quiet --short=8 {commit}")
        .read()
        .with_context(|| format!("`{revision}` is no revision of this repository"))
}

fn marked(manifest: &str, commit: &str) -> Result<String> {
    let version = manifest.split_once("\nversion = \"");
    let (before, rest) = version.context("its manifest has no version")?;
    let (version, after) = rest.split_once('"').context("its version has no end")?;
    Ok(format!("{before}\nversion = \"{version}+{commit}\"{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_workspace_gets_the_revision() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n\n[x]\nversion = \"2\"\n";
        let wanted = "[workspace.package]\nversion = \"0.1.0+0123abcd\"\n\n[x]\nversion = \"2\"\n";
        assert_eq!(marked(manifest, "0123abcd").expect("it has one"), wanted);
        assert!(marked("[workspace]\n", "0123abcd").is_err());
    }

    #[test]
    fn a_revision_that_is_not_there_is_named() {
        let sh = cargo::shell().expect("a folder");
        let why = commit(&sh, "no-such-revision").expect_err("there is none");
        assert_eq!(
            why.to_string(),
            "`no-such-revision` is no revision of this repository"
        );
    }
}
