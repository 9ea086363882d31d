//! Tests of faults at milestones.

use super::super::*;
use super::judged::watched;
use sim_model::history::ClientEvent;
use sim_model::plan::Delivery;
use sim_model::protocol::{Body, CallId, Command, Op};
use sim_scenario::parse;

const STEPS: &str = "
name: milestones
duration: 20s
server: { stick_lease: 4s }
users: [a, b]
steps:
  - { at: 0s, user: a, do: { login: { room: hall } } }
  - { at: 100ms, user: b, do: { login: { room: hall } } }
  - { at: 200ms, user: a, do: talking_stick }
  - { at: 300ms, user: b, do: talking_stick }
  - { at: 400ms, user: a, do: { append: { text: hello } } }
  - { at: 500ms, user: a, do: push }
  - { at: 1s, user: b, do: { append: { text: world } } }
  - { at: 2s, user: b, do: push }
faults:
";

/// The pushes on the wire, and the time of the crash.
#[derive(Default)]
struct Seen {
    pushes: Vec<(Agent, CallId)>,
    lost: Vec<(Agent, CallId)>,
    crashed: Vec<Time>,
    granted: Vec<Time>,
}

fn seen(faults: &str) -> Seen {
    let plan = parse("milestones.yaml", &format!("{STEPS}{faults}")).unwrap();
    let mut seen = Seen::default();
    let outcome = watched(&plan, 1, |event| {
        if let RunEvent::Client(record) = event {
            if let ClientEvent::Called { call, op, .. } = record.what
                && let Op::Command(Command::Push { .. }) = op
            {
                seen.pushes.push((record.agent, call));
            }
            if let ClientEvent::Received { event, sent_at, .. } = record.what
                && let Some(Body::StickGranted { .. }) = event.body()
            {
                seen.granted.push(sent_at);
            }
        } else if let RunEvent::World(at, WorldRecord::Down { .. }) = event {
            seen.crashed.push(at);
        } else if let RunEvent::Network(_, agent, what) = event
            && let NetworkRecord::Replied { call, fate, .. } = what
            && *fate == Delivery::Lost
        {
            seen.lost.push((agent, *call));
        }
    });
    assert_eq!(outcome.violations, [], "{faults}");
    seen
}

#[test]
fn the_answer_of_the_push_that_ends_a_lease_gets_lost() {
    let nth = |count| {
        let milestone = format!("{{ stick: released_by_push, count: {count} }}");
        seen(&format!(
            "  - {{ at_milestone: {milestone}, lose: replies }}\n"
        ))
    };
    let first = nth(1);
    assert_eq!(first.pushes.len(), 2);
    assert_eq!(first.lost, [first.pushes[0]]);
    let second = nth(2);
    assert_eq!(second.lost, [second.pushes[1]]);
    assert!(nth(3).lost.is_empty());
}

#[test]
fn a_crash_at_a_grant_happens_when_the_grant_is_committed() {
    let crash = "crash: server, down_for: 300ms, lose_unsynced: true";
    let milestone = "{ stick: granted_from_line }";
    let crashed = seen(&format!("  - {{ at_milestone: {milestone}, {crash} }}\n"));
    let [at] = crashed.crashed[..] else {
        panic!("{:?}", crashed.crashed);
    };
    // The grant survived the crash, although no client had received it.
    assert!(
        crashed.granted.iter().any(|granted| *granted <= at),
        "{at:?}"
    );
    assert!(at < START + Span::millis(600), "{at:?}");
}

#[test]
fn a_milestone_counts_between_its_start_and_the_heal() {
    let crash = "crash: server, down_for: 300ms";
    let from = |at: &str| {
        let milestone = "{ stick: released_by_push }";
        let fault = format!("  - {{ at: {at}, at_milestone: {milestone}, {crash} }}\n");
        seen(&fault).crashed.len()
    };
    assert_eq!((from("0s"), from("1s"), from("3s")), (1, 1, 0));
}
