//! Tests `sim calibrate` against a small independent server.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::fake_server::{FakeServer, Fault};

const PAIRS: &str = "
name: pairs
duration: 1s
liveness: 20s
phases: [{ name: come, duration: 1s, arrival_count: 10 }]
scenarios:
  - name: penpal
    flow:
      - enter_queue
      - await: { event: chatroom.found, within: 5s }
      - loop: { count: 3, steps: [{ send: { length: 20 } }, { think: 20ms }] }
      - leave_chat
";

fn calibrate(folder: &Path, target: &str, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
    command.args(["calibrate", "--target", target, "--protocol", "http"]);
    command.args(words).current_dir(folder);
    command.output().expect("it starts")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it writes text")
}

/// The distributions that the scenario has with this block.
fn shapes(block: &str) -> String {
    let plan = sim_scenario::parse("pairs.yaml", &format!("{PAIRS}{block}")).expect("a scenario");
    let all = [
        plan.capacity.service,
        plan.capacity.commit,
        plan.network.latency,
    ];
    format!("{:?}", all.map(|one| one.shape()))
}

#[test]
fn a_server_is_measured_and_left_as_it_was() {
    let (server, folder) = (FakeServer::start(Fault::None), tempfile::tempdir().unwrap());
    let target = format!("http://{}", server.address);
    let ran = calibrate(
        folder.path(),
        &target,
        &["--out", "block.yaml", "--json", "-"],
    );
    let (out, told) = (text(ran.stdout), text(ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "{told}");
    let (came, here) = server.people();
    assert!(came > 2, "{came} came");
    assert_eq!(here, 0, "of {came}");

    let result: Value = serde_json::from_str(&out).expect("JSON alone");
    for (trips, request) in [
        ("floor", "GET /healthz"),
        ("read", "check"),
        ("committed", "send_message"),
    ] {
        assert_eq!(result[trips]["request"], request);
        let took = &result[trips]["took"];
        assert!(took["count"].as_u64() > Some(0), "{took}");
        assert!(took["p50"].as_f64() > Some(0.0), "{took}");
    }
    let stages = result["stages"].as_array().expect("stages");
    assert!(
        stages.len() > 1 && stages[0]["connections"] == 1,
        "{stages:?}"
    );
    assert!(
        stages
            .iter()
            .all(|one| one["per_second"].as_f64() > Some(0.0))
    );
    assert_eq!(result["sides"], Value::Null);

    // The printed block equals the written one, and is valid in a scenario.
    let block = fs::read_to_string(folder.path().join("block.yaml")).unwrap();
    assert_eq!(told, block);
    assert!(
        block.contains(&target) && block.contains("over http"),
        "{block}"
    );
    assert_ne!(shapes(&block), shapes(""));
    let json = format!(
        "capacity: {}\nnetwork: {}\n",
        result["capacity"], result["network"]
    );
    assert_eq!(shapes(&block), shapes(&json));
}

#[test]
fn a_scenario_is_shown_in_both_worlds() {
    let (server, folder) = (FakeServer::start(Fault::None), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("pairs.yaml"), PAIRS).unwrap();
    let target = format!("http://{}", server.address);
    let words = ["pairs.yaml", "--scales", "2,1", "--seed", "9"];
    let files = ["--json", "both.json", "--report", "both.html"];
    let ran = calibrate(folder.path(), &target, &[&words[..], &files].concat());
    let (out, told) = (text(ran.stdout), text(ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "{out}{told}");
    assert_eq!(server.people().1, 0, "somebody is still there");

    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let result: Value = serde_json::from_str(&read("both.json")).unwrap();
    let sides = &result["sides"];
    assert_eq!(
        (&sides["scenario"], &sides["seed"]),
        (&"pairs".into(), &9.into())
    );
    for (scale, users) in [(0, 10), (1, 20)] {
        let scale = &sides["scales"][scale];
        for world in ["virtual", "live"] {
            assert_eq!(scale[world]["users"], users, "{world}");
            assert_eq!(scale[world]["verdict"], "pass", "{world}");
            assert!(scale[world]["achieved_per_second"].as_f64() > Some(1.0));
        }
        for metric in ["request_latency", "message_latency", "queue_wait"] {
            let of = |world: &str| scale[world]["metrics"][metric]["p50"].as_f64().unwrap();
            let ratio = scale["ratios"][metric][0].as_f64().unwrap();
            assert!(
                (ratio - of("live") / of("virtual")).abs() < 1e-9,
                "{metric}"
            );
        }
    }
    assert!(
        out.lines()
            .all(|line| line.starts_with('#') || line.chars().count() <= 80)
    );
    for words in [
        "REQUEST",
        "MESSAGE",
        "RATES",
        "× 1",
        "× 2",
        "times the virtual",
    ] {
        assert!(out.contains(words), "no {words} in {out}");
    }
    assert!(read("both.html").starts_with("<!doctype html>"));
}

#[test]
fn what_cannot_be_measured_says_why_and_leaves_nobody_behind() {
    let (server, folder) = (FakeServer::start(Fault::None), tempfile::tempdir().unwrap());
    server.fall_silent();
    let target = format!("http://{}", server.address);
    let ran = calibrate(folder.path(), &target, &[]);
    let told = text(ran.stderr);
    assert_eq!(ran.status.code(), Some(4), "{told}");
    assert!(
        told.contains("send_message was refused: rate_limited"),
        "{told}"
    );
    assert!(told.contains("--limit rate_limit=none"), "{told}");
    assert_eq!((server.people(), ran.stdout.len()), ((2, 0), 0));
}

#[test]
fn a_line_that_is_not_empty_is_left_alone() {
    let (server, folder) = (FakeServer::start(Fault::None), tempfile::tempdir().unwrap());
    let stranger = server.wait_in_line();
    let target = format!("http://{}", server.address);
    let ran = calibrate(folder.path(), &target, &[]);
    let told = text(ran.stderr);
    assert_eq!(ran.status.code(), Some(4), "{told}");
    assert!(told.contains("another participant waits"), "{told}");
    assert_eq!(server.people(), (2, 1), "all but {stranger}");
}

#[test]
fn no_server_and_no_scenario_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let ran = calibrate(folder.path(), &target, &[]);
    let told = text(ran.stderr);
    assert_eq!(ran.status.code(), Some(4), "{told}");
    assert!(told.contains("talking-stick --listen"), "{told}");
    let faults = "faults: [{ at: 500ms, crash: server, down_for: 1s }]\n";
    fs::write(
        folder.path().join("faults.yaml"),
        format!("{PAIRS}{faults}"),
    )
    .unwrap();
    for file in ["faults.yaml", "nothing.yaml"] {
        let ran = calibrate(folder.path(), &target, &[file]);
        assert_eq!(ran.status.code(), Some(2), "{}", text(ran.stderr));
    }
}
