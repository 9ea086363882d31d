//! External programs: found, installed if they are missing, and run.

use std::process::{Command, Stdio};

use crate::cargo::ended;

/// Checks that Node and npm are installed, and installs them otherwise.
///
/// # Errors
/// Why they are missing.
pub(crate) fn node() -> Result<(), String> {
    there_or_installed(&["node", "npm"], &["nodejs", "npm"])
}

/// Checks that all of these programs are installed, and installs these packages otherwise.
///
/// # Errors
/// Why they are missing.
pub(crate) fn there_or_installed(programs: &[&str], packages: &[&str]) -> Result<(), String> {
    let there = || programs.iter().all(|program| answers(program));
    if there() {
        return Ok(());
    }
    let installed = install(packages);
    if there() {
        return Ok(());
    }
    let why = installed.err().unwrap_or_else(|| "it brought none".into());
    Err(format!(
        "{} is not installed, and `apt-get install {}` did not help: {why}",
        programs.join(" or "),
        packages.join(" ")
    ))
}

/// Whether a program is installed and answers `--version`.
pub(crate) fn answers(program: &str) -> bool {
    answers_to(program, "--version")
}

/// Whether a program is installed and accepts this argument.
pub(crate) fn answers_to(program: &str, word: &str) -> bool {
    Command::new(program)
        .arg(word)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs packages of the system, which needs root.
///
/// A first attempt may fail because an installation before it was interrupted, or because the
/// lists of packages are missing or old. Both are mended before the second attempt.
///
/// # Errors
/// Why they were not installed.
pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    let attempt = || {
        let mut words = vec!["install", "--yes", "--no-install-recommends"];
        words.extend(packages);
        run(apt_get().args(words))
    };
    attempt().or_else(|_| {
        // Each of these may have nothing to mend. The second attempt says what is still wrong.
        let _ = run(unattended("dpkg").args(["--configure", "-a"]));
        let _ = run(apt_get().args(["install", "--fix-broken", "--yes"]));
        let _ = run(apt_get().arg("update"));
        attempt()
    })
}

/// `apt-get`, which waits while another program installs, and tries each download again.
fn apt_get() -> Command {
    let mut command = unattended("apt-get");
    command.args(["-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3"]);
    command
}

/// A program that asks no questions while it installs.
fn unattended(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Runs a program and shows its output.
///
/// # Errors
/// Why it did not start, or its exit status if it failed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` {}", ended(status))),
        Err(error) => Err(format!("`{name}` did not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{answers, run};

    #[test]
    fn a_missing_program_is_named() {
        assert!(!answers("no-such-program"));
        let error = run(&mut Command::new("no-such-program")).expect_err("there is none");
        assert!(
            error.starts_with("`no-such-program` did not start: "),
            "{error}"
        );
    }

    #[test]
    fn a_failing_program_is_reported_with_its_code() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).expect_err("it fails");
        assert_eq!(error, "`sh` ended with exit code 3");
    }
}
