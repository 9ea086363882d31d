//! Hand-made runs for tests: every form that a report can take.

use std::sync::Arc;

use chat_types::Span;
use serde_json::{Value, json};

use crate::trace::ObservedLine;
use crate::{FailureExcerpt, FinishedRun, repeat_command};
use sim_model::outcome::{
    Charts, DisconnectedHolder, FailingSeed, MetricResult, Point, Repro, Requests, RunResult,
    Starts, Stuck, Summary, Timeline, Verdict, Violation,
};
use sim_model::plan::{Persona, Workload};
use sim_model::protocol::User;
use sim_model::recipe::Recipe;
use sim_model::user_name::UserName;

pub(crate) const FILE: &str = "scenarios/burst.yaml";

pub(crate) fn metric(p50: f64, p95: f64, p99: f64, max: f64) -> MetricResult {
    MetricResult {
        count: 1_534,
        p50: Some(p50),
        p90: Some((p50 + p95) / 2.0),
        p95: Some(p95),
        p99: Some(p99),
        p999: Some((p99 + max) / 2.0),
        max: Some(max),
        mean: Some(p50 * 1.5),
        ..MetricResult::default()
    }
}

/// The result of one seed of `burst`, which passed.
fn result() -> RunResult {
    let mut result: RunResult = serde_json::from_str(include_str!("samples/passed.json")).unwrap();
    for point in Point::ALL {
        result.sometimes.entry(point.name().to_owned()).or_default();
    }
    result
}

fn timeline() -> Timeline {
    let mut timeline = Timeline::new(Span::secs(1));
    for (second, users) in [200, 4, 5, 5, 6, 7, 8, 8, 9, 9].into_iter().enumerate() {
        for _ in 0..users {
            timeline.arrive(Span::secs(second as u64));
        }
    }
    timeline.mark(Span::secs(10), "crash", None);
    timeline.mark(Span::secs(15), "partition", None);
    timeline.mark(Span::secs(20), "slow", None);
    timeline.healed_at = Some(Span::secs(30));
    timeline.quiet_at = Some(Span::millis(33_412));
    timeline
}

/// One seed of `burst`, which passed.
pub(crate) fn passed() -> FinishedRun {
    let scenario = include_str!("samples/burst.yaml");
    let plan = sim_scenario::parse("burst.yaml", scenario).unwrap();
    let summary = Summary {
        result: result(),
        by_persona: vec![208, 26, 26],
        timeline: timeline(),
        failing: Vec::new(),
        charts: Charts::default(),
    };
    FinishedRun::new(FILE.to_owned(), plan, summary)
}

/// A copy of the run of `burst` in whose result these fields are others.
fn passed_but(fields: Value) -> FinishedRun {
    let mut run = passed();
    patch(&mut run.summary.result, fields);
    run
}

fn patch(result: &mut RunResult, fields: Value) {
    let mut value = serde_json::to_value(&*result).unwrap();
    merge(&mut value, &fields);
    *result = serde_json::from_value(value).unwrap();
}

fn merge(value: &mut Value, other: &Value) {
    if let (Some(fields), Some(others)) = (value.as_object_mut(), other.as_object()) {
        for (name, other) in others {
            merge(fields.entry(name).or_insert(Value::Null), other);
        }
    } else {
        *value = other.clone();
    }
}

/// A run against a live server, which passed.
pub(crate) fn live_run() -> FinishedRun {
    passed_but(json!({
        "live": {
            "target": "http://127.0.0.1:8894", "protocol": "http", "rate_scale": 1.0, "suffix": "-abc",
            "starts": Starts::default(), "requests": Requests::default(),
            "offered_per_second": 116.0, "achieved_per_second": 116.0,
            "scheduling_delay": MetricResult::default(), "uncorrected": {}, "ignored": [],
            "lacking": [], "left_out": [], "driver_busy": 0.0, "remarks": [],
        },
    }))
}

/// 200 seeds, which passed.
pub(crate) fn many_passed() -> FinishedRun {
    let mut run = passed_but(json!({
        "seeds": 200, "users": 52_000, "steps": 12_240_800, "wall_ms": 11_000.0,
        "counts": {
            "attempted": 226_200, "accepted": 218_400, "refused": 7_790, "unanswered": 10, "gapped": 3,
        },
        "refusals": { "name_taken": 12 },
    }));
    let result = &mut run.summary.result;
    result.virtual_ms *= 200.0;
    for property in result.properties.values_mut() {
        property.checks *= 200;
    }
    run.summary.by_persona = vec![41_612, 5_188, 5_200];
    run
}

fn observed(at_ms: u64, lane: Option<usize>, text: &str) -> ObservedLine {
    ObservedLine {
        at: Span::millis(at_ms),
        lane,
        text: text.to_owned(),
        blamed: false,
    }
}

