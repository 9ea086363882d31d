//! Several servers: what each fault of theirs leads to, judged.

use sim_model::history::{ClusterEvent, NetworkRecord, Observer, Record, WorldRecord};
use sim_model::outcome::{Point, Progress};
use sim_scenario::parse;

use super::judged::run;

/// What happened to servers and log, in order.
#[derive(Default)]
struct Told(Vec<(Option<u32>, ClusterEvent)>);

impl Observer for Told {
    fn observe(&mut self, _: &Record<'_>) {}
    fn observe_network(&mut self, _: &NetworkRecord<'_>) {}
    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        if let WorldRecord::Cluster { server, what, .. } = record {
            self.0.push((*server, *what));
        }
    }
}

/// Runs users who talk for a while, with one fault.
fn talk(fault: &str) -> (Vec<(Option<u32>, ClusterEvent)>, u64) {
    let text = format!(
        "
duration: 30s
servers: 3
phases: [{{ duration: 2s, arrival_count: 6 }}]
scenarios:
  - name: guest
    flow: [{{ login: {{ room: hall }} }}, {{ loop: {{ count: 12, steps: [{{ send: {{ length: 9 }} }}, {{ think: 1s }}, check] }} }}]
server: {{ stick: optional }}
faults: [{fault}]
"
    );
    let plan = parse("talk.yaml", &text).expect("a scenario");
    let mut told = Told::default();
    let outcome = run(&plan, 5, &Progress::default(), Some(&mut told));
    assert_eq!(outcome.violations, [], "{fault}");
    assert_eq!(outcome.counts.accepted, 72, "{fault}: each says all");
    let changes = outcome.tally.count(Point::OwnerChanged);
    (told.0, changes)
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
