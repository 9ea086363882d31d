//! Tests `sim compare`: differences, their directions, and the exit code.

use proptest::prelude::*;
use serde_json::{Value, json};
use sim_report::compare::{Change, Comparison, Regressions, Results, compare, read};
use sim_report::{Detail, Paint, View, compared};

const NOISE: f64 = 0.2;

/// A result as `--json` writes it.
fn result(scenario: &str) -> Value {
    json!({
        "scenario": scenario, "scenario_hash": "5be3a1c0f2d94e77", "seed": 42, "seeds": 1, "verdict": "pass", "exit_code": 0,
        "trace_hash": "8d1f4c02a97be350", "virtual_ms": 33_400.0, "wall_ms": 50.0,
        "users": 260, "steps": 61_204,
        "counts": { "accepted": 1092, "lost": 0 },
        "properties": {
            "no_lost_messages": { "held": true, "checks": 1534 },
            "queue_progress": { "held": true, "checks": 234 },
            "breaks_rules": { "held": null, "checks": 0 },
        },
        "sometimes": { "match": 117, "crash": 1 },
        "metrics": { "message_latency": { "count": 1092, "p50": 58.0, "p95": 310.0 } },
        "fairness": { "stick_turns": { "jain": 0.95, "max": 3.0, "mean": 1.5, "overtaken": 0 } },
        "thresholds": [{ "metric": "message_latency", "expression": "p(95)<1s",
                         "measured": 310.0, "met": true, "seed": null }],
        "refusals": { "chat_ended": 39 },
        "left_out": { "users": 0 }, "stuck": [], "stuck_left_out": 0, "violations": [], "violations_left_out": 0,
        "repro": { "command": "sim", "file": "burst.yaml" },
        "simulator": { "version": "0.1.0", "commit": "2c12b16" },
        "a_field_of_later": [1, 2, 3],
    })
}

fn runs(values: &[Value]) -> Results {
    let simulator = &values[0]["simulator"];
    read(&json!({ "exit_code": 0, "simulator": simulator, "runs": values }).to_string())
        .expect("these are results")
}

fn changed(change: impl FnOnce(&mut Value)) -> Comparison {
    let mut after = result("burst");
    change(&mut after);
    two(result("burst"), after)
}

/// The comparison of two results of one run each.
fn two(before: Value, after: Value) -> Comparison {
    compare(&runs(&[before]), &runs(&[after]), NOISE)
}

/// The figures of the first scenario that differ.
fn changes(found: &Comparison) -> Vec<(&str, Change)> {
    let differences = found.scenarios[0].differences.iter();
    let changes = differences.map(|one| (one.figure.as_str(), one.change));
    changes.collect()
}

fn page(found: &Comparison, code: u8) -> String {
    let view = View {
        detail: Detail::Normal,
        paint: Paint::Plain,
        version: "0",
    };
    let page = compared(found, ("before.json", "after.json"), code, &view);
    for line in page.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    page
}

#[test]
fn what_differs_is_a_table() {
    let found = changed(|after| {
        after["verdict"] = "safety".into();
        after["trace_hash"] = "51c07be2d90a6f18".into();
        after["steps"] = 40_000.into();
        after["counts"]["lost"] = 2.into();
        after["counts"]["accepted"] = 1_090.into();
        after["properties"]["no_lost_messages"]["held"] = false.into();
        after["sometimes"]["crash"] = 0.into();
        after["metrics"]["message_latency"]["p95"] = 310.25.into();
        after["metrics"]["message_latency"]["p50"] = 50.0.into();
        after["fairness"]["stick_turns"]["jain"] = 0.9.into();
        after["refusals"]["blocked"] = 1.into();
    });
    insta::assert_snapshot!(page(&found, found.exit_code(Regressions::Fail)));
}

#[test]
fn the_same_is_the_same() {
    let found = changed(|_| {});
    assert!(found.is_same());
    insta::assert_snapshot!(page(&found, 0));
}

#[test]
fn other_seeds_and_other_scenarios_are_said() {
    let mut after = result("burst");
    after["seed"] = 7.into();
    after["counts"]["lost"] = 5.into();
    after["verdict"] = "liveness".into();
    after["properties"]["queue_progress"]["held"] = false.into();
    let found = compare(
        &runs(&[result("burst"), result("steady")]),
        &runs(&[after, result("soak")]),
        NOISE,
    );
    let code = found.exit_code(Regressions::Pass);
    assert_eq!(code, 2, "each lacks a scenario of the other");
    let page = page(&found, code);
    assert!(!page.contains("lost"), "counts of other seeds say nothing");
    insta::assert_snapshot!(page);
}

