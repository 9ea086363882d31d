//! Calls Cargo from the workspace's root.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::outcome::Outcome;
use crate::outcome::Strictness;

/// Cargo, called from the workspace's root.
#[derive(Debug)]
pub(crate) struct Cargo {
    program: OsString,
    root: PathBuf,
}

/// The whole workspace, with the features that a release has. All steps that build in debug select the
/// same packages and features, because others would compile shared dependencies again.
pub(crate) const WHOLE: [&str; 3] = [
    "--workspace",
    "--features",
    "server/cluster,server/postgres,sim/tls",
];

impl Cargo {
    /// The Cargo that runs this program, called from `root`.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            program: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            root,
        }
    }

    /// The workspace's root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs `cargo words…` and shows its output.
    pub(crate) fn run(&self, words: &[&str]) -> Outcome {
        self.run_with(&[], words)
    }

    /// Runs `cargo words…` with environment variables, and shows its output.
    pub(crate) fn run_with(&self, environment: &[(&str, &str)], words: &[&str]) -> Outcome {
        let status = self
            .command(words)
            .envs(environment.iter().copied())
            .status();
        let said = format!("cargo {}", words.join(" "));
        match status {
            Ok(status) if status.success() => Outcome::Passed,
            Ok(status) => Outcome::Failed(format!("`{said}` {}", ended(status))),
            Err(error) => Outcome::Failed(format!("`{said}` did not start: {error}")),
        }
    }

    /// Whether `cargo subcommand` is installed.
    pub(crate) fn has(&self, subcommand: &str) -> bool {
        self.command(&[subcommand, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Checks that a program is there, and installs its package from the registry otherwise:
    /// without optimisation, which would take longer than it saves.
    ///
    /// # Errors
    /// Why it is missing.
    pub(crate) fn there_or_installed(
        &self,
        is_there: impl Fn() -> bool,
        (package, version): (&str, &str),
        more: &[&str],
    ) -> Result<(), String> {
        if is_there() {
            return Ok(());
        }
        let words = [
            "install",
            "--locked",
            "--debug",
            package,
            "--version",
            version,
        ];
        let installed = self.run_with(
            &[("CARGO_PROFILE_DEV_DEBUG", "false")],
            &[&words, more].concat(),
        );
        if is_there() {
            return Ok(());
        }
        let why = match installed {
            Outcome::Failed(why) | Outcome::Skipped(why) => why,
            Outcome::Passed => "it brought another program".into(),
        };
        Err(format!("{package} {version} is not installed: {why}"))
    }

    /// Builds every program in debug, and returns the path of the named one.
    ///
    /// # Errors
    /// The outcome of a failed build.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, Outcome> {
        // As the step `test` does.
        let build = [&["test", "--no-run"][..], &WHOLE].concat();
        match self.run(&build) {
            Outcome::Passed => Ok(self.debug(name)),
            other @ (Outcome::Failed(_) | Outcome::Skipped(_)) => Err(other),
        }
    }

    /// The path of a program that was built in debug.
    fn debug(&self, name: &str) -> PathBuf {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.target().join("debug").join(name)
    }

    /// The folder that Cargo builds in.
    pub(crate) fn target(&self) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        self.root.join(target)
    }

    /// The folder of this program's own files, created if it is missing.
    ///
    /// # Errors
    /// It cannot be created.
    pub(crate) fn scratch(&self) -> Result<PathBuf, String> {
        let folder = self.root.join("target").join("xtask");
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(folder)
    }

    fn command(&self, words: &[&str]) -> Command {
        self.command_in(&self.root, words)
    }

    /// The command `cargo words…` in another folder.
    pub(crate) fn command_in(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(folder).stdin(Stdio::null());
        if Strictness::from_environment() == Strictness::Strict {
            // CI builds once, so incremental builds do not pay; and it debugs nothing.
            command.env("CARGO_PROFILE_DEV_INCREMENTAL", "false");
            command.env("CARGO_PROFILE_DEV_DEBUG", "false");
        }
        command
    }
}

/// An exit status in words, to follow the program's name in a sentence.
pub(crate) fn ended(status: ExitStatus) -> String {
    status.code().map_or_else(
        || "was killed by a signal".into(),
        |code| format!("ended with exit code {code}"),
    )
}
