//! Tests of users that sleep, and of their wakers.

use super::super::*;
use super::judged::watched;
use sim_model::history::{ClientEvent, WakerRecord};
use sim_model::protocol::OpKind;
use sim_scenario::parse;

const PLAN: &str = "
name: sleepers
duration: 3m
phases: [{ duration: 1s, arrival_count: 2 }]
scenarios:
  - name: sleeper
    count: 1
    stream: none
    reads: knocked
    flow:
      - login: { room: hall }
      - check
      - await: { event: message.received, within: 2m }
      - think: 100s
  - name: speaker
    count: 1
    flow:
      - login: { room: hall }
      - think: 30s
      - speak: { text: one }
      - think: 5s
      - speak: { text: two }
";

/// What the waker and its user do in order, with the second. The waker looks all the time, which is left out.
fn seen(network: &str) -> Vec<String> {
    let plan = parse("sleepers.yaml", &format!("{PLAN}{network}")).unwrap();
    let mut seen = Vec::new();
    let outcome = watched(&plan, 1, |event| {
        if let RunEvent::World(at, WorldRecord::Waker { what, .. }) = event
            && !matches!(what, WakerRecord::Read { .. })
        {
            seen.push(format!("{} {}", at.since(START).as_secs(), what.name()));
        } else if let RunEvent::Client(record) = event
            && let ClientEvent::Called { op, .. } = record.what
            && op.kind() == OpKind::Check
        {
            seen.push(format!("{} check", record.at.since(START).as_secs()));
        }
    });
    assert_eq!(outcome.violations, [], "{network}");
    seen
}

#[test]
fn a_sleeper_checks_when_it_is_knocked_for_and_hears_once_more_of_what_it_leaves_unread() {
    let seen = seen("network: { latency: { p50: 10ms, p99: 20ms } }");
    let (of_check, of_think) = (&seen[..5], &seen[5..13]);
    assert_eq!(
        of_check,
        [
            "0 check",
            "0 waker_started",
            "30 knocked",
            "30 waker_crashed",
            "30 check"
        ]
    );
    // What was read wakes nobody after the restart; a knock without a mark comes again.
    assert_eq!(
        of_think,
        [
            "33 waker_started",
            "36 knocked",
            "36 waker_crashed",
            "36 waker_started",
            "36 knocked",
            "36 mark_kept",
            "96 knocked",
            "96 mark_kept",
        ]
    );
    // The next check is after the heal.
    assert_eq!(seen[13], "180 check");
}

#[test]
fn a_knock_that_the_door_loses_wakes_nobody() {
    let seen = seen("network: { latency: { p50: 10ms, p99: 20ms }, loss: 1/3 }");
    let knocks = seen.iter().filter(|line| line.ends_with("knocked")).count();
    let checks = seen.iter().filter(|line| line.ends_with("check")).count();
    assert!(knocks > 0 && checks > 0, "{seen:?}");
}
