//! Tests of the world itself: one seed has one history, with any observer and any swaps of the Hub.

mod damage;
pub(super) mod judged;
mod milestones;
mod order;
mod servers;
mod sleepers;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use judged::{begin, finish, run, watched};
use sim_judge::SeedOutcome;
use sim_model::history::{ClientEvent, DeliveryPath, Record};
use sim_model::outcome::{Point, Stuck};
use sim_model::plan::{Delivery, Race, Schedule};
use sim_model::protocol::{Body, EndReason};
use sim_model::server::Entry;
use sim_scenario::parse;

const STORM: &str = "
name: storm
duration: 8s
server: { reconnect_grace: 1s, stick_lease: 1s, idle_timeout: 4s }
phases: [{ name: all, duration: 2s, arrival_count: 40 }]
scenarios:
  - name: pair
    flow:
      - enter_queue
      - await: { event: chatroom.found, within: 5s }
      - loop: { count: 6, steps: [{ send: { length: 40 } }, { think: 200ms }, check] }
      - leave_chat
  - name: speaker
    flow:
      - login: { room: hall }
      - talking_stick
      - await: { event: stick.granted, within: 20s }
      - append: { length: 50 }
      - push
      - leave_chat
network: { latency: { p50: 10ms, p99: 80ms }, loss: 1/30, duplicate: 1/50, stream_break: 1/40 }
faults:
  - { at: 2s, crash: server, down_for: 300ms, lose_unsynced: true }
  - { at: 4s, fail_disk: { for: 500ms, unknown: true } }
  - { at: 5s, partition: { share: 1/3, for: 700ms } }
";

fn storm() -> Plan {
    parse("storm.yaml", STORM).unwrap()
}

fn hash(plan: &Plan, seed: u64) -> u64 {
    run(plan, seed).ran.trace_hash
}

#[test]
fn a_seed_determines_its_history() {
    let plan = storm();
    assert_eq!(hash(&plan, 1), hash(&plan, 1));
    assert_ne!(hash(&plan, 1), hash(&plan, 2));
}

#[test]
fn the_server_draws_by_the_seed_of_the_run() {
    let mut drawn_by = Vec::new();
    watched(&storm(), 3, |event| {
        if let RunEvent::Server(_, ServerRecord::Committed { entry, .. }) = event
            && let Entry::Started { seed, .. } = entry
        {
            drawn_by.push(*seed);
        }
    });
    assert_eq!(drawn_by, [3]);
}

#[test]
fn an_observer_changes_nothing() {
    let plan = storm();
    let mut records = 0;
    let watched = watched(&plan, 3, |event| {
        let counts = matches!(event, RunEvent::Client(_) | RunEvent::World(..));
        records += u64::from(counts);
    });
    let mut unseen = World::new(&plan, 3, Observers::new(None), Actor::Swaps);
    unseen.begin();
    while unseen.phase != Phase::Over {
        unseen.step();
    }
    assert_eq!(watched.ran.trace_hash, unseen.hash);
    assert!(records > 500, "{records}");
}

#[test]
fn judges_need_no_records_of_traffic() {
    let plan = storm();
    let mut traffic = 0;
    let with_traffic = watched(&plan, 3, |event| {
        traffic += u64::from(matches!(event, RunEvent::Network(..)));
    });
    let mut judged_alone = begin(&plan, 3);
    while judged_alone.step() {}
    let told = |it: &SeedOutcome| {
        let judged = (&it.properties, &it.violations, &it.counts, &it.stuck);
        format!("{judged:?} {:?} {:?}", it.ran.tally, it.metrics.results())
    };
    assert_eq!(told(&finish(judged_alone)), told(&with_traffic));
    assert!(traffic > 500, "{traffic}");
}

#[test]
fn twins_that_swap_at_different_steps_agree_at_every_step() {
    let plan = storm();
    for seed in 0..8 {
        let mut judged = begin(&plan, seed);
        let world = &mut judged.world;
        let mut twin = World::new(&plan, seed, Observers::new(None), Actor::TwinSwaps);
        twin.begin();
        (world.next_swap, twin.next_swap) = (100, 170);
        while world.phase != Phase::Over {
            world.step();
            twin.step();
            world.compare(&twin);
            world.next_swap = world.next_swap.min(world.steps + 100);
            twin.next_swap = twin.next_swap.min(twin.steps + 170);
        }
        assert!(world.steps > 1_000, "{}", world.steps);
        assert_eq!(finish(judged).violations, []);
    }
}