#[test]
fn another_text_of_the_scenario_and_another_simulator_are_said() {
    let found = changed(|after| {
        after["scenario_hash"] = "0000000000000001".into();
        after["simulator"]["commit"] = "4f7841a".into();
        after["users"] = 4.into();
        after["metrics"]["message_latency"]["p95"] = 1.0.into();
    });
    assert!(found.scenarios[0].differences.is_empty(), "{found:?}");
    let page = page(&found, 0);
    assert!(page.contains("another scenario of this name"), "{page}");
    assert!(
        page.contains("by sim 0.1.0 (2c12b16) → sim 0.1.0 (4f7841a)"),
        "{page}"
    );
}

#[test]
fn a_metric_has_one_row_for_each_figure() {
    let mut before = result("burst");
    before["metrics"]["queue_wait"] = json!({ "count": 2, "p95": null, "max": 7.0 });
    before["fairness"]["queue_wait"] = json!({ "jain": null, "max": 7.0, "overtaken": 0 });
    let mut after = before.clone();
    after["metrics"]["queue_wait"]["max"] = 3.0.into();
    after["fairness"]["queue_wait"]["max"] = 3.0.into();
    let found = two(before, after);
    let found: Vec<_> = changes(&found)
        .into_iter()
        .map(|(_, change)| change)
        .collect();
    assert_eq!(found, [Change::Better]);
}

#[test]
fn a_point_that_is_newly_reached_is_not_better_and_a_lost_one_is_worse() {
    let (mut before, mut after) = (result("burst"), result("burst"));
    before["sometimes"] = json!({ "match": 3, "away": 0, "crash": 2 });
    after["sometimes"] = json!({ "match": 5, "away": 4, "crash": 0 });
    let found = two(before, after);
    assert_eq!(
        changes(&found),
        [
            ("reached crash", Change::Worse),
            ("reached away", Change::Different),
            ("reached match", Change::Different),
        ]
    );
    assert_eq!(found.exit_code(Regressions::Fail), 99);
    let page = page(&found, 99);
    for (figure, words) in [
        ("reached away", "▲ reached now"),
        ("reached crash", "▼ worse: lost"),
    ] {
        let line = page.lines().find(|line| line.starts_with(figure));
        assert!(line.is_some_and(|line| line.ends_with(words)), "{page}");
    }
    assert!(
        page.contains("1 count of checks and reached points"),
        "{page}"
    );
}

#[test]
fn a_threshold_of_one_persona_is_named_with_it() {
    let mut before = result("burst");
    before["thresholds"][0]["persona"] = "penpal".into();
    let mut after = before.clone();
    after["thresholds"][0]["met"] = false.into();
    let named = "threshold message_latency{persona:penpal} p(95)<1s";
    assert_eq!(changes(&two(before, after)), [(named, Change::Worse)]);
}

#[test]
fn speed_is_compared_within_the_noise() {
    let within = changed(|after| after["wall_ms"] = 60.0.into());
    assert!(within.is_same());
    assert!(page(&within, 0).contains("within the noise of 20%"));
    let beyond = changed(|after| after["wall_ms"] = 100.0.into());
    assert_eq!(beyond.count(Change::Worse), 1);
    assert!(page(&beyond, 0).contains("▼ worse, beyond the noise of 20%"));
    assert_eq!(beyond.exit_code(Regressions::Fail), 0);
    assert_eq!(beyond.exit_code(Regressions::FailOnSpeed), 99);
    let faster = changed(|after| after["wall_ms"] = 10.0.into());
    assert_eq!(faster.count(Change::Better), 1);
}

