//! What Cargo builds and installs, in the folders that it uses.

use std::path::PathBuf;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::outcome::is_ci;

/// The whole workspace, with the features that a release has. All steps that build in debug select the
/// same packages and features, because others would compile shared dependencies again.
pub(crate) const WHOLE: [&str; 3] = [
    "--workspace",
    "--features",
    "server/cluster,server/postgres,sim/tls",
];

/// A shell in the workspace's root.
///
/// # Errors
/// This process has no working directory.
pub(crate) fn shell() -> Result<Shell> {
    let sh = Shell::new()?;
    sh.change_dir(crate::root());
    if is_ci() {
        // CI builds once, so incremental builds do not pay; and it debugs nothing.
        sh.set_var("CARGO_PROFILE_DEV_INCREMENTAL", "false");
        sh.set_var("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    Ok(sh)
}

/// Builds every program in debug, and returns the path of the named one.
///
/// # Errors
/// The build failed.
pub(crate) fn program(sh: &Shell, name: &str) -> Result<PathBuf> {
    // As the step `test` does.
    cmd!(sh, "cargo test --no-run {WHOLE...}").run()?;
    Ok(target(sh).join("debug").join(executable(name)))
}

/// The name of a program's file.
pub(crate) fn executable(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

/// The folder that Cargo builds in.
pub(crate) fn target(sh: &Shell) -> PathBuf {
    let target = sh.var_os("CARGO_TARGET_DIR");
    crate::root().join(target.unwrap_or_else(|| "target".into()))
}

/// A folder of this program's own files, created if it is missing.
///
/// # Errors
/// It cannot be created.
pub(crate) fn scratch(sh: &Shell, name: &str) -> Result<PathBuf> {
    Ok(sh.create_dir(crate::root().join("target/xtask").join(name))?)
}

/// A folder of this program's own files, emptied.
///
/// # Errors
/// It cannot be emptied or created.
pub(crate) fn empty_scratch(sh: &Shell, name: &str) -> Result<PathBuf> {
    sh.remove_path(scratch(sh, name)?)?;
    scratch(sh, name)
}

/// A folder of this program's own files with a copy of all files in a folder of the workspace.
///
/// # Errors
/// A file that cannot be copied.
pub(crate) fn copied(sh: &Shell, folder: &str, name: &str) -> Result<PathBuf> {
    let copy = scratch(sh, name)?;
    for path in sh.read_dir(folder)? {
        if path.is_file() {
            sh.copy_file(path, &copy)?;
        }
    }
    Ok(copy)
}