fn repro(seed: u64) -> Repro {
    Repro {
        command: repeat_command(FILE, seed, 1, &Recipe::default()),
        whole: None,
        file: FILE.to_owned(),
    }
}

fn fail(run: &mut FinishedRun, property: &str, verdict: Verdict, seed: u64, detail: &str) {
    let result = &mut run.summary.result;
    result.verdict = verdict;
    result.exit_code = verdict.exit_code();
    if let Some(broken) = result.properties.get_mut(property) {
        broken.held = Some(false);
    }
    result.violations.push(Violation {
        property: property.to_owned(),
        at: Span::millis(22_431),
        users: vec![User(7), User(9)],
        detail: detail.to_owned(),
        seed,
        ..Violation::default()
    });
    result.repro = Some(repro(seed));
    run.summary.failing.push(FailingSeed {
        seed,
        trace_hash: Some(0x51c0_7be2_d90a_6f18),
    });
}

/// A stale push was accepted.
pub(crate) fn unsafe_run() -> FinishedRun {
    let mut run = passed();
    run.plan.name = "stick_contention".to_owned();
    run.summary.result.scenario = "stick_contention".to_owned();
    run.summary.result.seed = 1_337;
    let detail = "user_7's push was accepted after user_9 was granted the lobby's stick.";
    fail(&mut run, "stick_exclusion", Verdict::Safety, 1_337, detail);
    let mut blamed = observed(22_431, Some(0), "← accepted, room_seq 18");
    blamed.blamed = true;
    run.excerpt = Some(FailureExcerpt {
        users: vec!["user_7".to_owned(), "user_9".to_owned()],
        lines: vec![
            observed(12_001, Some(0), "← stick granted to me, epoch 3"),
            observed(12_020, Some(0), "✗ stream closed"),
            observed(14_000, None, "server clock jumped by 2h"),
            observed(22_004, Some(1), "← stick granted to me, epoch 4"),
            observed(22_418, Some(0), "→ push"),
            blamed,
            observed(
                22_431,
                Some(1),
                "← message 18 from user_7: \"hello there, how ar…\"",
            ),
        ],
        other_hash: None,
    });
    run
}

/// A liveness property was violated in 3 of 200 seeds, with further failures.
pub(crate) fn stalled_run() -> FinishedRun {
    let mut run = many_passed();
    let detail = "user_7 and user_9 both waited for 6.2s after all faults were healed, and were \
                  not matched with each other or anybody else.";
    for seed in [57, 60, 199] {
        fail(&mut run, "queue_progress", Verdict::Liveness, seed, detail);
    }
    let result = &mut run.summary.result;
    result.repro = Some(repro(57));
    result.stuck = (0..7).map(stuck).collect();
    patch(
        result,
        json!({
            "sometimes": { "stick_expired": 0 }, "stuck_left_out": 1_000,
            "rest": { "held": false, "stuck": 1_007, "allowed": null, "seed": 58 },
        }),
    );
    result.thresholds[1].met = Some(false);
    result.thresholds[1].measured = Some(6_200.0);
    run.summary.timeline.quiet_at = None;
    run.summary.timeline.ended_at = Span::secs(90);
    run
}

pub(crate) fn stuck(n: u32) -> Stuck {
    Stuck {
        who: UserName::new(Some(User(u64::from(n) + 1)), &format!("penpal#{n}")),
        at: "flow[1] await".to_owned(),
        waiting_for: "a partner in the queue".to_owned(),
        since_ms: 12_000 + u64::from(n) * 250,
        holder: None,
        seed: 57 + u64::from(n),
    }
}

/// Nothing is violated, and two users are stuck.
pub(crate) fn stuck_run() -> FinishedRun {
    let mut run = passed_but(json!({
        "verdict": "liveness", "exit_code": 3,
        "rest": { "held": false, "stuck": 2, "allowed": "1/1000", "seed": null },
    }));
    let result = &mut run.summary.result;
    result.stuck = (0..2).map(stuck).collect();
    result.stuck[1].waiting_for = "the stick of room_3".to_owned();
    result.stuck[1].holder = Some(DisconnectedHolder {
        who: UserName::new(Some(User(9)), "vanisher#4"),
        since_ms: 9_500,
    });
    run.summary.timeline.quiet_at = None;
    run
}