#[test]
#[should_panic(expected = "has two histories: step 1")]
fn the_first_step_at_which_twins_differ_is_named() {
    let plan = storm();
    let mut world = World::new(&plan, 1, Observers::new(None), Actor::Swaps);
    let mut other = World::new(&plan, 2, Observers::new(None), Actor::Swaps);
    world.begin();
    other.begin();
    world.step();
    other.step();
    world.compare(&other);
}

/// Runs a world and its twin in lock step. The network of the twin is disturbed at one step.
fn in_lock_step(plan: &Plan, seed: u64, disturbed_at: u64) {
    let mut world = World::new(plan, seed, Observers::new(None), Actor::Swaps);
    let mut twin = World::new(plan, seed, Observers::new(None), Actor::TwinSwaps);
    world.begin();
    twin.begin();
    while world.phase != Phase::Over {
        world.step();
        twin.step();
        world.compare(&twin);
        if twin.steps == disturbed_at {
            twin.network.disturb();
        }
    }
}

#[test]
fn a_planted_difference_is_reported_at_its_first_step() {
    let mut plan = storm();
    plan.schedule = Schedule::Race(Race::default());
    in_lock_step(&plan, 5, u64::MAX);
    let broken = catch_unwind(AssertUnwindSafe(|| in_lock_step(&plan, 5, 300)));
    let panic = broken.unwrap_err();
    let words = panic.downcast_ref::<String>().expect("words");
    let step: u64 = words
        .strip_prefix("seed 5 has two histories: step ")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|step| step.parse().ok())
        .unwrap_or_else(|| panic!("{words}"));
    assert!((301..=340).contains(&step), "{words}");
}

/// The outcome of a run with the latency of each packet, whose streams keep their order.
fn delays(plan: &Plan) -> (SeedOutcome, Vec<u64>) {
    let (mut spans, mut streams) = (Vec::new(), BTreeMap::new());
    let outcome = watched(plan, 3, |event| {
        if let RunEvent::Client(record) = event
            && let Some(seq) = first_by_stream(record)
        {
            let last = streams.insert(record.agent, seq);
            assert!(last < Some(seq), "{last:?} before {seq}");
        }
        if let RunEvent::Network(.., what) = event
            && let NetworkRecord::Sent { fate, .. }
            | NetworkRecord::Replied { fate, .. }
            | NetworkRecord::Pushed { fate, .. } = what
            && let Delivery::After(span) = fate
        {
            spans.push(span.0);
        }
    });
    (outcome, spans)
}

/// The place of an event that its client received for the first time, by a stream.
fn first_by_stream(record: &Record<'_>) -> Option<u64> {
    let ClientEvent::Received {
        seq, path, first, ..
    } = record.what
    else {
        return None;
    };
    (first && path == DeliveryPath::Stream).then_some(seq)
}

#[test]
fn a_race_schedule_stays_within_the_latency_distribution() {
    let mut plan = storm();
    let plain = hash(&plan, 3);
    plan.schedule = Schedule::Race(Race::default());
    let latency = Arc::clone(&plan.network.latency);
    let (raced, spans) = delays(&plan);
    assert_ne!(raced.ran.trace_hash, plain);
    assert_eq!(raced.violations, []);
    assert!(spans.len() > 500, "{}", spans.len());
    let (least, most) = (spans.iter().min(), spans.iter().max());
    assert!(*least.unwrap() >= latency.at(0), "{least:?}");
    assert!(*most.unwrap() <= latency.max(), "{most:?}");
    // It reaches the ends of the distribution far more often than a plain run.
    let slow = |spans: &[u64]| spans.iter().filter(|span| **span > 80_000).count();
    assert!(slow(&spans) > 3 * slow(&delays(&storm()).1));
}

#[test]
fn a_run_with_all_faults_reaches_their_points() {
    let outcome = run(&storm(), 1);
    assert_eq!(outcome.violations, []);
    assert!(outcome.stuck.len() <= 2, "{:?}", outcome.stuck);
    use Point::{Crash, Match, StorageUnavailable, StreamBroken};
    for point in [Match, Crash, StorageUnavailable, StreamBroken] {
        assert!(outcome.ran.tally.count(point) > 0, "{}", point.name());
    }
    for property in "no_lost_messages durability stick_exclusion idempotent_requests".split(' ') {
        assert_eq!(outcome.properties[property].held, Some(true), "{property}");
    }
}

