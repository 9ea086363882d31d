//! Who may depend on whom: `server → chat-core ← sim`, and nothing in the core that knows of
//! clocks, threads, sockets or chance beyond the named generator.

use super::{Finding, Source};

/// A manifest, and the packages that must not stand in it.
const FORBIDDEN: [(&str, &[&str]); 7] = [
    (
        "core/Cargo.toml",
        &[
            "async-std",
            "chrono",
            "fastrand",
            "getrandom",
            "mio",
            "rand",
            "rayon",
            "server",
            "sim",
            "smol",
            "time",
            "tokio",
        ],
    ),
    ("server/Cargo.toml", &["sim"]),
    ("sim/Cargo.toml", &["server"]),
    (
        "core/types/Cargo.toml",
        &["chat-core", "server", "sim", "sim-model", "sim-judge"],
    ),
    (
        "sim/model/Cargo.toml",
        &["chat-core", "server", "sim", "sim-judge", "tokio"],
    ),
    (
        "sim/judge/Cargo.toml",
        &["chat-core", "server", "sim", "tokio"],
    ),
    ("xtask/Cargo.toml", &["chat-core", "server", "sim"]),
];

/// Every dependency that must not be.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        let Some((_, forbidden)) = FORBIDDEN.iter().find(|(path, _)| *path == file.path) else {
            continue;
        };
        for (line, package) in dependencies(&file.text) {
            if forbidden.contains(&package) {
                found.push(Finding {
                    path: file.path.clone(),
                    line: Some(line),
                    what: format!("must not depend on `{package}` (see ARCHITECTURE.md)"),
                });
            }
        }
    }
    found
}

/// The packages that a manifest names as dependencies of any kind, each with its line.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or_default();
            // `[dependencies.sim]` is a dependency of its own; `[dev-dependencies]` holds some.
            if let Some((_, package)) = section.rsplit_once("dependencies.") {
                found.push((index + 1, package));
            }
            inside = section.ends_with("dependencies");
        } else if inside && let Some((key, _)) = line.split_once('=') {
            let package = key.split('.').next().unwrap_or(key).trim();
            found.push((index + 1, package.trim_matches('"')));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::check;

    fn found(path: &str, manifest: &str) -> Vec<String> {
        check(&files(&[(path, manifest)]))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn the_layers_as_they_are_meant_have_no_findings() {
        let manifest = "[package]\nname = \"sim\"\n\n[dependencies]\nrand_core.workspace = true\n";
        assert_eq!(found("core/Cargo.toml", manifest), [""; 0]);
        assert_eq!(
            found("sim/Cargo.toml", "[dependencies]\nchat-core = \"0\"\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_dependency_against_the_layers_is_found_however_it_is_written() {
        for manifest in [
            "[dependencies]\ntokio = \"1\"\n",
            "[dev-dependencies]\ntokio.workspace = true\n",
            "[dependencies]\n\"tokio\" = { version = \"1\" }\n",
            "\n[target.'cfg(unix)'.dependencies.tokio]\n",
            "\n[build-dependencies.tokio]\n",
        ] {
            let found = found("core/Cargo.toml", manifest);
            assert_eq!(
                found,
                ["core/Cargo.toml:2: must not depend on `tokio` (see ARCHITECTURE.md)"],
                "{manifest}"
            );
        }
        assert_eq!(
            found("sim/Cargo.toml", "[dependencies]\nserver = \"0\"\n").len(),
            1
        );
        assert_eq!(
            found("server/Cargo.toml", "[dependencies]\nsim = \"0\"\n").len(),
            1
        );
    }

    #[test]
    fn a_name_elsewhere_in_the_manifest_is_no_dependency() {
        let manifest = "[features]\ntime = []\n\n[lints]\nworkspace = true\n";
        assert_eq!(found("core/Cargo.toml", manifest), [""; 0]);
    }
}
