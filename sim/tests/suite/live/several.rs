//! A target with several servers: users go on to the next one where one of them fails.

use std::net::{SocketAddr, TcpListener};

use serde_json::Value;

use super::fake_server::{FakeServer, Fault, listen, listen_until_used};
use super::{PAIRS, broken, ended, sim};

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it has one")
}

fn run(doors: &[SocketAddr]) -> (Option<i32>, Value) {
    let doors: Vec<_> = doors.iter().map(|door| format!("http://{door}")).collect();
    let ran = sim(PAIRS, &doors.join(","), "--protocol http --json -");
    (ran.code, ran.json())
}

#[test]
fn users_are_spread_over_the_servers_of_a_target() {
    let server = FakeServer::start(Fault::None);
    let (code, result) = run(&[server.address, listen(&server.shared)]);
    assert_eq!((code, broken(&result)), (Some(0), vec![]), "{result:#}");
    assert_eq!(result["live"]["requests"]["failed"], 0);
    // A user at a closed address is not served, so both were called.
    let server = FakeServer::start(Fault::None);
    let (code, result) = run(&[server.address, listen_until_used(&server.shared)]);
    assert_eq!((code, broken(&result)), (Some(0), vec![]), "{result:#}");
    assert!(result["live"]["requests"]["failed"].as_u64() >= Some(12));
}

#[test]
fn users_of_a_server_that_fails_go_on_to_the_next_one_and_nothing_is_lost() {
    let server = FakeServer::start(Fault::None);
    let failing = || listen_until_used(&server.shared);
    let doors = [server.address, failing(), failing(), listen(&server.shared)];
    let (code, result) = run(&doors);
    assert_eq!((code, broken(&result)), (Some(0), vec![]), "{result:#}");
    assert_eq!(result["properties"]["no_lost_messages"]["held"], true);
    assert_eq!(result["properties"]["no_duplicates"]["held"], true);
    assert!(result["live"]["requests"]["failed"].as_u64() > Some(0));
    // The chimaek lovers do not start, and each other user has registered once.
    assert_eq!(server.people().0, 24, "{result:#}");
}

#[test]
fn a_server_that_does_not_answer_before_the_run_is_named() {
    let server = FakeServer::start(Fault::None);
    let silent = nobody();
    for doors in [[server.address, silent], [silent, server.address]] {
        let doors = doors.map(|door| format!("http://{door}")).join(",");
        let ran = sim(PAIRS, &doors, "--protocol http");
        ended(&ran, 4, &[&format!("cannot reach {silent}")]);
    }
    assert_eq!(server.people().0, 0, "nobody came");
}