#[test]
fn a_recovery_from_a_snapshot_equals_one_from_the_whole_journal() {
    let whole = run(&storm(), 5);
    assert!(whole.ran.tally.count(Point::Crash) > 0);
    assert_eq!(whole.ran.tally.count(Point::FromSnapshot), 0);
    for snapshot_every in [1, 7, 50] {
        let mut plan = storm();
        plan.capacity.snapshot_every = snapshot_every;
        let snapped = run(&plan, 5);
        assert!(snapped.ran.tally.count(Point::FromSnapshot) > 0);
        assert_eq!(
            snapped.ran.trace_hash, whole.ran.trace_hash,
            "{snapshot_every}"
        );
    }
}

/// Runs users with this flow, with `N` replaced by each one's number. Returns what stuck users wait
/// for.
fn stuck_of(users: u32, server: &str, flow: &str) -> Vec<String> {
    let text = format!(
        "name: s\nserver: {server}\nphases: [{{ duration: 1s, arrival_count: {users} }}]\n\
         scenarios: [{{ name: a, flow: {flow} }}]\n"
    );
    let plan = parse("s.yaml", &text).unwrap();
    let stuck = run(&plan, 1).stuck;
    let told = |s: &Stuck| {
        format!(
            "{} at {}: {}, since {}",
            s.who.name, s.at, s.waiting_for, s.since_ms
        )
    };
    stuck.iter().map(told).collect()
}

#[test]
fn a_user_that_waits_for_an_impossible_event_is_listed_as_stuck() {
    let in_a_room = "[login, { await: { event: stick.claimed, within: 2s } }]";
    assert_eq!(
        stuck_of(1, "{}", in_a_room),
        ["a#0 at flow[1] await: stick.claimed, since 502"]
    );
    let choose = "[{ choose: [{ steps: [{ enter_queue: { interests: [a] } }] }, \
                  { steps: [{ enter_queue: { interests: [b] } }] }, \
                  { steps: [{ enter_queue: { interests: [c] } }] }] }, \
                  { await: { event: chatroom.found, within: 20s } }]";
    let server = "{ matching: interests, interest_patience: 1h }";
    let stuck = stuck_of(6, server, choose);
    assert!(stuck.len() >= 2, "{stuck:?}");
    assert!(
        stuck
            .iter()
            .all(|line| line.contains("a partner in the queue")),
        "{stuck:?}"
    );
    let tea = "[{ enter_queue: { interests: [tea] } }, { await: chatroom.found }]";
    let alone = stuck_of(3, server, tea);
    assert_eq!(alone, [""; 0], "two are matched, and one has nobody");
}

#[test]
fn a_stuck_claimant_names_the_holder_that_is_disconnected() {
    let plan = parse(
        "held.yaml",
        "duration: 20s
phases: [{ duration: 1s, arrival_count: 2 }]
scenarios:
- name: vanisher
  count: 1
  flow: [login: { room: table }, talking_stick, await: stick.granted, disconnect]
- name: waiter
  count: 1
  flow:
  - login: { room: table }
  - think: 5s
  - talking_stick
  - await: { event: stick.granted, within: 30s }
",
    )
    .unwrap();
    // The grace of the holder is over after the `await`, and before the end of the run.
    let stuck = run(&plan, 1).stuck;
    let [one] = stuck.as_slice() else {
        panic!("{stuck:?}")
    };
    assert_eq!(
        (one.who.name.as_str(), one.waiting_for.as_str()),
        ("waiter#0", "the stick of room_1")
    );
    let holder = one.holder.as_ref().expect("it disconnected");
    assert_eq!(holder.who.name, "vanisher#1");
    assert!(holder.since_ms < one.since_ms, "{one:?}");
}

/// Found by exploring `crash_restart`, seed 68490: the journal contained the act, but its answer
/// was lost.
#[test]
fn an_operator_s_act_may_take_effect_though_a_crash_takes_its_answer() {
    let plan = parse(
        "closed.yaml",
        "name: closed
duration: 3s
users: [a, b]
steps:
- { at: 0s, user: a, do: enter_queue }
- { at: 20ms, user: b, do: enter_queue }
faults:
- { at: 100ms, fail_disk: { for: 1s, unknown: true } }
- { at: 110ms, operator: { close: { user: a } } }
- { at: 200ms, crash: server, down_for: 50ms, lose_unsynced: false }
",
    )
    .unwrap();
    let mut ends = Vec::new();
    let outcome = watched(&plan, 1, |event| {
        if let RunEvent::Client(record) = event
            && let ClientEvent::Received { event, first, .. } = record.what
            && let Some(Body::PartnerDisconnected(reason)) = event.body().filter(|_| first)
        {
            ends.push(*reason);
        }
    });
    assert_eq!(ends, [EndReason::Closed; 2]);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
}
