//! Libraries that a crate must not use: nothing in the core provides clocks, threads, sockets or
//! unnamed randomness. Which of our own crates may use which, xtask/layers.toml says.

use super::{Finding, Source, finding};

/// Crates, with the libraries that their manifests must not name.
const FORBIDDEN: [(&[&str], &str); 7] = [
    (
        &["core"],
        "async-std chrono fastrand getrandom mio rand rayon smol time tokio",
    ),
    (&["core/cluster"], "getrandom tokio"),
    (&["core/journal"], "getrandom rusqlite tokio"),
    (&["server/chat"], "axum http hyper rmcp rusqlite"),
    (&["server/settings"], "axum hyper rmcp rusqlite tokio"),
    (&["server/storage"], "axum hyper rmcp"),
    (&SIMULATOR, "hyper tokio"),
];

/// The crates of the simulator that know no real server.
const SIMULATOR: [&str; 7] = [
    "sim",
    "sim/judge",
    "sim/model",
    "sim/report",
    "sim/search",
    "sim/user",
    "sim/world",
];

/// Every forbidden dependency.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        let folder = file.path.strip_suffix("/Cargo.toml").unwrap_or_default();
        let named = FORBIDDEN
            .iter()
            .find(|(crates, _)| crates.contains(&folder));
        let Some((_, forbidden)) = named else {
            continue;
        };
        for (line, package) in dependencies(&file.text) {
            if forbidden.split(' ').any(|name| name == package) {
                let what = format!("must not depend on `{package}` (see ARCHITECTURE.md)");
                found.push(finding(&file.path, line, what));
            }
        }
    }
    found
}

/// The packages that a manifest names as dependencies of any kind, each with its line.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let (mut inside, mut found) = (false, Vec::new());
    for (index, line) in manifest.lines().enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or_default();
            // `[dependencies.sim]` is itself a dependency; `[dev-dependencies]` contains some.
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
        let found = check(&files(&[(path, manifest)]));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_allowed_library_and_a_name_elsewhere_have_no_finding() {
        for manifest in [
            "[package]\nname = \"sim\"\n\n[dependencies]\nrand_core.workspace = true\n",
            "[features]\ntime = []\n\n[lints]\nworkspace = true\n",
        ] {
            assert_eq!(found("core/Cargo.toml", manifest), [""; 0]);
        }
    }

    #[test]
    fn a_forbidden_library_is_found_however_it_is_written() {
        for manifest in [
            "[dependencies]\ntokio = \"1\"\n",
            "[dev-dependencies]\ntokio.workspace = true\n",
            "[dependencies]\n\"tokio\" = { version = \"1\" }\n",
            "\n[target.'cfg(unix)'.dependencies.tokio]\n",
            "\n[build-dependencies.tokio]\n",
        ] {
            let told = "core/Cargo.toml:2: must not depend on `tokio` (see ARCHITECTURE.md)";
            assert_eq!(found("core/Cargo.toml", manifest), [told], "{manifest}");
        }
    }
}
