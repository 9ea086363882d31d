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

use std::net::TcpListener;

use serde_json::Value;

use crate::{Folder, Ran};
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
fn sim(scenario: &str, target: &str, words: &str) -> Ran {
    Folder::with(scenario).sim(&format!("a.yaml --target {target} {words}"))
}

/// Runs the pairs against a server with this fault. Returns the exit code, what is broken, and the
/// result.
fn pairs(fault: Fault) -> (Option<i32>, Vec<String>, Value) {
    let server = FakeServer::start(fault);
    let ran = sim(PAIRS, &server.target(), "--protocol http --json -");
    let result = ran.json();
    (ran.code, broken(&result), result)
}

fn broken(result: &Value) -> Vec<String> {
    let properties = result["properties"].as_object().expect("properties");
    let broken = properties.iter().filter(|(_, one)| one["held"] == false);
    broken.map(|(name, _)| name.clone()).collect()
}

/// Checks the exit code of a run, and what it says: its page, or the error that it ended with.
#[track_caller]
fn ended(ran: &Ran, code: i32, says: &[&str]) {
    assert_eq!(ran.code, Some(code), "{}", ran.told());
    let said = if code == 0 { &ran.out } else { &ran.err };
    for words in says {
        assert!(said.contains(words), "no {words}: {}", ran.told());
    }
}

#[test]
fn a_server_of_others_that_keeps_the_rules_passes() {
    let (code, broken, result) = pairs(Fault::None);
    assert_eq!((code, broken), (Some(0), vec![]), "{result:#}");
    for property in "no_lost_messages no_duplicates room_order single_match".split(' ') {
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
    for starts in ["planned", "started"] {
        assert_eq!(live["starts"][starts], 24);
    }
    assert_eq!(live["requests"]["failed"], 0);
    assert_eq!(live["left_out"][0], "chimaek_lover");
    assert_eq!(live["ignored"][0], "expect_sometimes");
    assert!(live["scheduling_delay"]["count"].as_u64() > Some(100));
    let latency = &live["uncorrected"]["message_latency"];
    assert!(latency["count"].as_u64() > Some(10), "{latency}");
}

#[test]
fn a_message_that_is_lost_doubled_forged_or_out_of_its_place_is_found() {
    for (fault, property) in [
        (Fault::Loses, "no_lost_messages"),
        (Fault::Doubles, "no_duplicates"),
        (Fault::Swaps, "room_order"),
        (Fault::Forges, "no_phantoms"),
    ] {
        let (code, mut broken, result) = pairs(fault);
        if fault == Fault::Swaps {
            // A message that no other follows is never delivered, and is lost.
            broken.retain(|name| name == property);
        }
        assert_eq!(
            (code, broken),
            (Some(1), vec![property.to_owned()]),
            "{result:#}"
        );
    }
}

#[test]
fn where_no_server_is_it_says_what_to_do() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    for protocol in ["2026-07-28", "2025-11-25", "http"] {
        let ran = sim(PAIRS, &target, &format!("--protocol {protocol}"));
        ended(&ran, 4, &["talking-stick --listen"]);
    }
}

#[test]
fn a_server_that_asks_for_a_token_is_given_the_one_it_knows() {
    let server = FakeServer::start(Fault::Locks);
    for (words, code, says) in [
        ("", 4, "put it in SIM_TOKEN"),
        ("--token mustard", 4, "does not know the token"),
        ("--token sesame", 0, ""),
    ] {
        let ran = sim(PAIRS, &server.target(), &format!("--protocol http {words}"));
        assert!(!ran.told().contains("sesame"), "{}", ran.told());
        ended(&ran, code, &[says]);
    }
}

#[test]
fn a_server_that_speaks_something_else_is_named() {
    let server = FakeServer::start(Fault::None);
    ended(&sim(PAIRS, &server.target(), ""), 4, &["--protocol"]);
}

#[test]
fn what_everybody_needs_and_the_server_lacks_is_named() {
    let server = FakeServer::start(Fault::None);
    let breaks = "
name: breaks
duration: 1s
phases: [{ name: come, duration: 1s, arrival_count: 1 }]
scenarios: [{ name: idler, flow: [break: { kind: chimaek }] }]
";
    let ran = sim(breaks, &server.target(), "--protocol http");
    ended(&ran, 4, &["chimaek"]);
}

#[test]
fn a_fault_that_a_live_server_cannot_have_must_be_optional() {
    let faults = format!("{PAIRS}faults: [{{ at: 1s, crash: server, down_for: 1s }}]\n");
    let ran = sim(&faults, "http://127.0.0.1:1", "");
    ended(&ran, 2, &["crash", "optional: true"]);
}
