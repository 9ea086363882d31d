//! Several servers: what each fault of theirs leads to, judged.

use sim_model::history::{ClusterEvent, RunEvent, WorldRecord};
use sim_model::outcome::{Point, Tally};
use sim_scenario::parse;

use super::judged::watched;

/// What happened to servers and log, in order.
type Told = Vec<(Option<u32>, ClusterEvent)>;

/// Runs users who talk for a while, with one fault.
fn talk(fault: &str) -> (Told, u64) {
    let (told, tally) = talk_with("", fault);
    (told, tally.count(Point::OwnerChanged))
}

/// Runs users who talk for a while, with these keys of the scenario and these faults.
fn talk_with(keys: &str, faults: &str) -> (Told, Tally) {
    let text = format!(
        "
duration: 30s
servers: 3
{keys}
phases: [{{ duration: 2s, arrival_count: 6 }}]
scenarios:
  - name: guest
    flow: [{{ login: {{ room: hall }} }}, {{ loop: {{ count: 12, steps: [{{ send: {{ length: 9 }} }}, {{ think: 1s }}, check] }} }}]
server: {{ stick: optional }}
faults: [{faults}]
"
    );
    let plan = parse("talk.yaml", &text).expect("a scenario");
    let mut told = Told::new();
    let outcome = watched(&plan, 5, |event| {
        if let RunEvent::World(_, WorldRecord::Cluster { server, what }) = event {
            told.push((*server, *what));
        }
    });
    assert_eq!(outcome.violations, [], "{faults}");
    assert_eq!(outcome.counts.accepted, 72, "{faults}: each says all");
    (told, outcome.ran.tally)
}

#[test]
fn the_first_server_owns_the_chat_while_all_is_well() {
    let (told, changes) = talk("");
    let first = (Some(0), ClusterEvent::BecameOwner { epoch: 1 });
    assert_eq!((told.as_slice(), changes), (&[first][..], 0));
}

#[test]
fn another_server_goes_on_when_the_owner_fails() {
    for what in ["crash", "stop", "pause", "cut", "mute"] {
        let fault = format!("{{ at: 5s, member: {{ what: {what}, for: 9s }} }}");
        let (told, changes) = talk(&fault);
        assert_eq!(changes, 1, "{what}");
        let is_next = |(server, event): &(Option<u32>, ClusterEvent)| {
            *server != Some(0) && *event == ClusterEvent::BecameOwner { epoch: 2 }
        };
        assert!(told.iter().any(is_next), "{what}: {told:?}");
    }
}

#[test]
fn the_owner_goes_on_when_another_server_fails() {
    for what in ["crash", "stop", "pause", "cut", "mute", "deaf"] {
        let fault = format!("{{ at: 5s, member: {{ what: {what}, which: standby, for: 3s }} }}");
        assert_eq!(talk(&fault).1, 0, "{what}");
    }
}

#[test]
fn a_log_that_fails_delays_calls_and_loses_none() {
    for what in ["no_leader", "lag", "lose", "flip"] {
        talk(&format!("{{ at: 5s, log: {{ what: {what}, for: 6s }} }}"));
    }
}

#[test]
fn clocks_that_leases_allow_for_change_nothing() {
    let faults = "{ at: 2s, member: { what: slow, for: 20s } },
        { at: 2s, member: { what: fast, which: standby, for: 20s } }";
    let (told, tally) = talk_with("", faults);
    assert_eq!(tally.count(Point::OwnerChanged), 0);
    for what in [ClusterEvent::ClockDrifts, ClusterEvent::ClockRuns] {
        let times = told.iter().filter(|(_, told)| *told == what);
        assert_eq!(times.count(), 2, "{what:?}: {told:?}");
    }
}

#[test]
fn a_strict_server_that_stood_still_answers_nothing_as_the_owner_that_it_was() {
    let faults = "{ at: 5s, member: { what: freeze, for: 9s } },
        { at: 5100ms, member: { what: deaf, for: 11s } }";
    let (_, tally) = talk_with("reads: strict", faults);
    assert_eq!(tally.count(Point::OwnerChanged), 1);
    assert!(tally.count(Point::FormerOwnerAsked) > 0);
    assert!(tally.count(Point::ReadWaited) > 0);
}

#[test]
fn reads_within_leases_wait_for_no_append() {
    let (_, tally) = talk_with("reads: lease", "");
    assert_eq!(tally.count(Point::ReadWaited), 0);
}

#[test]
fn second_reports_settle_no_other_append() {
    let faults = "{ at: 3s, log: { what: double, for: 20s } },
        { at: 8s, log: { what: no_leader, for: 3s } }";
    let (told, tally) = talk_with("", faults);
    assert!(tally.count(Point::ReportedTwice) > 0);
    let last = told.iter().rev().find(|(server, _)| server.is_none());
    assert_eq!(last, Some(&(None, ClusterEvent::ReportsSingle)));
}

#[test]
fn all_servers_can_go_down_and_come_back() {
    for fault in ["crash", "stop"] {
        let (told, changes) = talk(&format!("{{ at: 5s, {fault}: server, down_for: 2s }}"));
        assert_eq!(changes, 1, "{fault}");
        let started = told
            .iter()
            .filter(|(_, what)| *what == ClusterEvent::Started);
        assert_eq!(started.count(), 3, "{fault}: {told:?}");
    }
}
