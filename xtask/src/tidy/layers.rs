//! Allowed dependencies: `server → chat-core ← sim`, and nothing in the core that provides clocks,
//! threads, sockets or unnamed randomness.

use super::{Finding, Source};

/// A manifest, with the packages that it must not name.
const FORBIDDEN: [(&str, &[&str]); 19] = [
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
    (
        "core/cluster/Cargo.toml",
        &["getrandom", "server", "sim", "tokio"],
    ),
    (
        "core/journal/Cargo.toml",
        &["getrandom", "rusqlite", "server", "sim", "tokio"],
    ),
    ("core/types/Cargo.toml", &["chat-core", "server", "sim"]),
    ("server/Cargo.toml", &["sim"]),
    (
        "server/chat/Cargo.toml",
        &["axum", "http", "hyper", "rmcp", "rusqlite", "server", "sim"],
    ),
    (
        "server/nats/Cargo.toml",
        &["chat-core", "chat-journal", "rusqlite", "server", "sim"],
    ),
    (
        "server/settings/Cargo.toml",
        &[
            "axum",
            "chat-core",
            "chat-journal",
            "hyper",
            "rmcp",
            "rusqlite",
            "server",
            "sim",
            "tokio",
        ],
    ),
    (
        "server/storage/Cargo.toml",
        &["axum", "hyper", "rmcp", "server", "sim"],
    ),
    ("sim/Cargo.toml", &["chat-core", "hyper", "server", "tokio"]),
    (
        "sim/judge/Cargo.toml",
        &[
            "chat-cluster",
            "chat-core",
            "hyper",
            "server",
            "sim-world",
            "tokio",
        ],
    ),
    (
        "sim/live/Cargo.toml",
        &["chat-core", "server", "sim-search", "sim-world"],
    ),
    (
        "sim/model/Cargo.toml",
        &["chat-core", "hyper", "server", "tokio"],
    ),
    (
        "sim/report/Cargo.toml",
        &["chat-core", "hyper", "server", "tokio"],
    ),
    (
        "sim/scenario/Cargo.toml",
        &["chat-core", "hyper", "server", "tokio"],
    ),
    ("sim/search/Cargo.toml", &["hyper", "server", "tokio"]),
    (
        "sim/user/Cargo.toml",
        &["chat-core", "hyper", "server", "tokio"],
    ),
    ("sim/world/Cargo.toml", &["hyper", "server", "tokio"]),
    ("xtask/Cargo.toml", &["chat-core", "server", "sim"]),
];

/// A crate of the simulator, with those of its crates that it may depend on. Its tests may use
/// more.
const PARTS: [(&str, &[&str]); 9] = [
    ("core/types/Cargo.toml", &[]),
    ("sim/model/Cargo.toml", &[]),
    ("sim/judge/Cargo.toml", &["sim-model"]),
    (
        "sim/live/Cargo.toml",
        &["sim-judge", "sim-model", "sim-user"],
    ),
    ("sim/report/Cargo.toml", &["sim-model"]),
    ("sim/scenario/Cargo.toml", &["sim-model"]),
    (
        "sim/search/Cargo.toml",
        &[
            "sim-judge",
            "sim-model",
            "sim-scenario",
            "sim-user",
            "sim-world",
        ],
    ),
    ("sim/user/Cargo.toml", &["sim-model"]),
    ("sim/world/Cargo.toml", &["sim-model", "sim-user"]),
];

/// Every forbidden dependency.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        let of = |list: &[(&str, &'static [&'static str])]| {
            let named = list.iter().find(|(path, _)| *path == file.path);
            named.map(|(_, packages)| *packages)
        };
        let (forbidden, parts) = (of(&FORBIDDEN).unwrap_or_default(), of(&PARTS));
        for Dependency {
            line,
            package,
            purpose,
        } in dependencies(&file.text)
        {
            let is_part = package == "sim" || package.starts_with("sim-");
            let is_beside = purpose == Purpose::Built
                && is_part
                && parts.is_some_and(|parts| !parts.contains(&package));
            if forbidden.contains(&package) || is_beside {
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

/// A package that a manifest names.
struct Dependency<'m> {
    line: usize,
    package: &'m str,
    purpose: Purpose,
}

/// The kind of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A dependency of the package.
    Built,
    /// A dependency of its tests.
    Tested,
}

/// The packages that a manifest names as dependencies of any kind.
fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let (mut inside, mut purpose) = (false, Purpose::Built);
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        let line_number = index + 1;
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or_default();
            purpose = if section.contains("dev-dependencies") {
                Purpose::Tested
            } else {
                Purpose::Built
            };
            // `[dependencies.sim]` is itself a dependency; `[dev-dependencies]` contains some.
            if let Some((_, package)) = section.rsplit_once("dependencies.") {
                found.push(Dependency {
                    line: line_number,
                    package,
                    purpose,
                });
            }
            inside = section.ends_with("dependencies");
        } else if inside && let Some((key, _)) = line.split_once('=') {
            let package = key.split('.').next().unwrap_or(key).trim();
            found.push(Dependency {
                line: line_number,
                package: package.trim_matches('"'),
                purpose,
            });
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
    fn the_intended_layers_have_no_findings() {
        let manifest = "[package]\nname = \"sim\"\n\n[dependencies]\nrand_core.workspace = true\n";
        assert_eq!(found("core/Cargo.toml", manifest), [""; 0]);
        let manifest =
            "[dependencies]\nchat-core = \"0\"\n\n[dev-dependencies]\nsim-judge = \"0\"\n";
        assert_eq!(found("sim/world/Cargo.toml", manifest), [""; 0]);
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
    fn crates_of_the_simulator_depend_only_downward() {
        for (path, package) in [
            ("sim/world/Cargo.toml", "sim-judge"),
            ("sim/report/Cargo.toml", "sim-judge"),
            ("sim/live/Cargo.toml", "sim-scenario"),
            ("sim/judge/Cargo.toml", "sim"),
            ("sim/judge/Cargo.toml", "chat-core"),
        ] {
            let manifest = format!("[dependencies]\n{package}.workspace = true\n");
            let finding = format!("{path}:2: must not depend on `{package}` (see ARCHITECTURE.md)");
            assert_eq!(found(path, &manifest), [finding]);
        }
    }

    #[test]
    fn a_name_elsewhere_in_the_manifest_is_no_dependency() {
        let manifest = "[features]\ntime = []\n\n[lints]\nworkspace = true\n";
        assert_eq!(found("core/Cargo.toml", manifest), [""; 0]);
    }
}
