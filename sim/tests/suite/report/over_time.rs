//! The figures over time and the users of a report, beside the result of the same run.

use std::fs;

use serde_json::{Value, json};
use sim_report::html;
use sim_search::seed::run_seed;

use super::agreement::finished;
use super::{BURST, CONTENTION, TestFolder, blaming, data};
use crate::{Folder, each, has, list, shipped_file};

fn sum(counts: &Value) -> u64 {
    let counts = list(counts).iter();
    counts.map(|count| count.as_u64().expect("a count")).sum()
}

#[test]
fn figures_over_time_have_the_totals_of_the_result() {
    let folder = TestFolder::new();
    let json = folder.folder.join("totals.json");
    let more = format!("--json {}", json.display());
    let (_, _, page) = folder.sim(&run_seed, &[BURST], &more, "totals.html");
    let result: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let series = &data(&page)["runs"][0]["series"];
    let counts = &result["counts"];
    assert_eq!(sum(&series["messages_offered"]), counts["attempted"]);
    assert_eq!(sum(&series["messages_accepted"]), counts["accepted"]);
    assert_eq!(sum(&series["arrived"]), result["users"]);
    let refusals = result["refusals"].as_object().unwrap().values();
    let refusals: u64 = refusals.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum(&series["refused"]), refusals);
    let seen = &result["metrics"]["message_latency"]["count"];
    assert_eq!(series["sampled_of"], *seen);
    let measured = series["measured"].as_object().unwrap();
    let names: Vec<&String> = measured.keys().collect();
    assert_eq!(names, ["message_latency", "queue_wait"]);
    for (metric, buckets) in measured {
        let whole = &result["metrics"][metric];
        let counts = each(buckets, "count").into_iter();
        let count: u64 = counts.filter_map(Value::as_u64).sum();
        assert_eq!(count, whole["count"], "{metric}");
        let longest = each(buckets, "max").into_iter();
        let longest = longest.filter_map(Value::as_f64).fold(0.0, f64::max);
        assert_eq!(longest, whole["max"].as_f64().unwrap(), "{metric}");
        let slowest = &series["slowest"][metric][0];
        assert_eq!(slowest["took_ms"], longest, "{metric}");
    }
}

#[test]
fn a_crossed_threshold_shows_where_it_was_crossed_and_draws_the_longest() {
    let file = "tests/suite/report/slow_messages.yaml";
    let (code, _, page) = TestFolder::new().sim(&run_seed, &[file], "", "crossed.html");
    assert_eq!(code, 99);
    let run = &data(&page)["runs"][0];
    let series = &run["series"];
    let limits = list(&series["limits"]);
    let crossed: Vec<_> = limits.iter().map(|limit| list(&limit["crossed"])).collect();
    assert_eq!(crossed.len(), 2, "{limits:?}");
    let is_first_alone = !crossed[0].is_empty() && crossed[1].is_empty();
    assert!(is_first_alone, "{limits:?}");
    // Each bucket that does not keep the bound has a value beyond it.
    let bound = limits[0]["bound_ms"].as_f64().unwrap();
    for bucket in crossed[0] {
        let bucket = usize::try_from(bucket.as_u64().unwrap()).unwrap();
        let figures = &series["measured"]["message_latency"][bucket];
        assert!(figures["max"].as_f64().unwrap() >= bound, "{figures}");
    }
    let diagram = &run["diagrams"][0];
    assert_eq!(diagram["of"], "slowest");
    let slowest = &series["slowest"]["message_latency"][0];
    let lanes = each(&diagram["lanes"], "name");
    for user in [&slowest["user"], &slowest["recipient"]] {
        assert!(lanes.contains(&&user["user"]), "{user}");
    }
}

#[test]
fn the_report_of_many_users_stays_small() {
    let (_, _, page) = TestFolder::new().sim(&run_seed, &[BURST], "", "small.html");
    let run = &data(&page)["runs"][0];
    let length = |value: &Value| list(value).len();
    let (series, lanes) = (&run["series"], &run["lanes"]);
    assert!(length(&series["arrived"]) <= 120);
    assert!(length(&series["sample"]) <= 600);
    assert_eq!(length(&series["users"]), 267);
    assert!(length(&lanes["users"]) >= 15, "{}", length(&lanes["users"]));
    let events = list(&lanes["users"])
        .iter()
        .map(|lane| length(&lane["events"]));
    assert!((1_000..=1_200).contains(&events.sum::<usize>()));
}