#[test]
fn exit_codes_come_in_their_order() {
    let held = |after: &mut Value, name: &str| after["properties"][name]["held"] = false.into();
    for (code, change) in [
        (0, (|_: &mut Value| {}) as fn(&mut Value)),
        (99, |after| after["counts"]["lost"] = 1.into()),
        (99, |after| after["sometimes"]["match"] = 0.into()),
        (0, |after| after["sometimes"]["match"] = 5.into()),
        (0, |after| after["users"] = 5.into()),
        (4, |after| {
            after["verdict"] = "unjudged".into();
            after["counts"]["lost"] = 1.into();
        }),
    ] {
        let found = changed(change);
        assert_eq!(found.exit_code(Regressions::Fail), code);
        assert_eq!(found.exit_code(Regressions::Pass), 0);
    }
    let liveness = changed(|after| {
        held(after, "queue_progress");
        after["verdict"] = "unjudged".into();
    });
    assert_eq!(liveness.exit_code(Regressions::Fail), 3);
    let both = changed(|after| {
        held(after, "queue_progress");
        held(after, "no_lost_messages");
    });
    assert_eq!(both.exit_code(Regressions::Fail), 1);
}

#[test]
fn what_is_no_result_is_told_so() {
    assert!(read("{").unwrap_err().starts_with("not JSON: "));
    let simulator = &result("burst")["simulator"];
    let text = json!({ "verdict": "pass", "simulator": simulator }).to_string();
    let other = read(&text).unwrap_err();
    assert!(
        other.contains("not a result of `sim --json`: missing field"),
        "{other}"
    );
    let older = json!({ "schema_version": 1, "runs": [] }).to_string();
    let older = read(&older).unwrap_err();
    assert!(older.starts_with("its schema_version is 1, "), "{older}");
    let twice =
        json!({ "simulator": simulator, "runs": [result("burst"), result("burst")] }).to_string();
    let twice = read(&twice).unwrap_err();
    assert_eq!(twice, "the scenario `burst` is in it twice");
    assert_eq!(read(&result("burst").to_string()).unwrap().runs.len(), 1);
}

/// A result with random figures.
fn drawn() -> impl Strategy<Value = Value> {
    let held = prop_oneof![Just(Some(true)), Just(Some(false)), Just(None)];
    let verdict = proptest::sample::select(&["pass", "safety", "unjudged", "interrupted"][..]);
    let figures = (0u64..3, 0u64..3, 0.0..3.0f64, 0.0..1.0f64, 1.0..100.0f64);
    (held, verdict, figures, proptest::option::of(0u64..5)).prop_map(
        |(held, verdict, (lost, reached, p95, jain, wall), muted)| {
            let mut value = result("burst");
            value["verdict"] = verdict.into();
            value["properties"]["no_lost_messages"]["held"] = held.into();
            value["counts"]["lost"] = lost.into();
            value["sometimes"]["match"] = reached.into();
            value["metrics"]["message_latency"]["p95"] = p95.into();
            value["fairness"]["stick_turns"]["jain"] = jain.into();
            value["wall_ms"] = wall.into();
            if let Some(muted) = muted {
                value["refusals"]["muted"] = muted.into();
            }
            value
        },
    )
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(one in drawn()) {
        let runs = runs(&[one]);
        let found = compare(&runs, &runs, 0.0);
        prop_assert!(found.is_same(), "{found:?}");
        prop_assert_eq!(found.exit_code(Regressions::FailOnSpeed), 0);
    }

    #[test]
    fn the_other_way_round_better_is_worse(one in drawn(), other in drawn(), noise in 0.0..0.9f64) {
        let (one, other) = (runs(&[one]), runs(&[other]));
        let (there, back) = (compare(&one, &other, noise), compare(&other, &one, noise));
        let sorted = |found: &Comparison| {
            let mut all = changes(found);
            all.sort_by_key(|(figure, _)| *figure);
            let all = all.into_iter().map(|(figure, change)| (figure.to_owned(), change));
            let wall = found.scenarios[0].wall.and_then(|wall| wall.change);
            (all.collect::<Vec<_>>(), wall)
        };
        let (mut all, wall) = sorted(&there);
        let (one, other) = (&one.runs[0].sometimes["match"], &other.runs[0].sometimes["match"]);
        for (figure, change) in &mut all {
            *change = match figure.as_str() {
                // A point that is newly reached is not better.
                "reached match" => match (one, other) {
                    (0, _) => Change::Worse,
                    (_, _) => Change::Different,
                },
                _ => reversed(*change),
            };
        }
        prop_assert_eq!((all, wall.map(reversed)), sorted(&back));
    }
}

/// This change in the other direction.
fn reversed(change: Change) -> Change {
    match change {
        Change::Better => Change::Worse,
        Change::Worse => Change::Better,
        Change::Different => Change::Different,
    }
}
