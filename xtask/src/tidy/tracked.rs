//! Requires that each file which git does not ignore has the extension or the name of a source. Builds,
//! tests and measurements leave other files behind, which nobody tracks.

use super::{Finding, finding};

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

/// The files of an unexpected kind.
pub(super) fn check(paths: &[String]) -> Vec<Finding> {
    let what =
        "a file of an unexpected kind: ignore it, or add its kind to xtask/src/tidy/tracked.rs";
    let unexpected = paths.iter().filter(|path| !is_expected(path));
    unexpected.map(|path| finding(path, None, what)).collect()
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
