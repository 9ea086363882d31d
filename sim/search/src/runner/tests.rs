use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use chat_types::Span;
use sim_judge::metrics::Metrics;
use sim_model::history::{ClientEvent, Observer as _, Record, RequestKey, RunEvent};
use sim_model::outcome::{
    Counts, Interrupt, Point, PropertyResult, RunResult, START, Summary, Tally, ThresholdResult,
    Timeline, UserOutcome, Verdict, Violation, WorldOutcome, judge,
};
use sim_model::protocol::{Agent, CallId, Command, EnterQueue, Op, User};
use sim_model::user_name::UserName;

use super::*;
use sim_scenario::parse;

/// The metrics of a run whose only user waits in the queue from start to end.
fn metrics(seed: u64) -> Metrics {
    let mut metrics = Metrics::default();
    let op = Op::Command(Command::EnterQueue(EnterQueue {
        user_id: None,
        display_name: None,
        interests: Arc::from([]),
    }));
    metrics.observe(RunEvent::Client(&Record {
        at: START,
        agent: Agent(0),
        name: "a#0",
        user: None,
        what: ClientEvent::Called {
            call: CallId(0),
            op: &op,
            intended: START,
            key: RequestKey::Own,
        },
    }));
    let name = |_| UserName::new(None, "a#0");
    metrics.end_run(seed, START + Span::secs(1), &[], &name);
    metrics
}

/// The seeds whose users waited, in the order of merging. All waited equally long.
fn merged_seeds(merged: &Summary) -> Vec<u64> {
    let waits = merged.charts.queue.worst.iter();
    waits.map(|wait| wait.seed).collect()
}

fn outcome(seed: u64) -> SeedOutcome {
    let mut tally = Tally::default();
    tally.reach(match seed % 2 {
        0 => Point::Match,
        _ => Point::Gap,
    });
    let property = PropertyResult {
        held: (seed > 10).then_some(seed != 17),
        checks: seed,
        unjudged: 0,
    };
    let violation = |detail: &str| Violation {
        property: "room_order".to_owned(),
        at: Span::micros(1_500),
        users: vec![User(1)],
        detail: detail.to_owned(),
        ..Violation::default()
    };
    let user = UserOutcome {
        name: "penpal#0".into(),
        user: None,
        waiting: None,
    };
    let ran = WorldOutcome {
        seed,
        trace_hash: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ended_at: START + Span::secs(1),
        users: vec![user; 2],
        by_persona: vec![1, 1],
        skipped: 0,
        steps: 10,
        tally,
        timeline: Timeline::new(Span::secs(1)),
    };
    SeedOutcome {
        thresholds: Vec::new(),
        ran,
        properties: BTreeMap::from([("room_order", property)]),
        violations: match seed {
            17 => vec![violation("one"), violation("two")],
            _ => Vec::new(),
        },
        counts: Counts {
            attempted: 3,
            ..Counts::default()
        },
        metrics: metrics(seed),
        stuck: Vec::new(),
    }
}

fn seeds(first: u64, count: u64, jobs: usize) -> Seeds {
    Seeds {
        first,
        count: NonZeroU64::new(count).unwrap(),
        jobs: NonZeroUsize::new(jobs).unwrap(),
    }
}

fn summary(seeds: Seeds, run: &(dyn Fn(u64) -> SeedOutcome + Sync)) -> Summary {
    let least = "phases: [{ duration: 1s, arrival_rate: 1 }]\nscenarios: [{ name: a, flow: [{ login: { room: hall } }] }]\n";
    let plan = parse("burst.yaml", least).unwrap();
    let run = |seed: u64, _: &Progress| run(seed);
    let merged = run_seeds(seeds, &Interrupt::default(), &run, &mut |_| {});
    merged.finish(&plan, Duration::ZERO)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = |seed: u64| {
        // Later seeds end first, as far as the threads allow.
        for _ in 0..(40 - seed.min(40)) * 50 {
            std::thread::yield_now();
        }
        outcome(seed)
    };
    let with = |jobs| summary(seeds(10, 25, jobs), &run);
    let one = with(1);
    for jobs in [2, 3, 8, 100] {
        let many = with(jobs);
        assert_eq!(
            serde_json::to_string(&many.result).unwrap(),
            serde_json::to_string(&one.result).unwrap()
        );
        assert_eq!(
            (many.failing, many.timeline),
            (one.failing.clone(), one.timeline.clone())
        );
    }
    assert_eq!(one.by_persona, [25, 25]);
    let one = one.result;
    assert_eq!(one.verdict, Verdict::Safety);
    let sums = (one.users, one.steps, one.virtual_ms);
    assert_eq!(sums, (50, 250, 25_000.0));
    assert_eq!((one.sometimes["match"], one.sometimes["gap"]), (13, 12));
    let checks = one.properties["room_order"].checks;
    assert_eq!(checks, (10..35).sum::<u64>());
    let told = one.violations.iter().map(|v| (v.seed, v.detail.as_str()));
    assert_eq!(told.collect::<Vec<_>>(), [(17, "one"), (17, "two")]);
}

