//! Tests that a user has one name in the terminal, JSON, the report and the trace, and that
//! `--follow` accepts both of its parts.

use serde_json::Value;

use super::data;
use crate::{Folder, list};

/// All users but one wait for what never comes.
const SCENARIO: &str = "
duration: 5s
phases: [{ duration: 2s, arrival_count: 5 }]
scenarios:
  - { name: lonely, count: 4, flow: [login, { await: { event: moderation.muted, within: 3s } }] }
  - { name: penpal, count: 1, flow: [login] }
";

/// No user registers: the server answers none in time.
const UNREGISTERED: &str = "
duration: 3s
liveness: 5s
phases: [{ duration: 2s, arrival_count: 3 }]
client: { timeout: 20s, attempts: 1 }
capacity: { commit: 100s }
scenarios: [{ name: early, flow: [login] }]
";

/// Runs the scenario, compares the names of stuck users in all outputs, and returns how they are
/// shown.
fn stuck_users(scenario: &str) -> Vec<String> {
    let folder = Folder::with(scenario);
    let files = "--json o.json --trace t.jsonl --report r.html";
    let ran = folder.sim(&format!("a.yaml --verbose --no-shrink {files}"));
    let page = ran.out;
    let result = folder.json("o.json");
    let trace = folder.lines("t.jsonl");
    let report = data(&folder.read("r.html"));
    let run = &report["runs"][0];
    let rows = list(&run["series"]["users"]);
    let stuck = list(&result["stuck"]);
    assert_eq!(stuck, list(&run["stuck"]));
    let mut all = Vec::new();
    for one in stuck {
        let (user, name) = (&one["user"], &one["name"]);
        let shown = match user.as_str() {
            Some(user) => format!("{user} ({})", name.as_str().expect("a name")),
            None => name.as_str().expect("a name").to_owned(),
        };
        let waits = format!(" {shown} waits for ");
        assert!(page.contains(&waits), "{shown}: {page}");
        let row = rows.iter().find(|row| row[0][1] == *name).expect("its row");
        assert_eq!(row[0][0], *user);
        let lines = trace.iter().filter(|line| line["name"] == *name);
        let ids = lines.map(|line| &line["user"]);
        let ids: Vec<&Value> = ids.filter(|id| !id.is_null()).collect();
        assert!(ids.iter().all(|id| *id == user), "{shown}: {ids:?}");
        assert_eq!(ids.is_empty(), user.is_null(), "{shown}");
        all.push(shown);
    }
    all
}

#[test]
fn a_user_has_one_name_in_every_output() {
    let stuck = stuck_users(SCENARIO);
    assert_eq!(stuck.len(), 4, "{stuck:?}");
    let named = |shown: &String| shown.starts_with("user_") && shown.contains(" (lonely#");
    assert!(stuck.iter().all(named), "{stuck:?}");
    assert_eq!(stuck_users(UNREGISTERED), ["early#0", "early#1", "early#2"]);
}

#[test]
fn both_parts_of_a_name_can_be_followed() {
    let folder = Folder::with(SCENARIO);
    folder.sim("a.yaml --no-shrink --json o.json --trace all.jsonl");
    let result = folder.json("o.json");
    let one = &result["stuck"][0];
    let (user, name) = (one["user"].as_str().unwrap(), one["name"].as_str().unwrap());
    let own = |mut lines: Vec<Value>| {
        lines.retain(|line| line["name"] == name && line["user"] == user);
        lines
    };
    let all = own(folder.lines("all.jsonl"));
    assert!(all.len() > 2);
    for whom in [user, name] {
        let files = "--trace t.jsonl --report r.html";
        folder.sim(&format!("a.yaml --no-shrink {files} --follow {whom}"));
        assert_eq!(own(folder.lines("t.jsonl")), all, "{whom}");
        let drawn = data(&folder.read("r.html"))["runs"][0]["diagrams"][0].clone();
        let mut lanes = list(&drawn["lanes"]).iter();
        let lane = lanes.find(|lane| lane["role"] == "concerned");
        let lane = lane.expect("the followed one");
        assert_eq!(lane["name"], user);
        assert_eq!(lane["persona"], name);
    }
}

#[test]
fn a_user_that_the_run_has_not_is_refused_with_the_closest() {
    let folder = Folder::with(SCENARIO);
    folder.sim("a.yaml --no-shrink --trace all.jsonl");
    let trace = folder.lines("all.jsonl");
    let mut names = trace.iter().filter_map(|line| line["name"].as_str());
    let penpal = names.find(|name| name.starts_with("penpal#"));
    let penpal = penpal.expect("there is one");
    let other = penpal.replace("penpal", "lonely");
    let refused = |output: &str, whom: &str| {
        let ran = folder.sim(&format!("a.yaml --no-shrink {output} --follow {whom}"));
        assert_eq!(ran.code, Some(2), "{whom}");
        ran.err
    };
    let said = refused("--trace t.jsonl", &other);
    assert!(said.contains(&format!("had no {other}: ")), "{said}");
    let guess = format!("; did you mean `{penpal}`?\n");
    assert!(said.ends_with(&guess), "{said}");
    let said = refused("--report r.html", &other);
    let guess = format!("had no {other}; did you mean `");
    assert!(said.contains(&guess), "{said}");
    assert!(refused("--trace t.jsonl", "lonely#99").contains("had no lonely#99: the last was "));
    assert!(refused("--trace t.jsonl", "penpl#1").contains("did you mean `penpal#1`?"));
    assert!(refused("--report r.html", "user_99").contains("the run had no user_99"));
}
