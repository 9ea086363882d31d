//! Tests live runs against a small independent server, correct or with one fault, and without a
//! server.

mod calibrate;
mod fake_server;
mod faults;
mod interrupt;
mod lost_target;
#[cfg(unix)]
mod nemesis;
mod preflight;
mod several;
#[cfg(feature = "tls")]
mod tls;

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Output};

use serde_json::Value;

use fake_server::{FakeServer, Fault};

const PAIRS: &str = "
name: pairs
about: Pairs that talk over the network of this machine.
duration: 3s
liveness: 20s
phases: [{ name: come, duration: 1s, arrival_count: 24 }]
scenarios:
  - name: penpal
    flow:
      - enter_queue
      - await: { event: chatroom.found, within: 20s }
      - loop:
          count: 8
          steps:
            - send: { length: { min: 5, max: 60 } }
            - think: { min: 20ms, max: 60ms }
            - check: { wait: 0ms }
      - await: { event: message.received, within: 20s }
      - leave_chat
  - name: silent
    stream: none
    flow:
      - enter_queue
      - await: { event: chatroom.found, within: 20s }
      - loop: { count: 4, steps: [send: { length: 20 }, check: { wait: 1s }] }
      - leave_chat
  - { name: chimaek_lover, flow: [break: { kind: chimaek }] }
expect_sometimes: [crash]
thresholds: { request_latency: [\"p(99)<20s\"] }
";

/// Runs a scenario against a server.
fn sim(scenario: &str, target: &str, words: &[&str]) -> Output {
    let mut file = tempfile::Builder::new()
        .suffix(".yaml")
        .tempfile()
        .expect("a folder for temporary files");
    file.write_all(scenario.as_bytes()).expect("room in it");
    let folder = tempfile::tempdir().expect("a folder in it");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
    command.arg(file.path()).args(["--target", target]);
    // Files that were not requested are written there.
    command.args(words).current_dir(folder.path());
    command.output().expect("it starts")
}

/// Runs the pairs against a server with this fault. Returns the exit code and the result.
fn pairs(fault: Fault) -> (Option<i32>, Value) {
    let server = FakeServer::start(fault);
    let target = format!("http://{}", server.address);
    let ran = sim(PAIRS, &target, &["--protocol", "http", "--json", "-"]);
    let result = serde_json::from_slice(&ran.stdout);
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    (
        ran.status.code(),
        result.unwrap_or_else(|error| panic!("{error}: {told}")),
    )
}

fn broken(result: &Value) -> Vec<&str> {
    let properties = result["properties"]
        .as_object()
        .expect("a result has properties");
    let broken = properties.iter().filter(|(_, one)| one["held"] == false);
    broken.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_server_of_others_that_keeps_the_rules_passes() {
    let (code, result) = pairs(Fault::None);
    assert_eq!((code, broken(&result)), (Some(0), vec![]), "{result:#}");
    for property in [
        "no_lost_messages",
        "no_duplicates",
        "room_order",
        "single_match",
    ] {
        assert_eq!(result["properties"][property]["held"], true, "{property}");
    }
    // What only the server's own records show is counted as not judged.
    for property in ["fifo_matching", "outcomes", "queue_progress"] {
        let result = &result["properties"][property];
        assert_eq!(result["held"], Value::Null, "{property}");
        assert!(result["unjudged"].as_u64() > Some(0), "{property}");
    }
    assert_eq!(result["properties"]["bounded"]["held"], Value::Null);
    let live = &result["live"];
    assert_eq!(live["starts"]["planned"], 24);
    assert_eq!(live["starts"]["started"], 24);
    assert_eq!(live["requests"]["failed"], 0);
    assert_eq!(live["left_out"][0], "chimaek_lover");
    assert_eq!(live["ignored"][0], "expect_sometimes");
    assert!(live["scheduling_delay"]["count"].as_u64() > Some(100));
    let latency = &live["uncorrected"]["message_latency"];
    assert!(latency["count"].as_u64() > Some(10), "{latency}");
}

#[test]
fn a_message_that_is_lost_is_found() {
    let (code, result) = pairs(Fault::Loses);
    assert_eq!(
        (code, broken(&result)),
        (Some(1), vec!["no_lost_messages"]),
        "{result:#}"
    );
}

#[test]
fn a_message_that_is_doubled_is_found() {
    let (code, result) = pairs(Fault::Doubles);
    assert_eq!(
        (code, broken(&result)),
        (Some(1), vec!["no_duplicates"]),
        "{result:#}"
    );
}

#[test]
fn messages_that_change_places_are_found() {
    let (code, result) = pairs(Fault::Swaps);
    assert_eq!(code, Some(1));
    // A message that no other follows is never delivered, and is lost.
    assert!(broken(&result).contains(&"room_order"), "{result:#}");
}

#[test]
fn a_message_that_nobody_sent_is_found() {
    let (code, result) = pairs(Fault::Forges);
    assert_eq!(
        (code, broken(&result)),
        (Some(1), vec!["no_phantoms"]),
        "{result:#}"
    );
}

#[test]
fn where_no_server_is_it_says_what_to_do() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    for protocol in ["2026-07-28", "2025-11-25", "http"] {
        let ran = sim(PAIRS, &target, &["--protocol", protocol]);
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(4), "{told}");
        assert!(told.contains("talking-stick --listen"), "{told}");
    }
}

#[test]
fn a_server_that_asks_for_a_token_is_given_the_one_it_knows() {
    let server = FakeServer::start(Fault::Locks);
    let target = format!("http://{}", server.address);
    let runs = |words: &[&str]| {
        let ran = sim(PAIRS, &target, &[&["--protocol", "http"], words].concat());
        let told = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        assert!(!told.contains("sesame"), "{told}");
        (ran.status.code(), told)
    };
    let (code, told) = runs(&[]);
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("put it in SIM_TOKEN"), "{told}");
    let (code, told) = runs(&["--token", "mustard"]);
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("does not know the token"), "{told}");
    let (code, told) = runs(&["--token", "sesame"]);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn a_server_that_speaks_something_else_is_named() {
    let server = FakeServer::start(Fault::None);
    let target = format!("http://{}", server.address);
    let ran = sim(PAIRS, &target, &[]);
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(4), "{told}");
    assert!(told.contains("--protocol"), "{told}");
}

#[test]
fn what_everybody_needs_and_the_server_lacks_is_named() {
    let server = FakeServer::start(Fault::None);
    let target = format!("http://{}", server.address);
    let breaks = "
name: breaks
duration: 1s
phases: [{ name: come, duration: 1s, arrival_count: 1 }]
scenarios: [{ name: idler, flow: [break: { kind: chimaek }] }]
";
    let ran = sim(breaks, &target, &["--protocol", "http"]);
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(4), "{told}");
    assert!(told.contains("chimaek"), "{told}");
}

#[test]
fn a_fault_that_a_live_server_cannot_have_must_be_optional() {
    let faults = format!("{PAIRS}faults: [{{ at: 1s, crash: server, down_for: 1s }}]\n");
    let ran = sim(&faults, "http://127.0.0.1:1", &[]);
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(
        told.contains("crash") && told.contains("optional: true"),
        "{told}"
    );
}
