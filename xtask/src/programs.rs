//! External programs: found, and installed if they are missing.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::is_ci;

/// Checks that Node and npm are installed, and installs them otherwise.
///
/// # Errors
/// Why they are missing.
pub(crate) fn node(sh: &Shell) -> Result<()> {
    there_or_installed(sh, &["node", "npm"], "nodejs npm")
}

/// Installs what npm's lock file in the shell's folder lists.
///
/// # Errors
/// Why it is missing.
pub(crate) fn npm(sh: &Shell) -> Result<()> {
    Ok(cmd!(sh, "npm ci --ignore-scripts --no-audit --no-fund").run()?)
}

/// Installs packages by pip into an environment of Python's at this place, from the shell's folder.
///
/// # Errors
/// Why they are missing.
pub(crate) fn pip(sh: &Shell, place: impl AsRef<Path>, packages: &[&str]) -> Result<()> {
    let place = sh.current_dir().join(place);
    let python = place.join("bin/python");
    if !python.exists() {
        there_or_installed(sh, &["python3"], "python3 python3-venv")?;
        cmd!(sh, "python3 -m venv {place}").run()?;
    }
    let quietly = ["install", "--quiet", "--disable-pip-version-check"];
    Ok(cmd!(sh, "{python} -m pip {quietly...} {packages...}").run()?)
}

/// The programs that pip installs with these packages, in this place of the build folder, unless they are
/// there.
///
/// # Errors
/// Why they are missing.
pub(crate) fn from_pypi<const N: usize>(
    sh: &Shell,
    place: &str,
    packages: &[&str],
    programs: [&str; N],
) -> Result<[PathBuf; N]> {
    let place = cargo::target(sh).join(place);
    let paths = programs.map(|name| place.join("bin").join(name));
    let look = || paths.iter().all(|path| answers(sh, path)).then_some(());
    found_or(look, || pip(sh, &place, packages))
        .with_context(|| format!("{} do not run", programs.join(" and ")))?;
    Ok(paths)
}

/// What is looked for, after it was installed if it is missing.
fn found_or<T>(look: impl Fn() -> Option<T>, install: impl FnOnce() -> Result<()>) -> Result<T> {
    if let Some(found) = look() {
        return Ok(found);
    }
    let installed = install();
    look().ok_or_else(|| {
        let why = installed.err();
        why.unwrap_or_else(|| anyhow!("it brought none"))
    })
}

/// Checks that a program is there, and installs its package from Cargo's registry otherwise: without
/// optimisation, which would take longer than it saves.
///
/// # Errors
/// Why it is missing.
pub(crate) fn from_cargo(
    sh: &Shell,
    is_there: impl Fn() -> bool,
    (package, version): (&str, &str),
    more: &[&str],
) -> Result<()> {
    let install = "install --locked --debug".split(' ');
    let install = cmd!(
        sh,
        "cargo {install...} {package} --version {version} {more...}"
    );
    let install = install.env("CARGO_PROFILE_DEV_DEBUG", "false");
    found_or(|| is_there().then_some(()), || Ok(install.run()?))
        .with_context(|| format!("{package} {version} is not installed"))
}

/// Checks that all of these programs are installed, and installs these packages of the system otherwise.
///
/// # Errors
/// Why they are missing.
pub(crate) fn there_or_installed(sh: &Shell, programs: &[&str], packages: &str) -> Result<()> {
    let there = || programs.iter().all(|program| answers(sh, program));
    found_or_installed(sh, || there().then_some(()), packages)
}

/// What is looked for, after these packages of the system were installed if it is missing.
///
/// # Errors
/// Why it is missing.
pub(crate) fn found_or_installed<T>(
    sh: &Shell,
    look: impl Fn() -> Option<T>,
    packages: &str,
) -> Result<T> {
    found_or(look, || install(sh, packages))
        .with_context(|| format!("`apt-get install {packages}` did not help"))
}

/// Whether a program is installed and says its version, or how it is used.
pub(crate) fn answers(sh: &Shell, program: impl AsRef<Path>) -> bool {
    ["--version", "-h"].iter().any(|word| {
        let asked = sh.cmd(&program).arg(word).quiet();
        asked.ignore_stdout().ignore_stderr().run().is_ok()
    })
}

/// Installs packages of the system, which needs root: by `sudo`, if this is another user.
///
/// A first attempt may fail because an installation before it was interrupted, or because the
/// lists of packages are missing or old. Both are mended before the second attempt.
fn install(sh: &Shell, packages: &str) -> Result<()> {
    let _one_at_a_time = lock(sh)?;
    let is_root = cmd!(sh, "id -u").quiet().read()? == "0";
    // On a terminal it may ask for a password.
    let sudo = match (is_root, is_ci()) {
        (true, _) => "env",
        (false, true) => "sudo --non-interactive env",
        (false, false) => "sudo env",
    };
    let as_root = |command: &str| -> Result<()> {
        let words = format!("{sudo} DEBIAN_FRONTEND=noninteractive {command}");
        Ok(sh.cmd("env").args(words.split(' ')).run()?)
    };
    // It waits while another program installs, and tries each download again.
    let apt = "apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3";
    let install = format!("{apt} install --yes --no-install-recommends {packages}");
    if as_root(&install).is_ok() {
        return Ok(());
    }
    let unbroken = format!("{apt} install --fix-broken --yes");
    for mend in ["dpkg --configure -a", &unbroken, &format!("{apt} update")] {
        // It may have nothing to mend. The second attempt says what is still wrong.
        let _ = as_root(mend);
    }
    as_root(&install)
}

/// Waits for steps that install packages of the system now. `apt-get` waits for others by itself, but
/// not while they update the lists of packages.
fn lock(sh: &Shell) -> Result<File> {
    let path = cargo::scratch(sh, "")?.join("packages.lock");
    let file = File::create(&path).and_then(|file| file.lock().map(|()| file));
    file.with_context(|| format!("cannot lock {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{answers, found_or_installed};

    #[test]
    fn a_missing_program_does_not_answer() {
        let sh = crate::cargo::shell().expect("a folder");
        assert!(answers(&sh, "cargo"));
        assert!(!answers(&sh, "no-such-program"));
        let found = found_or_installed(&sh, || Some(1), "no-such-package");
        assert_eq!(found.expect("it is there"), 1);
    }
}
