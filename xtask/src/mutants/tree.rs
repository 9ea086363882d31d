//! A copy of the workspace in which bugs are planted, with its own build folder.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{self, Build, Cargo};

/// The build profile of the simulator.
const PROFILE: &str = Build::Quick.name();

/// The copy.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    cargo: &'a Cargo,
    /// The copy's root.
    root: PathBuf,
    /// The copy's build folder.
    target: PathBuf,
}

impl<'a> Tree<'a> {
    /// Brings the copy up to date. Unchanged files are not touched, so that Cargo builds only what
    /// changed.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(crate) fn refresh(cargo: &'a Cargo) -> Result<Self, String> {
        let folder = cargo.root().join("target").join("mutants");
        let tree = Self {
            cargo,
            root: folder.join("tree"),
            target: folder.join("target"),
        };
        tree.take_over(&cargo.root().join("target").join(PROFILE));
        let wanted = files_of(cargo.root())?;
        for path in &wanted {
            tree.restore(path)?;
        }
        let mut found = Vec::new();
        gather(&tree.root, "", &mut found)?;
        for path in found.iter().filter(|path| !wanted.contains(path)) {
            fs::remove_file(tree.root.join(path))
                .map_err(|error| format!("cannot remove the old {path}: {error}"))?;
        }
        Ok(tree)
    }

    /// Reuses the workspace's build products by hard links, so that dependencies are not compiled
    /// again. The copy's own packages have other names there, because their paths differ. Products
    /// that cannot be linked are built.
    fn take_over(&self, built: &Path) {
        let to = self.target.join(PROFILE);
        if to.exists() {
            return;
        }
        for folder in ["build", "deps", ".fingerprint"] {
            link_all(&built.join(folder), &to.join(folder));
        }
    }

    /// Restores one file to its state in the workspace. It gets a new modification time, so that
    /// Cargo does not reuse the build of the mutant.
    ///
    /// # Errors
    /// The file cannot be read or written.
    fn restore(&self, path: &str) -> Result<(), String> {
        let said = |error| format!("cannot copy {path}: {error}");
        let wanted = fs::read(self.cargo.root().join(path)).map_err(said)?;
        let to = self.root.join(path);
        if fs::read(&to).is_ok_and(|there| there == wanted) {
            return Ok(());
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(said)?;
        }
        fs::write(&to, wanted).map_err(said)
    }

    /// Plants a mutant.
    ///
    /// # Errors
    /// The patch does not apply.
    pub(crate) fn plant(&self, diff: &str) -> Result<(), String> {
        self.apply(&[], diff)
    }

    /// Checks that a mutant could be planted.
    ///
    /// # Errors
    /// The patch does not apply.
    pub(crate) fn check(&self, diff: &str) -> Result<(), String> {
        self.apply(&["--check"], diff)
    }

    fn apply(&self, words: &[&str], diff: &str) -> Result<(), String> {
        let ceiling = self.root.parent().unwrap_or(&self.root);
        let mut git = Command::new("git")
            .arg("apply")
            .args(words)
            .arg("-")
            .current_dir(&self.root)
            // Without this, git would find the repository around the copy, and resolve the paths
            // there.
            .env("GIT_CEILING_DIRECTORIES", ceiling)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("git did not start: {error}"))?;
        if let Some(mut input) = git.stdin.take() {
            input
                .write_all(diff.as_bytes())
                .map_err(|error| format!("git apply took no input: {error}"))?;
        }
        let output = git
            .wait_with_output()
            .map_err(|error| format!("git apply: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("the patch does not apply: {}", said.trim()))
    }

    /// Removes the mutant from these files.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(crate) fn heal(&self, files: &[String]) -> Result<(), String> {
        files.iter().try_for_each(|path| self.restore(path))
    }

    /// Builds the copy's simulator.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn build(&self) -> Result<(), String> {
        let words = ["build", "--quiet", "--profile", PROFILE, "--package", "sim"];
        let output = self
            .cargo
            .command_in(&self.root, &words)
            .env("CARGO_TARGET_DIR", &self.target)
            .output()
            .map_err(|error| format!("cargo did not start: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first: Vec<&str> = said
            .lines()
            .skip_while(|line| !line.starts_with("error"))
            .take(12)
            .collect();
        Err(format!("it does not build:\n{}", first.join("\n")))
    }

    /// The command of the simulator that was built last, in the copy's root.
    pub(crate) fn sim(&self) -> Command {
        let name = format!("sim{}", std::env::consts::EXE_SUFFIX);
        let mut command = Command::new(self.target.join(PROFILE).join(name));
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// The copy's root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

/// Every file that git tracks, or that is neither tracked nor ignored. All others are no sources.
fn files_of(root: &Path) -> Result<Vec<String>, String> {
    let words = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let output = Command::new("git")
        .args(words)
        .current_dir(root)
        .output()
        .map_err(|error| format!("git did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "`git {}` {}; mutants need the git repository",
            words.join(" "),
            cargo::ended(output.status)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .split('\0')
        // A file that was deleted but not committed is still listed.
        .filter(|path| !path.is_empty() && root.join(path).is_file())
        .map(str::to_owned)
        .collect())
}

/// Hard-links every file of a folder into another one.
fn link_all(from: &Path, to: &Path) {
    let _ = fs::create_dir_all(to);
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            link_all(&from, &to);
        } else {
            let _ = fs::hard_link(&from, &to);
        }
    }
}

/// Every file below a folder of the copy.
fn gather(root: &Path, folder: &str, files: &mut Vec<String>) -> Result<(), String> {
    let entries = fs::read_dir(root.join(folder))
        .map_err(|error| format!("cannot read the copy's {folder}: {error}"))?;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        };
        if entry.path().is_dir() {
            gather(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