#[test]
fn any_user_of_a_passing_run_can_be_followed() {
    let more = "--follow user_7";
    let (code, _, page) = TestFolder::new().sim(&run_seed, &[BURST], more, "followed.html");
    assert_eq!(code, 0);
    let diagrams = &data(&page)["runs"][0]["diagrams"];
    assert_eq!(list(diagrams).len(), 1);
    let diagram = &diagrams[0];
    assert_eq!(diagram["of"], "followed");
    let lanes = &diagram["lanes"];
    assert!(has(lanes, "name", "user_7"), "{lanes}");
    assert!((2..=8).contains(&list(lanes).len()));
    let events = each(&diagram["events"], "blamed");
    assert!((4..500).contains(&events.len()), "{}", events.len());
    assert!(events.into_iter().all(Value::is_null));
}

fn stage((rate_scale, users): (f64, u64), achieved: f64, verdict: &str) -> Value {
    json!({
        "rate_scale": rate_scale, "users": users, "offered_per_second": 116.0 * rate_scale,
        "achieved_per_second": achieved, "message_p99": 30.0, "request_p99": 20.0 * rate_scale,
        "delay_p99": 1.0, "verdict": verdict,
    })
}

#[test]
fn a_live_run_says_what_was_not_judged_and_shows_its_stages() {
    let mut run = finished(&shipped_file("brief"));
    let result = &mut run.summary.result;
    let outcomes = result.properties.get_mut("outcomes").unwrap();
    (outcomes.held, outcomes.checks, outcomes.unjudged) = (None, 0, 702);
    let live = json!({
        "target": "http://127.0.0.1:8894", "protocol": "http", "rate_scale": 1.0, "suffix": "-abc",
        "starts": { "planned": 0, "started": 0, "late": 0, "dropped": 0 },
        "requests": { "sent": 0, "answered": 0, "failed": 0 },
        "offered_per_second": 116.0, "achieved_per_second": 116.0, "scheduling_delay": {},
        "uncorrected": {}, "ignored": [], "lacking": [], "left_out": [], "driver_busy": 0.0,
        "remarks": [],
        "stages": [
            stage((1.0, 60), 116.0, "pass"),
            stage((2.0, 120), 230.0, "pass"),
            stage((4.0, 240), 310.0, "threshold"),
        ],
    });
    result.live = Some(serde_json::from_value(live).unwrap());
    let page = html(&[run], "0.1.0");
    fs::write(TestFolder::new().folder.join("live.html"), &page).unwrap();
    let live = &data(&page)["runs"][0]["live"];
    assert!(live["judged"].as_str().unwrap().contains("was not judged"));
    assert_eq!(list(&live["stages"]).len(), 3);
}

#[test]
fn a_failing_run_has_the_figures_of_its_failing_seed() {
    let (_, _, page) = TestFolder::new().sim(&blaming, &[CONTENTION], "--seeds 2", "failing.html");
    let run = &data(&page)["runs"][0];
    assert_eq!(run["series"]["seed"], run["violations"][0]["seed"]);
}

#[test]
fn a_refused_start_is_shown_with_the_time_until_the_next() {
    let folder = Folder::with(&fs::read_to_string(shipped_file("damaged_disk")).expect("it"));
    let ran = folder.sim("a.yaml --json o.json --report o.html");
    assert_eq!(ran.code, Some(0));
    let result = folder.json("o.json");
    let page = data(&folder.read("o.html"));
    let faults = &page["runs"][0]["timeline"]["faults"];
    let faults = list(faults);
    let named = |kind: &str| -> Vec<&Value> {
        let faults = faults.iter();
        faults.filter(|fault| fault["kind"] == kind).collect()
    };
    let refused = named("start refused");
    assert!(!refused.is_empty());
    assert_eq!(result["sometimes"]["start_refused"], refused.len());
    for one in refused {
        assert!(one["for_ms"].as_f64() >= Some(1_000.0), "{one}");
        let words = one["words"].as_str().expect("words");
        assert!(words.contains("sound copy"), "{one}");
    }
    for (kind, times) in [
        ("snapshot damaged", 2),
        ("journal damaged", 3),
        ("marks damaged", 2),
    ] {
        assert_eq!(named(kind).len(), times, "{kind}");
    }
    let at = |fault: &Value| fault["at_ms"].as_f64();
    assert!(faults.iter().map(at).is_sorted(), "{faults:?}");
}
