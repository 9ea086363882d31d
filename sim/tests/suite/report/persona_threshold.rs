//! Tests that a threshold of one persona is judged by the users of that persona alone, and is named
//! with it in every output.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::data;

/// Those who are mute have no stick, so that their messages are refused.
const SCENARIO: &str = "
duration: 5s
phases: [{ duration: 1s, arrival_count: 6 }]
scenarios:
  - name: penpal
    count: 4
    flow: [enter_queue, await: { event: chatroom.found, within: 20s }, send: { length: 5 }]
  - { name: mute, count: 2, flow: [login: { room: table }, send: { length: 5 }] }
thresholds:
  queue_wait{persona:penpal}: [\"max<10s\"]
  refused{persona:penpal}: [\"count==0\"]
  refused{persona:mute}: [\"count==0\"]
";

#[test]
fn a_threshold_of_one_persona_is_about_its_users_in_every_output() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("kinds.yaml"), SCENARIO).expect("room");
    let words = "kinds.yaml --json o.json --junit o.xml --report o.html";
    let ran = Command::new(env!("CARGO_BIN_EXE_sim"))
        .args(words.split(' '))
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let page = String::from_utf8(ran.stdout).expect("text");
    assert_eq!(ran.status.code(), Some(99), "{page}");
    let said = "refused{persona:mute} count==0 was crossed: 2.";
    assert_eq!(page.lines().nth(1), Some(said), "{page}");
    let row = page.lines().find(|line| line.starts_with("  penpal"));
    let row = row.expect("the figures of the persona");
    assert!(row.contains("ms") && row.ends_with("max<10s ✓"), "{row}");

    let result: Value =
        serde_json::from_str(&fs::read_to_string(path("o.json")).expect("it")).expect("it is JSON");
    let thresholds = result["thresholds"].as_array().expect("thresholds");
    let found: Vec<Value> = thresholds
        .iter()
        .map(|one| json!([one["metric"], one["persona"], one["met"]]))
        .collect();
    let expected = [
        json!(["queue_wait", "penpal", true]),
        json!(["refused", "penpal", true]),
        json!(["refused", "mute", false]),
    ];
    assert_eq!(found, expected);

    let junit = fs::read_to_string(path("o.xml")).expect("it");
    assert!(
        junit.contains("queue_wait{persona:penpal} max&lt;10s"),
        "{junit}"
    );
    assert!(junit.contains("refused{persona:mute} count==0"), "{junit}");
    let report = data(&fs::read_to_string(path("o.html")).expect("it"));
    let shown = &report["runs"][0]["thresholds"][2];
    assert_eq!(shown["metric"], "refused{persona:mute}");
    assert_eq!(shown["met"], false);
}
