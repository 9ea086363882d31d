//! A target that goes away during a run: the run ends, says so first, and writes its results.

use serde_json::Value;

use super::PAIRS;
use super::fake_server::{FakeServer, Fault};
use crate::{Folder, Ran};

/// Far more messages than the server accepts, and far more time than it has.
fn long() -> String {
    PAIRS
        .replace("duration: 3s", "duration: 10m")
        .replace("count: 8", "count: 10000")
}

/// Runs against a server that goes away after so many messages. Returns the folder with the files,
/// too.
fn lost(fault: Fault, after: u64) -> (Ran, Folder) {
    let server = FakeServer::start(fault);
    server.leave_after(after);
    let folder = Folder::with(&long());
    let files = "--json r.json --junit r.xml --report r.html";
    let target = server.target();
    let line = format!("a.yaml --target {target} --protocol http {files}");
    (folder.sim(&line), folder)
}

#[test]
fn the_run_ends_with_the_loss_as_its_headline_and_all_results() {
    let (ran, folder) = lost(Fault::None, 60);
    let told = ran.told();
    assert_eq!(ran.code, Some(4), "{told}");
    let said = "The target stopped answering at ";
    let (first, second) = told.split_once('\n').expect("lines");
    assert!(first.starts_with("FAIL target lost"), "{told}");
    assert!(second.starts_with(said), "{told}");
    let result = folder.json("r.json");
    assert_eq!(result["verdict"], "unjudged");
    assert_eq!(result["exit_code"], 4);
    let live = &result["live"];
    let lost_at = live["lost"]["at_ms"].as_f64().expect("a time");
    assert!(lost_at > 0.0 && lost_at < 60_000.0, "{live}");
    assert!(live["requests"]["answered"].as_u64() > Some(60), "{live}");
    let held = &result["properties"]["no_duplicates"]["held"];
    assert_eq!(*held, true, "{result:#}");
    // Who waits for a lost target is not stuck.
    assert_eq!(result["rest"]["held"], true);
    assert!(folder.read("r.xml").contains("name=\"target\">"));
    assert!(folder.read("r.html").contains(said));
}

#[test]
fn a_violation_before_the_loss_is_the_verdict() {
    let (ran, folder) = lost(Fault::Doubles, 60);
    let told = ran.told();
    assert_eq!(ran.code, Some(1), "{told}");
    assert!(told.starts_with("FAIL no_duplicates"), "{told}");
    assert!(told.contains("stopped answering at "), "{told}");
    let result = folder.json("r.json");
    assert_eq!(result["verdict"], "safety");
    assert_ne!(result["live"]["lost"], Value::Null);
}
