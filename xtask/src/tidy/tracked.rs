//! Every tracked file is of a kind that somebody writes: what a build, a test or a measurement leaves
//! behind is never tracked.

use std::io;
use std::path::Path;
use std::process::Command;

use super::Finding;

/// The extensions of tracked files. A name that begins with a dot has none.
const EXTENSIONS: [&str; 20] = [
    "c", "conf", "css", "html", "js", "json", "lock", "md", "mjs", "patch", "png", "py", "rs",
    "service", "snap", "svg", "toml", "txt", "yaml", "yml",
];

/// The tracked files without an extension.
const NAMES: [&str; 12] = [
    ".dockerignore",
    ".gitattributes",
    ".gitignore",
    "Caddyfile",
    "Dockerfile",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "archive",
    "bundle",
    "run",
    "scenarios",
];

/// The paths that Git tracks below `root`; none where `root` is no checkout.
///
/// # Errors
/// When Git cannot list them.
pub(super) fn paths(root: &Path) -> io::Result<Vec<String>> {
    if !root.join(".git").exists() {
        return Ok(Vec::new());
    }
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()?;
    if !listed.status.success() {
        let why = String::from_utf8_lossy(&listed.stderr).into_owned();
        return Err(io::Error::other(format!("git ls-files: {why}")));
    }
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(listed.split_terminator('\0').map(Into::into).collect())
}

/// The tracked files of an unexpected kind.
pub(super) fn check(paths: &[String]) -> Vec<Finding> {
    paths
        .iter()
        .filter(|path| !is_expected(path))
        .map(|path| Finding {
            path: path.clone(),
            line: None,
            what:
                "a tracked file of an unexpected kind: untrack and ignore it, or add its kind to \
                   xtask/src/tidy/tracked.rs"
                    .into(),
        })
        .collect()
}

fn is_expected(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => EXTENSIONS.contains(&extension),
        _ => NAMES.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_a_measurement_leaves_behind_is_found() {
        let paths = [
            "core/src/hub.rs",
            ".gitignore",
            "Cargo.lock",
            "default_1_0_2.profraw",
            "sim/journal.db-wal",
            "a.out",
            "core/core",
        ];
        let found = check(&paths.map(Into::into));
        let found: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(found, paths[3..]);
    }
}
