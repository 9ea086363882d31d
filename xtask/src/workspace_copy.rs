//! A copy of the workspace, with its own build folder. All optimised builds of the check are made in
//! it, and bugs are planted in it: so a planted bug compiles only the changed package and those that
//! depend on it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use xshell::{Shell, cmd};

use crate::cargo;

/// The build profile.
pub(crate) const PROFILE: &str = "release";

/// The profile and packages of each build in the copy. The simulator and the counted benches are
/// selected together, because one alone would select other features of shared dependencies: and
/// everything would be built twice, as it is only for a hunt of all mutants.
pub(crate) const SELECTED: [&str; 7] = [
    "--profile",
    PROFILE,
    "--package",
    "sim",
    "--package",
    "benches",
    "--no-default-features",
];

/// The copy. Only one process uses it at a time.
#[derive(Debug)]
pub(crate) struct WorkspaceCopy {
    /// The workspace's files as they were when the copy was brought up to date. Work on the workspace
    /// does not reach a copy in use.
    sources: BTreeMap<String, Vec<u8>>,
    /// A shell in the copy's root, whose builds have a folder of their own.
    pub(crate) sh: Shell,
    /// Words of every build in addition.
    pub(crate) more: &'static [&'static str],
    /// Locked until it is dropped.
    _lock: File,
}

impl WorkspaceCopy {
    /// Brings the copy up to date. Unchanged files are not touched, so that Cargo builds only what
    /// changed. Waits until no other process uses the copy.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(crate) fn refresh(sh: &Shell) -> Result<Self> {
        let folder = sh.create_dir("target/copy")?;
        let lock = locked(&folder)?;
        let read = |path: String| sh.read_binary_file(&path).map(|text| (path, text));
        let sources = sources(sh)?.into_iter().map(read);
        let copy = Self {
            sources: sources.collect::<Result<_, _>>()?,
            sh: sh.clone(),
            more: &[],
            _lock: lock,
        };
        copy.sh
            .change_dir(copy.sh.create_dir(folder.join("workspace"))?);
        copy.sh.set_var("CARGO_TARGET_DIR", folder.join("target"));
        // A planted bug changes a few lines.
        copy.sh.set_var("CARGO_INCREMENTAL", "1");
        copy.heal()?;
        for path in below(&copy.sh, "")? {
            if !copy.sources.contains_key(&path) {
                copy.sh.remove_path(path)?;
            }
        }
        Ok(copy)
    }

    /// Restores each file to its state when the copy was brought up to date. A changed one gets a new
    /// modification time, so that Cargo does not reuse the build of the mutant.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn heal(&self) -> Result<()> {
        for (path, wanted) in &self.sources {
            if !self
                .sh
                .read_binary_file(path)
                .is_ok_and(|there| there == *wanted)
            {
                self.sh.write_file(path, wanted)?;
            }
        }
        Ok(())
    }

    /// Builds the simulator and the benches, and the programs of these packages, too.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn build(&self, packages: &[&str]) -> Result<()> {
        let packages = packages.iter().flat_map(|package| ["--package", package]);
        // There are no examples: the word selects the features that tests and benches have.
        let all = ["--bins", "--examples"].into_iter().chain(SELECTED);
        self.compile(&all.chain(packages).collect::<Vec<_>>())
    }

    /// Builds what these words select.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn compile(&self, words: &[&str]) -> Result<()> {
        let more = self.more;
        let build = cmd!(self.sh, "cargo build --quiet {words...} {more...}");
        let output = build.ignore_status().output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines = said.lines().skip_while(|line| !line.starts_with("error"));
        let first: Vec<&str> = lines.take(12).collect();
        Err(anyhow!("it does not build:\n{}", first.join("\n")))
    }

    /// The path of a program that was built.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        cargo::target(&self.sh)
            .join(PROFILE)
            .join(cargo::executable(name))
    }
}

/// Locks the copy, or waits until the process that uses it has ended.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn locked(folder: &Path) -> Result<File> {
    let file = File::create(folder.join("lock"))?;
    if file.try_lock().is_err() {
        eprintln!("waiting for the process that uses target/copy");
        file.lock()?;
    }
    Ok(file)
}

/// Every file of the workspace that git tracks, or that is neither tracked nor ignored. All others are no
/// sources.
///
/// # Errors
/// The workspace is no git repository.
pub(crate) fn sources(sh: &Shell) -> Result<Vec<String>> {
    let listed = cmd!(sh, "git ls-files -z --cached --others --exclude-standard").read()?;
    let paths = listed.split_terminator('\0').map(str::to_owned);
    // A file that was deleted but not committed is still listed.
    Ok(paths
        .filter(|path| sh.current_dir().join(path).is_file())
        .collect())
}

/// Every file below a folder, by its path from the shell's folder.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn below(sh: &Shell, folder: &str) -> Result<Vec<String>> {
    let root = sh.current_dir();
    let (mut files, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        for path in sh.read_dir(folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if let Some(path) = path.strip_prefix(&root)?.to_str() {
                files.push(path.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_the_workspace_does_not_reach_a_copy_in_use() {
        let sh = Shell::new().unwrap();
        let folder = sh.create_temp_dir().unwrap();
        sh.change_dir(folder.path());
        cmd!(sh, "git init --quiet").run().unwrap();
        sh.write_file(".gitignore", "target").unwrap();
        sh.write_file("a.rs", "whole").unwrap();
        let copy = WorkspaceCopy::refresh(&sh).unwrap();
        copy.sh.write_file("a.rs", "broken").unwrap();
        sh.write_file("a.rs", "changed meanwhile").unwrap();
        copy.heal().unwrap();
        assert_eq!(copy.sh.read_file("a.rs").unwrap(), "whole");
        drop(copy);
        let next = WorkspaceCopy::refresh(&sh).unwrap();
        assert_eq!(next.sh.read_file("a.rs").unwrap(), "changed meanwhile");
    }
}
