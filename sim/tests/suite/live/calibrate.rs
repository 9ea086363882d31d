//! Tests `sim calibrate` against a small independent server.

use std::net::TcpListener;

use serde_json::Value;

use super::ended;
use super::fake_server::{FakeServer, Fault};
use crate::{Folder, Ran, each};

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

fn calibrate(folder: &Folder, target: &str, words: &str) -> Ran {
    let line = format!("calibrate --target {target} --protocol http {words}");
    folder.sim(&line)
}

/// The distributions that the scenario has with this block.
fn shapes(block: &str) -> String {
    let plan = sim_scenario::parse("pairs.yaml", &format!("{PAIRS}{block}")).expect("a scenario");
    let (capacity, network) = (plan.capacity, plan.network);
    let all = [capacity.service, capacity.commit, network.latency];
    format!("{:?}", all.map(|one| one.shape()))
}

#[test]
fn a_server_is_measured_and_left_as_it_was() {
    let (server, folder) = (FakeServer::start(Fault::PairsLater), Folder::new());
    let target = server.target();
    let ran = calibrate(&folder, &target, "--out block.yaml --json -");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (came, here) = server.people();
    assert!(came > 2, "{came} came");
    assert_eq!(here, 0, "of {came}");

    let result = ran.json();
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
    let connections = each(&result["stages"], "connections");
    assert!(connections.len() > 1 && connections[0] == 1, "{result}");
    let mut paces = each(&result["stages"], "per_second").into_iter();
    assert!(paces.all(|pace| pace.as_f64() > Some(0.0)), "{result}");
    assert_eq!(result["sides"], Value::Null);

    // The printed block equals the written one, and is valid in a scenario.
    let block = folder.read("block.yaml");
    assert_eq!(ran.err, block);
    let is_named = block.contains(&target) && block.contains("over http");
    assert!(is_named, "{block}");
    assert_ne!(shapes(&block), shapes(""));
    let (capacity, network) = (&result["capacity"], &result["network"]);
    let json = format!("capacity: {capacity}\nnetwork: {network}\n");
    assert_eq!(shapes(&block), shapes(&json));
}

#[test]
fn a_scenario_is_shown_in_both_worlds() {
    let (server, folder) = (FakeServer::start(Fault::None), Folder::with(PAIRS));
    let words = "a.yaml --scales 2,1 --seed 9 --json both.json";
    let ran = calibrate(&folder, &server.target(), words);
    assert_eq!(ran.code, Some(0), "{}", ran.told());
    assert_eq!(server.people().1, 0, "somebody is still there");

    let result = folder.json("both.json");
    let sides = &result["sides"];
    assert_eq!(sides["scenario"], "pairs");
    assert_eq!(sides["seed"], 9);
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
            let apart = (ratio - of("live") / of("virtual")).abs();
            assert!(apart < 1e-9, "{metric}");
        }
    }
    let fits = |line: &str| line.starts_with('#') || line.chars().count() <= 80;
    assert!(ran.out.lines().all(fits), "{}", ran.out);
    let says = "REQUEST,MESSAGE,RATES,× 1,× 2,times the virtual";
    ended(&ran, 0, &says.split(',').collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_measured_says_why_and_leaves_nobody_behind() {
    let server = FakeServer::start(Fault::None);
    server.fall_silent();
    let ran = calibrate(&Folder::new(), &server.target(), "");
    let why = "send_message was refused: rate_limited";
    ended(&ran, 4, &[why, "--limit rate_limit=none"]);
    assert_eq!((server.people(), ran.out.len()), ((2, 0), 0));
}

#[test]
fn a_line_that_is_not_empty_is_left_alone() {
    let server = FakeServer::start(Fault::None);
    let stranger = server.wait_in_line();
    let ran = calibrate(&Folder::new(), &server.target(), "");
    ended(&ran, 4, &["another participant waits"]);
    assert_eq!(server.people(), (2, 1), "all but {stranger}");
}

#[test]
fn no_server_and_no_scenario_are_told_apart() {
    let faults = "faults: [{ at: 500ms, crash: server, down_for: 1s }]\n";
    let folder = Folder::with(&format!("{PAIRS}{faults}"));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let says = ["talking-stick --listen"];
    ended(&calibrate(&folder, &target, ""), 4, &says);
    for file in ["a.yaml", "nothing.yaml"] {
        ended(&calibrate(&folder, &target, file), 2, &[]);
    }
}
