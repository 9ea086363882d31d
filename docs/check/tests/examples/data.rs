//! Checks that YAML examples are valid scenarios or settings, and that JSON examples are valid
//! JSON.

use crate::{fences, none_of, settings};

/// Keys that settings files have and scenarios lack.
const SETTINGS: [&str; 11] = [
    "allow_hosts",
    "auth_tokens",
    "grace",
    "limits",
    "listen",
    "log",
    "log_level",
    "memory_limit",
    "operator_tokens",
    "toolsets",
    "trust_usernames",
];

/// Required parts of a scenario, for examples of a single key.
const PHASES: &str = "phases: [{ duration: 1s, arrival_count: 2 }]\n";
const USERS: &str = "scenarios: [{ name: somebody, flow: [enter_queue, leave_queue] }]\n";

#[test]
fn every_example_of_yaml_is_accepted() {
    let mut wrong = Vec::new();
    let (mut scenarios, mut with_settings) = (0, 0);
    for (place, fence) in fences(&["yaml"]) {
        let keys = keys(&fence.text);
        let tried = if keys.iter().any(|key| SETTINGS.contains(key)) {
            with_settings += 1;
            settings(&fence.text).map(drop)
        } else {
            scenarios += 1;
            sim_scenario::parse("example.yaml", &whole(&fence.text))
                .map(drop)
                .map_err(|error| error.to_string())
        };
        wrong.extend(tried.err().map(|why| format!("{place}: {why}")));
    }
    none_of(&wrong);
    assert!(
        scenarios > 15 && with_settings > 0,
        "{scenarios} scenarios, {with_settings} settings"
    );
}

#[test]
fn every_example_of_json_is_json() {
    let fences = fences(&["json"]);
    let wrong = fences.iter().filter_map(|(place, fence)| {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(&fence.text);
        parsed.err().map(|error| format!("{place}: {error}"))
    });
    none_of(&wrong.collect::<Vec<_>>());
    let count = fences.len();
    assert!(count > 4, "only {count} examples were found");
}

/// The top-level keys of a YAML text.
fn keys(yaml: &str) -> Vec<&str> {
    let lines = yaml.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(key, _)| key)
        .filter(|key| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        .collect()
}

/// An example, completed to a whole scenario.
fn whole(example: &str) -> String {
    let keys = keys(example);
    let has = |key: &str| keys.contains(&key);
    let mut whole = example.to_owned();
    if !has("steps") {
        for (key, text) in [("phases", PHASES), ("scenarios", USERS)] {
            if !has(key) {
                whole.push_str(text);
            }
        }
    }
    whole
}

#[test]
fn an_example_is_made_whole_and_judged() {
    let parse = |example: &str| sim_scenario::parse("example.yaml", &whole(example)).is_ok();
    assert!(parse("# nothing but a comment\n"));
    assert!(parse("network: { loss: 1/100 }\n"));
    assert!(!parse("network: { losses: 1/100 }\n"));
    assert!(settings("grace: 3s\n").is_ok());
    assert!(settings("grace: soon\n").is_err());
}
