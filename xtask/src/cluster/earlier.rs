//! The server of an earlier revision, built beside this one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, WHOLE};
use crate::programs::run;

/// Builds the server of a Git revision, unless it was built before. Its version gets the revision as
/// build metadata, so that two builds of one version are different ones to each other. Dependencies are
/// built once for both, as both use one build folder.
///
/// # Errors
/// There is no such revision, or it cannot be built.
pub(super) fn build(cargo: &Cargo, revision: &str) -> Result<PathBuf, String> {
    let commit = commit(cargo.root(), revision)?;
    let folder = cargo.target().join("revisions").join(&commit);
    let program = folder.join("talking-stick");
    if program.is_file() {
        return Ok(program);
    }
    let workspace = folder.join("workspace");
    unpack(cargo.root(), &commit, &workspace)?;
    mark(&workspace.join("Cargo.toml"), &commit)?;
    let words = [&["build", "--bin", "talking-stick"], &WHOLE[..]].concat();
    run(cargo
        .command_in(&workspace, &words)
        .env("CARGO_TARGET_DIR", cargo.target()))
    .map_err(|why| format!("revision {commit} is not built: {why}"))?;
    let built = cargo.target().join("debug/talking-stick");
    fs::copy(&built, &program)
        .map_err(|error| format!("cannot copy {}: {error}", built.display()))?;
    Ok(program)
}

/// The short name of a commit.
fn commit(root: &Path, revision: &str) -> Result<String, String> {
    let output = Command::new("git")
        .args(["rev-parse", "--verify", "--quiet", "--short=8"])
        .arg(format!("{revision}^{{commit}}"))
        .current_dir(root)
        .output()
        .map_err(|error| format!("`git` did not start: {error}"))?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match output.status.success() {
        true => Ok(name),
        false => Err(format!("`{revision}` is no revision of this repository")),
    }
}

/// Puts the files of a commit into a folder.
fn unpack(root: &Path, commit: &str, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let archive = folder.with_extension("tar");
    run(Command::new("git")
        .arg("archive")
        .arg(format!("--output={}", archive.display()))
        .arg(commit)
        .current_dir(root))?;
    run(Command::new("tar")
        .arg("-xf")
        .arg(&archive)
        .current_dir(folder))
}

/// Adds the revision to the version of the workspace.
fn mark(manifest: &Path, commit: &str) -> Result<(), String> {
    let said = |error| format!("cannot mark {}: {error}", manifest.display());
    let text = fs::read_to_string(manifest).map_err(said)?;
    fs::write(manifest, marked(&text, commit)?).map_err(said)
}

fn marked(manifest: &str, commit: &str) -> Result<String, String> {
    let (before, rest) = manifest
        .split_once("\nversion = \"")
        .ok_or("its manifest has no version")?;
    let (version, after) = rest.split_once('"').ok_or("its version has no end")?;
    Ok(format!("{before}\nversion = \"{version}+{commit}\"{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_workspace_gets_the_revision() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n\n[x]\nversion = \"2\"\n";
        let wanted = "[workspace.package]\nversion = \"0.1.0+0123abcd\"\n\n[x]\nversion = \"2\"\n";
        assert_eq!(marked(manifest, "0123abcd").as_deref(), Ok(wanted));
        assert!(marked("[workspace]\n", "0123abcd").is_err());
    }

    #[test]
    fn a_revision_that_is_not_there_is_named() {
        let why = commit(&crate::root(), "no-such-revision").expect_err("there is none");
        assert_eq!(why, "`no-such-revision` is no revision of this repository");
    }
}
