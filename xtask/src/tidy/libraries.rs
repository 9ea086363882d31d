//! Libraries that a crate must not use: nothing in the core provides clocks, threads, sockets or
//! unnamed randomness. Which of our own crates may use which, xtask/layers.toml says.

use serde_json::Value;

use super::{Finding, finding};

/// Crates, with the libraries that they must not depend on.
const FORBIDDEN: [(&str, &str); 7] = [
    (
        "chat-core",
        "async-std chrono fastrand getrandom mio rand rayon smol time tokio",
    ),
    ("chat-cluster", "getrandom tokio"),
    ("chat-journal", "getrandom rusqlite tokio"),
    ("server-chat", "axum http hyper rmcp rusqlite"),
    ("server-settings", "axum hyper rmcp rusqlite tokio"),
    ("server-storage", "axum hyper rmcp"),
    // The crates of the simulator that know no real server.
    (
        "sim sim-judge sim-model sim-report sim-search sim-user sim-world",
        "hyper tokio",
    ),
];

/// Every forbidden dependency, and rules for a crate that is not there. `metadata` is what Cargo says of the
/// workspace: its dependencies are those of a crate's code, its tests and its build, on any system.
pub(super) fn check(metadata: &Value) -> Vec<Finding> {
    let list = |of: &Value, key: &str| of[key].as_array().cloned().unwrap_or_default();
    let packages = list(metadata, "packages");
    let mut found = Vec::new();
    for (crates, forbidden) in FORBIDDEN {
        for name in crates.split(' ') {
            let Some(package) = packages.iter().find(|package| package["name"] == name) else {
                found.push(finding(name, None, "the crate is not there"));
                continue;
            };
            let used = list(package, "dependencies");
            let is_used = |library: &&str| used.iter().any(|used| used["name"] == *library);
            found.extend(forbidden.split(' ').filter(is_used).map(|library| {
                let what = format!("must not depend on `{library}` (see ARCHITECTURE.md)");
                finding(name, None, what)
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FORBIDDEN, check};

    #[test]
    fn a_forbidden_library_is_found_and_an_allowed_one_or_another_crate_are_not() {
        let all = FORBIDDEN.iter().flat_map(|(crates, _)| crates.split(' '));
        let packages = all.filter(|name| *name != "sim-user").map(|name| {
            let used = match name {
                "chat-core" => ["rand_core", "tokio"],
                _ => ["serde", "mio"],
            };
            json!({ "name": name, "dependencies": used.map(|name| json!({ "name": name, "kind": "dev" })) })
        });
        let other = json!({ "name": "xtask", "dependencies": [{ "name": "tokio" }] });
        let packages: Vec<_> = packages.chain([other]).collect();
        let found = check(&json!({ "packages": packages }));
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "chat-core: must not depend on `tokio` (see ARCHITECTURE.md)",
                "sim-user: the crate is not there",
            ]
        );
    }
}
