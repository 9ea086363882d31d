//! A target that goes away during a run: the run ends, says so first, and writes its results.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::fake_server::{FakeServer, Fault};
use super::{PAIRS, sim};

/// Far more messages than the server accepts, and far more time than it has.
fn long() -> String {
    PAIRS
        .replace("duration: 3s", "duration: 10m")
        .replace("count: 8", "count: 10000")
}

/// Runs against a server that goes away after so many messages. Returns the exit code, the page,
/// and the folder with the files.
fn lost(fault: Fault, after: u64) -> (Option<i32>, String, tempfile::TempDir) {
    let server = FakeServer::start(fault);
    server.leave_after(after);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let target = format!("http://{}", server.address);
    let (json, junit, report) = (path("r.json"), path("r.xml"), path("r.html"));
    let words = [
        "--protocol",
        "http",
        "--json",
        &json,
        "--junit",
        &junit,
        "--report",
        &report,
    ];
    let ran = sim(&long(), &target, &words);
    let told = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    (ran.status.code(), told, folder)
}

fn result(folder: &Path) -> Value {
    let text = fs::read(folder.join("r.json")).expect("the result was written");
    serde_json::from_slice(&text).expect("it is JSON")
}

#[test]
fn the_run_ends_with_the_loss_as_its_headline_and_all_results() {
    let (code, told, folder) = lost(Fault::None, 60);
    assert_eq!(code, Some(4), "{told}");
    let first: Vec<&str> = told.lines().take(3).collect();
    assert!(first[0].starts_with("FAIL target lost"), "{told}");
    assert!(
        first[1].starts_with("The target stopped answering at "),
        "{told}"
    );
    let result = result(folder.path());
    assert_eq!(
        (&result["verdict"], &result["exit_code"]),
        (&"unjudged".into(), &4.into())
    );
    let live = &result["live"];
    let lost_at = live["lost"]["at_ms"].as_f64().expect("a time");
    assert!(lost_at > 0.0 && lost_at < 60_000.0, "{live}");
    assert!(live["requests"]["answered"].as_u64() > Some(60), "{live}");
    assert_eq!(
        result["properties"]["no_duplicates"]["held"], true,
        "{result:#}"
    );
    assert_eq!(
        result["rest"]["held"], true,
        "who waits for a lost target is not stuck"
    );
    let junit = fs::read_to_string(folder.path().join("r.xml")).expect("it was written");
    assert!(junit.contains("name=\"target\">"), "{junit}");
    let report = fs::read_to_string(folder.path().join("r.html")).expect("it was written");
    assert!(report.contains("The target stopped answering at "));
}

#[test]
fn a_violation_before_the_loss_is_the_verdict() {
    let (code, told, folder) = lost(Fault::Doubles, 60);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.starts_with("FAIL no_duplicates"), "{told}");
    assert!(told.contains("stopped answering at "), "{told}");
    let result = result(folder.path());
    assert_eq!(result["verdict"], "safety");
    assert_ne!(result["live"]["lost"], Value::Null);
}
