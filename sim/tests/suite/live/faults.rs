//! Faults that clients have by themselves, against a live server.

use std::time::Duration;

use serde_json::Value;

use super::fake_server::{FakeServer, Fault};
use super::{broken, sim};

/// Eight users who never stop for a second by themselves.
const BUSY: &str = "
name: busy
duration: 5s
liveness: 20s
phases: [{ name: come, duration: 100ms, arrival_count: 8 }]
scenarios:
  - name: penpal
    flow:
      - enter_queue
      - await: { event: chatroom.found, within: 20s }
      - loop:
          count: 60
          steps:
            - send: { length: 20 }
            - think: { min: 20ms, max: 60ms }
      - leave_chat
";

fn run(faults: &str) -> (FakeServer, Value) {
    let server = FakeServer::start(Fault::None);
    let scenario = format!("{BUSY}{faults}\n");
    let ran = sim(&scenario, &server.target(), "--protocol http --json -");
    let result = ran.json();
    assert_eq!((ran.code, broken(&result)), (Some(0), vec![]), "{result:#}");
    let ignored = &result["live"]["ignored"];
    assert_eq!(*ignored, Value::Array(vec![]), "{result:#}");
    (server, result)
}

/// Shorter than the faults, and far longer than a user thinks.
const PAUSE: Duration = Duration::from_millis(1_500);

#[test]
fn a_suspended_client_asks_nothing_until_it_goes_on() {
    let (server, _) = run("faults: [{ at: 1s, suspend: { share: 1/1, for: 2s } }]");
    assert!(server.paused(PAUSE) >= 6, "{server:?}");
}

#[test]
fn nothing_of_a_client_that_is_cut_off_reaches_the_server() {
    let (server, result) = run("faults: [{ at: 1s, partition: { share: 1/1, for: 2s } }]");
    assert!(server.paused(PAUSE) >= 6, "{server:?}");
    assert!(server.streams() > 8, "each opened its stream again");
    assert_eq!(result["live"]["lost"], Value::Null);
}

#[test]
fn a_slow_reader_reads_in_the_end_and_a_broken_stream_is_opened_again() {
    let (server, _) = run("network: { stream_break: 1/20 }\n\
         faults: [{ at: 1s, slow_readers: { share: 1/1, for: 2s } }]");
    assert!(server.streams() > 8, "{}", server.streams());
}
