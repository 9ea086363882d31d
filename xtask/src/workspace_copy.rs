//! A copy of the workspace, with its own build folder. All optimised builds of the check are made in
//! it, and bugs are planted in it: so a planted bug compiles only the changed package and those that
//! depend on it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use xshell::{Cmd, Shell, cmd};

use crate::cargo;

/// The build profile.
pub(crate) const PROFILE: &str = "quick";

/// The profile and packages of each build in the copy. The simulator and the counted benches are
/// selected together, because one alone would select other features of shared dependencies: and
/// everything would be built twice.
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
    /// The workspace's root.
    original: PathBuf,
    /// A shell in the copy's root, whose builds have a folder of their own.
    sh: Shell,
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
        let copy = Self {
            original: sh.current_dir(),
            sh: sh.clone(),
            _lock: locked(&folder)?,
        };
        copy.sh
            .change_dir(copy.sh.create_dir(folder.join("workspace"))?);
        copy.sh.set_var("CARGO_TARGET_DIR", folder.join("target"));
        let wanted: BTreeSet<_> = sources(sh, &[])?.into_iter().collect();
        for path in &wanted {
            copy.restore(path)?;
        }
        for path in below(copy.root(), "")? {
            if !wanted.contains(&path) {
                copy.sh.remove_path(path)?;
            }
        }
        Ok(copy)
    }

    /// Restores one file to its state in the workspace. It gets a new modification time, so that
    /// Cargo does not reuse the build of the mutant.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn restore(&self, path: &str) -> Result<()> {
        let wanted = self.sh.read_binary_file(self.original.join(path))?;
        if fs::read(self.root().join(path)).is_ok_and(|there| there == wanted) {
            return Ok(());
        }
        Ok(self.sh.write_file(path, wanted)?)
    }

    /// Applies a diff.
    ///
    /// # Errors
    /// It does not apply.
    pub(crate) fn plant(&self, diff: &str) -> Result<()> {
        let root = self.root();
        cmd!(self.sh, "git apply -")
            // Without this, git would find the repository around the copy, and resolve the paths
            // there.
            .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(&root))
            .stdin(diff)
            .quiet()
            .run()
            .context("the patch does not apply")
    }

    /// Builds the simulator and the benches, and the programs of these packages, too.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn build(&self, packages: &[&str]) -> Result<()> {
        let packages = packages.iter().flat_map(|package| ["--package", package]);
        // There are no examples: the word selects the features that tests and benches have.
        self.compile(cmd!(
            self.sh,
            "cargo build --quiet --bins --examples {SELECTED...} {packages...}"
        ))
    }

    /// Builds one package alone, with this feature.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn build_alone(&self, package: &str, feature: &str) -> Result<()> {
        let what = [
            "--profile",
            PROFILE,
            "--package",
            package,
            "--features",
            feature,
        ];
        self.compile(cmd!(self.sh, "cargo build --quiet {what...}"))
    }

    fn compile(&self, build: Cmd<'_>) -> Result<()> {
        let output = build.ignore_status().output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines = said.lines().skip_while(|line| !line.starts_with("error"));
        let first: Vec<&str> = lines.take(12).collect();
        Err(anyhow!("it does not build:\n{}", first.join("\n")))
    }

    /// A shell in the copy's root.
    pub(crate) const fn sh(&self) -> &Shell {
        &self.sh
    }

    /// The path of a program that was built.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        cargo::target(&self.sh)
            .join(PROFILE)
            .join(cargo::executable(name))
    }

    /// The copy's root.
    pub(crate) fn root(&self) -> PathBuf {
        self.sh.current_dir()
    }
}

/// Locks the copy, or waits until the process that uses it has ended.
fn locked(folder: &Path) -> Result<File> {
    let file = File::create(folder.join("lock"))?;
    if file.try_lock().is_err() {
        say("waiting for the process that uses target/copy");
        file.lock()?;
    }
    Ok(file)
}

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// Every file below these paths, or of the whole workspace, that git tracks, or that is neither tracked nor
/// ignored. All others are no sources.
///
/// # Errors
/// The workspace is no git repository.
pub(crate) fn sources(sh: &Shell, paths: &[&str]) -> Result<Vec<String>> {
    let listed = cmd!(
        sh,
        "git ls-files -z --cached --others --exclude-standard -- {paths...}"
    );
    let listed = listed.read()?;
    let paths = listed.split_terminator('\0').map(str::to_owned);
    // A file that was deleted but not committed is still listed.
    Ok(paths
        .filter(|path| sh.current_dir().join(path).is_file())
        .collect())
}

/// Every file below a folder, by its path from `root`.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn below(root: impl AsRef<Path>, folder: &str) -> Result<Vec<String>> {
    let root = root.as_ref();
    let (mut files, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(path) = path.strip_prefix(root)?.to_str() {
                files.push(path.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}