#[test]
fn metrics_merge_in_the_order_of_the_seeds() {
    let merged = summary(seeds(0, 50, 4), &outcome);
    assert_eq!(merged_seeds(&merged), (0..50).collect::<Vec<u64>>());
}

#[test]
fn hashes_of_several_seeds_are_folded_in_order() {
    let hash = |first, count| summary(seeds(first, count, 2), &outcome).result.trace_hash;
    assert_eq!(hash(3, 1), format!("{:016x}", outcome(3).ran.trace_hash));
    assert_eq!(hash(3, 2), "f5bd4c6182630f91");
    assert_ne!(hash(3, 2), hash(4, 2));
    assert_ne!(hash(3, 2), hash(3, 3));
}

#[test]
fn few_outcomes_are_stored_at_once() {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let run = |seed: u64| {
        STARTED.fetch_add(1, Ordering::SeqCst);
        if seed == 0 {
            // The first seed is slow: it waits until no other thread can run ahead.
            while STARTED.load(Ordering::SeqCst) < 4 {
                std::thread::yield_now();
            }
            for _ in 0..10_000 {
                std::thread::yield_now();
            }
            assert_eq!(STARTED.load(Ordering::SeqCst), 4);
        }
        outcome(seed)
    };
    let done = summary(seeds(0, 30, 2), &run).result;
    assert_eq!((done.users, done.violations.len()), (60, 2));
}

#[test]
fn no_piece_is_begun_after_an_interrupt() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let begun = AtomicU64::new(0);
    let run = |_: u64, _: &Progress| begun.fetch_add(1, Ordering::SeqCst);
    let mut take = |_: u64, _: Ended<u64>| {
        // The thread has ended the pieces that it may begin, and waits for another one.
        while begun.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        interrupt.store(true, Ordering::SeqCst);
        ControlFlow::Continue(())
    };
    let jobs = (NonZeroUsize::MIN, &Interrupt::of(Arc::clone(&interrupt)));
    in_order(9, jobs, &run, &mut take, &mut |_| {});
    assert_eq!(begun.load(Ordering::SeqCst), 3);
}

#[test]
fn a_panic_of_one_seed_is_a_violation_and_the_others_run() {
    let run = |seed: u64| {
        assert!(seed != 4, "the line is broken");
        outcome(seed)
    };
    let done = summary(seeds(3, 3, 2), &run).result;
    assert_eq!((done.exit_code, done.users), (1, 4));
    let panic = &done.violations[0];
    assert_eq!((panic.property.as_str(), panic.seed), ("panic", 4));
    assert_eq!(panic.detail, "The run panicked: the line is broken");
}

#[test]
fn the_largest_seed_is_followed_by_seed_0() {
    let merged = summary(seeds(u64::MAX, 2, 1), &outcome);
    assert_eq!(merged_seeds(&merged), [u64::MAX, 0]);
}

#[test]
fn a_threshold_that_one_seed_crosses_counts() {
    let measured = |met| ThresholdResult {
        metric: "stuck".to_owned(),
        persona: None,
        expression: "count<=1".to_owned(),
        measured: Some(if met { 1.0 } else { 2.0 }),
        met: Some(met),
        seed: None,
    };
    let run = |seed: u64| SeedOutcome {
        thresholds: vec![measured(seed != 3)],
        ..outcome(seed)
    };
    let mut crossed = measured(false);
    crossed.seed = Some(3);
    let thresholds = summary(seeds(1, 5, 2), &run).result.thresholds;
    assert_eq!(thresholds, [crossed]);
}

#[test]
fn a_silent_run_and_one_without_an_expected_point_are_unjudged() {
    let verdict = |more: &str, accepted: u64, reached: u64| {
        let text = format!(
            "name: said\nduration: 1s\nphases: [{{ name: all, duration: 1s, arrival_count: 1 }}]\n\
             scenarios: [{{ name: one, flow: [login, {{ send: {{ length: 4 }} }}] }}]\n{more}"
        );
        let plan = parse("said.yaml", &text).expect("it is valid");
        let mut result = RunResult::default();
        result.counts.accepted = accepted;
        result.sometimes = BTreeMap::from([("match".to_owned(), reached)]);
        let held = PropertyResult {
            held: Some(true),
            checks: 1,
            unjudged: 0,
        };
        result.properties = BTreeMap::from([("room_order".to_owned(), held)]);
        (result.rest.held, result.left_out.held) = (true, true);
        judge(&plan, &result)
    };
    let expected = "expect_sometimes: [match]";
    assert_eq!(
        verdict("", 0, 0),
        Verdict::Unjudged,
        "no message was accepted"
    );
    assert_eq!(verdict("", 1, 0), Verdict::Pass);
    assert_eq!(verdict(expected, 1, 0), Verdict::Unjudged, "no match");
    assert_eq!(verdict(expected, 0, 1), Verdict::Pass);
}
