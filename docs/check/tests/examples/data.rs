//! Checks that YAML examples are valid scenarios or settings, and that JSON examples are valid
//! JSON.

use std::io::Write as _;

use server_settings::cli::ServeArgs;
use server_settings::{Settings, Unnamed};

use crate::{fences, none_of};

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
    let (mut scenarios, mut settings) = (0, 0);
    for (place, fence) in fences(&["yaml"]) {
        let keys = keys(&fence.text);
        let tried = if keys.iter().any(|key| SETTINGS.contains(key)) {
            settings += 1;
            served(&fence.text)
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
        scenarios > 15 && settings > 0,
        "{scenarios} scenarios, {settings} settings"
    );
}

#[test]
fn every_example_of_json_is_json() {
    let fences = fences(&["json"]);
    let wrong: Vec<_> = fences
        .iter()
        .filter_map(|(place, fence)| {
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&fence.text);
            parsed.err().map(|error| format!("{place}: {error}"))
        })
        .collect();
    none_of(&wrong);
    assert!(
        fences.len() > 4,
        "only {} examples were found",
        fences.len()
    );
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

fn served(settings: &str) -> Result<(), String> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    file.write_all(settings.as_bytes())
        .map_err(|error| error.to_string())?;
    let args = ServeArgs {
        config: Some(file.path().into()),
        ..ServeArgs::default()
    };
    Settings::gather(&args, Unnamed::InMemory)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[test]
fn an_example_is_made_whole_and_judged() {
    let parse = |example: &str| sim_scenario::parse("example.yaml", &whole(example)).is_ok();
    assert!(parse("# nothing but a comment\n"));
    assert!(parse("network: { loss: 1/100 }\n"));
    assert!(!parse("network: { losses: 1/100 }\n"));
    assert!(served("grace: 3s\n").is_ok());
    assert!(served("grace: soon\n").is_err());
}