/// No message was accepted, because of limits.
pub(crate) fn refused() -> FinishedRun {
    let mut run = passed_but(json!({
        "verdict": "unjudged", "exit_code": 4, "counts": { "accepted": 0 },
    }));
    run.plan.expect_sometimes.clear();
    personas(&mut run).retain(|persona| persona.name == "speaker");
    run.summary.by_persona = vec![260];
    let result = &mut run.summary.result;
    result.counts.refused = result.counts.attempted;
    let refusals = json!({ "address_full": 203, "chat_ended": 400, "rate_limited": 1_131 });
    result.refusals = serde_json::from_value(refusals).unwrap();
    run
}

/// The personas of a sample.
fn personas(run: &mut FinishedRun) -> &mut Vec<Arc<Persona>> {
    match &mut run.plan.workload {
        Workload::Phases { personas, .. } => personas,
        Workload::Steps { .. } => panic!("the sample has phases"),
    }
}

/// No property was exercised.
pub(crate) fn idle_run() -> FinishedRun {
    let mut run = passed_but(json!({ "verdict": "unjudged", "exit_code": 4, "thresholds": [] }));
    run.plan.expect_sometimes.clear();
    let result = &mut run.summary.result;
    for property in result.properties.values_mut() {
        property.checks = 0;
        property.held = None;
    }
    run
}

/// Two expected points were not reached, and one threshold measured nothing.
pub(crate) fn unjudged() -> FinishedRun {
    let mut run = passed_but(json!({
        "verdict": "unjudged", "exit_code": 4,
        "sometimes": { "stick_expired": 0, "retry_deduplicated": 0 },
    }));
    let result = &mut run.summary.result;
    result.fairness.clear();
    result.thresholds[3].met = None;
    result.thresholds[3].measured = None;
    run
}

/// Two thresholds were crossed.
pub(crate) fn crossed() -> FinishedRun {
    let mut run = passed_but(json!({ "verdict": "threshold", "exit_code": 99 }));
    let result = &mut run.summary.result;
    result.thresholds[0].met = Some(false);
    result.thresholds[0].measured = Some(1_240.0);
    result.thresholds[2].met = Some(false);
    let mut of_persona = result.thresholds[0].clone();
    of_persona.persona = Some("penpal".to_owned());
    result.thresholds.push(of_persona);
    result.thresholds[2].measured = Some(3.0);
    run
}

/// Every name and sentence is very long, and every number is large.
pub(crate) fn overlong(mut run: FinishedRun) -> FinishedRun {
    let long = |text: &str| format!("{text}{}漢字\u{1b}[2J", "_and_so_on".repeat(12));
    run.plan.name = long(&run.plan.name);
    run.plan.about = format!("{} {}", long("about"), "many words ".repeat(40));
    let personas = personas(&mut run);
    let persona = |n: usize| Persona {
        name: long(&format!("persona {n}")),
        ..Persona::clone(&personas[0])
    };
    *personas = (0..30).map(|n| Arc::new(persona(n))).collect();
    run.summary.by_persona = vec![1_234_567_890; 30];
    run.file = long("some folder/scenario");
    for n in 0..60 {
        let label = if n % 2 == 0 {
            long("fault")
        } else {
            "crash".to_owned()
        };
        run.summary
            .timeline
            .mark(Span::secs(100 + n * 1_000), &label, None);
    }
    let result = &mut run.summary.result;
    result.users = u64::MAX;
    result.steps = u64::MAX / 3;
    result.virtual_ms = 1e12;
    for property in result.properties.values_mut() {
        property.checks = property.checks.saturating_mul(1_000_000_000);
    }
    for metric in result.metrics.values_mut() {
        *metric = self::metric(1e3, 1e6, 1e9, 1e12);
        metric.unfinished = 12_345_678;
    }
    for threshold in &mut result.thresholds {
        threshold.expression = format!("{}00000000000000ms", threshold.expression);
        threshold.measured = threshold.measured.map(|value| value + 123_456_789.123);
    }
    for code in 0..20 {
        result
            .refusals
            .insert(long(&format!("refusal_{code}")), 1 << code);
    }
    for violation in &mut result.violations {
        violation.detail = format!("{} {}", long("what"), violation.detail.repeat(9));
    }
    for stuck in &mut result.stuck {
        stuck.who.name = long("stuck");
        stuck.waiting_for = long("waits");
    }
    result.repro = Some(Repro {
        command: repeat_command(&run.file, u64::MAX, u64::MAX, &Recipe::default()),
        whole: None,
        file: run.file.clone(),
    });
    if let Some(excerpt) = &mut run.excerpt {
        excerpt.users = ["user_4294967295", "user_9", "user_7"]
            .map(str::to_owned)
            .to_vec();
        for line in &mut excerpt.lines {
            line.lane = line.lane.map(|lane| 2 - lane);
            line.text = long(&line.text);
            line.at = Span(line.at.0 * 1_000_000);
        }
        excerpt.other_hash = Some(u64::MAX);
    }
    run
}
