//! A copy of the workspace, with its own build folder. All optimised builds of the check are made in
//! it, and bugs are planted in it: so a planted bug compiles only the changed package and those that
//! depend on it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{self, Cargo};

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

/// The folder of the copy and of its builds.
const FOLDER: &str = "target/copy";

/// The copy. Only one process uses it at a time.
#[derive(Debug)]
pub(crate) struct WorkspaceCopy<'a> {
    cargo: &'a Cargo,
    /// The copy's root.
    root: PathBuf,
    /// The copy's build folder.
    target: PathBuf,
    /// Locked until it is dropped.
    _lock: File,
}

impl<'a> WorkspaceCopy<'a> {
    /// Brings the copy up to date. Unchanged files are not touched, so that Cargo builds only what
    /// changed. Waits until no other process uses the copy.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(crate) fn refresh(cargo: &'a Cargo) -> Result<Self, String> {
        let folder = cargo.root().join(FOLDER);
        let copy = Self {
            cargo,
            root: folder.join("workspace"),
            target: folder.join("target"),
            _lock: locked(&folder)?,
        };
        let wanted = files_of(cargo.root())?;
        for path in &wanted {
            copy.restore(path)?;
        }
        let mut found = Vec::new();
        gather(&copy.root, "", &mut found)?;
        for path in found.iter().filter(|path| !wanted.contains(path)) {
            fs::remove_file(copy.root.join(path))
                .map_err(|error| format!("cannot remove the old {path}: {error}"))?;
        }
        Ok(copy)
    }

    /// Restores one file to its state in the workspace. It gets a new modification time, so that
    /// Cargo does not reuse the build of the mutant.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn restore(&self, path: &str) -> Result<(), String> {
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

    /// Applies a diff.
    ///
    /// # Errors
    /// It does not apply.
    pub(crate) fn plant(&self, diff: &str) -> Result<(), String> {
        let ceiling = self.root.parent().unwrap_or(&self.root);
        let mut git = Command::new("git")
            .args(["apply", "-"])
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

    /// Builds packages of the copy.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn build(&self) -> Result<(), String> {
        self.build_with(&[])
    }

    /// Builds the programs of these packages, too.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn build_with(&self, packages: &[&str]) -> Result<(), String> {
        // There are no examples: the word selects the features that tests and benches have.
        let mut words = vec!["--bins", "--examples"];
        words.extend(SELECTED);
        words.extend(packages.iter().flat_map(|package| ["--package", package]));
        self.compile(&words)
    }

    /// Builds one package alone, with this feature.
    ///
    /// # Errors
    /// The compiler's output.
    pub(crate) fn build_alone(&self, package: &str, feature: &str) -> Result<(), String> {
        self.compile(&[
            "--profile",
            PROFILE,
            "--package",
            package,
            "--features",
            feature,
        ])
    }

    fn compile(&self, words: &[&str]) -> Result<(), String> {
        let words = [&["build", "--quiet"], words].concat();
        let output = self
            .command(&words)
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

    /// The command `cargo words…` in the copy.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.cargo.command_in(&self.root, words);
        command.env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// The path of a program that was built.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.target.join(PROFILE).join(name)
    }

    /// The command of the simulator that was built last, in the copy's root.
    pub(crate) fn sim(&self) -> Command {
        let mut command = Command::new(self.program("sim"));
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// The copy's root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

/// Locks the copy, or waits until the process that uses it has ended.
fn locked(folder: &Path) -> Result<File, String> {
    let said = |error| format!("cannot lock {}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(said)?;
    let file = File::create(folder.join("lock")).map_err(said)?;
    if file.try_lock().is_err() {
        say("waiting for the process that uses target/copy");
        file.lock().map_err(said)?;
    }
    Ok(file)
}

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn say(text: &str) {
    eprintln!("{text}");
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
            "`git {}` {}; the copy needs the git repository",
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
