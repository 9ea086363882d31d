//! External programs: found, installed if they are missing, and run.

use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, ended};

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
    let _one_at_a_time = lock()?;
    let mut words = vec!["install", "--yes", "--no-install-recommends"];
    words.extend(packages);
    run(apt_get().args(&words)).or_else(|_| {
        // Each of these may have nothing to mend. The second attempt says what is still wrong.
        let _ = run(unattended("dpkg").args(["--configure", "-a"]));
        let _ = run(apt_get().args(["install", "--fix-broken", "--yes"]));
        let _ = run(apt_get().arg("update"));
        run_with_reason(apt_get().args(&words))
    })
}

/// Waits for steps that install packages of the system now. `apt-get` waits for others by itself, but
/// not while they update the lists of packages.
fn lock() -> Result<File, String> {
    let path = Cargo::new(crate::root()).scratch()?.join("packages.lock");
    File::create(&path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| format!("cannot lock {}: {error}", path.display()))
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

/// Runs a program whose errors are shown when it has ended.
///
/// # Errors
/// Why it did not start, or its exit status and the last line of its errors if it failed.
fn run_with_reason(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::inherit())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .map_err(|error| format!("`{name}` did not start: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let _ = std::io::stderr().write_all(&output.stderr);
    if output.status.success() {
        return Ok(());
    }
    let reason = errors.lines().rfind(|line| !line.trim().is_empty());
    Err(format!(
        "`{name}` {}: {}",
        ended(output.status),
        reason.unwrap_or("it printed no error")
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{answers, run, run_with_reason};

    #[test]
    fn the_last_error_of_a_failing_program_is_its_reason() {
        let script = "echo first >&2; echo 'E: no space' >&2; exit 100";
        let error = run_with_reason(Command::new("sh").args(["-c", script])).expect_err("it fails");
        assert_eq!(error, "`sh` ended with exit code 100: E: no space");
    }

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
