//! Tests that a threshold of one persona is judged by the users of that persona alone, and is named
//! with it in every output.

use serde_json::json;

use super::data;
use crate::{Folder, each};

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
    let folder = Folder::with(SCENARIO);
    let ran = folder.sim("a.yaml --json o.json --junit o.xml --report o.html");
    let page = ran.out;
    assert_eq!(ran.code, Some(99), "{page}");
    let said = "refused{persona:mute} count==0 was crossed: 2.";
    assert_eq!(page.lines().nth(1), Some(said), "{page}");
    let row = page.lines().find(|line| line.starts_with("  penpal"));
    let row = row.expect("the figures of the persona");
    assert!(row.contains("ms") && row.ends_with("max<10s ✓"), "{row}");

    let result = folder.json("o.json");
    let found = ["metric", "persona", "met"].map(|key| each(&result["thresholds"], key));
    let expected = json!([
        ["queue_wait", "refused", "refused"],
        ["penpal", "penpal", "mute"],
        [true, true, false],
    ]);
    assert_eq!(json!(found), expected);

    let junit = folder.read("o.xml");
    assert!(
        junit.contains("queue_wait{persona:penpal} max&lt;10s"),
        "{junit}"
    );
    assert!(junit.contains("refused{persona:mute} count==0"), "{junit}");
    let report = data(&folder.read("o.html"));
    let shown = &report["runs"][0]["thresholds"][2];
    assert_eq!(shown["metric"], "refused{persona:mute}");
    assert_eq!(shown["met"], false);
}
