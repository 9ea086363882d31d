//! The figures over time and the users of a report, beside the result of the same run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sim_model::outcome::{LiveResult, MetricResult, Requests, StageResult, Starts, Verdict};
use sim_report::html;
use sim_search::seed::run_seed;

use super::agreement::finished;
use super::{BURST, CONTENTION, TestFolder, blaming, data};

fn sum(counts: &Value) -> u64 {
    let counts = counts.as_array().expect("a list").iter();
    counts.map(|count| count.as_u64().expect("a count")).sum()
}

#[test]
fn figures_over_time_have_the_totals_of_the_result() {
    let folder = TestFolder::new();
    let json = folder.folder.join("totals.json");
    let more = format!("--json {}", json.display());
    let (_, _, page) = folder.sim(&run_seed, &[BURST], &more, "totals.html");
    let result: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let series = &data(&page)["runs"][0]["series"];
    assert_eq!(
        sum(&series["messages_offered"]),
        result["counts"]["attempted"]
    );
    assert_eq!(
        sum(&series["messages_accepted"]),
        result["counts"]["accepted"]
    );
    assert_eq!(sum(&series["arrived"]), result["users"]);
    let refusals = result["refusals"].as_object().unwrap().values();
    let refusals: u64 = refusals.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum(&series["refused"]), refusals);
    assert_eq!(
        series["sampled_of"],
        result["metrics"]["message_latency"]["count"]
    );
    let measured = series["measured"].as_object().unwrap();
    let names: Vec<&String> = measured.keys().collect();
    assert_eq!(names, ["message_latency", "queue_wait"]);
    for (metric, buckets) in measured {
        let buckets = buckets.as_array().unwrap().iter();
        let counts = buckets
            .clone()
            .filter_map(|bucket| bucket["count"].as_u64());
        let longest = buckets.filter_map(|bucket| bucket["max"].as_f64());
        let whole = &result["metrics"][metric];
        assert_eq!(counts.sum::<u64>(), whole["count"], "{metric}");
        let longest = longest.fold(0.0, f64::max);
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
    let limits = series["limits"].as_array().unwrap();
    let crossed = |limit: &Value| limit["crossed"].as_array().unwrap().len();
    assert_eq!(limits.len(), 2, "{limits:?}");
    assert!(
        crossed(&limits[0]) > 0 && crossed(&limits[1]) == 0,
        "{limits:?}"
    );
    // Each bucket that does not keep the bound has a value beyond it.
    let bound = limits[0]["bound_ms"].as_f64().unwrap();
    for bucket in limits[0]["crossed"].as_array().unwrap() {
        let bucket = usize::try_from(bucket.as_u64().unwrap()).unwrap();
        let figures = &series["measured"]["message_latency"][bucket];
        assert!(figures["max"].as_f64().unwrap() >= bound, "{figures}");
    }
    let diagram = &run["diagrams"][0];
    assert_eq!(diagram["of"], "slowest");
    let slowest = &series["slowest"]["message_latency"][0];
    let lanes = diagram["lanes"].as_array().unwrap();
    for user in [&slowest["user"], &slowest["recipient"]] {
        assert!(
            lanes.iter().any(|lane| lane["name"] == user["user"]),
            "{user}"
        );
    }
}

#[test]
fn the_report_of_many_users_stays_small() {
    let (_, _, page) = TestFolder::new().sim(&run_seed, &[BURST], "", "small.html");
    let run = &data(&page)["runs"][0];
    let length = |list: &Value| list.as_array().unwrap().len();
    let (series, lanes) = (&run["series"], &run["lanes"]);
    assert!(length(&series["arrived"]) <= 120);
    assert!(length(&series["sample"]) <= 600);
    assert_eq!(length(&series["users"]), 267);
    assert!(length(&lanes["users"]) >= 15, "{}", length(&lanes["users"]));
    assert!((1_000..=1_200).contains(&length(&lanes["events"])));
    let known = length(&lanes["labels"]) as u64;
    let events = lanes["events"].as_array().unwrap();
    assert!(
        events
            .iter()
            .all(|event| event[2].as_u64().unwrap() < known)
    );
}

#[test]
fn any_user_of_a_passing_run_can_be_followed() {
    let more = "--follow user_7";
    let (code, _, page) = TestFolder::new().sim(&run_seed, &[BURST], more, "followed.html");
    assert_eq!(code, 0);
    let diagrams = &data(&page)["runs"][0]["diagrams"];
    assert_eq!(diagrams.as_array().unwrap().len(), 1);
    let diagram = &diagrams[0];
    assert_eq!(diagram["of"], "followed");
    let lanes = diagram["lanes"].as_array().unwrap();
    assert!(
        lanes.iter().any(|lane| lane["name"] == "user_7"),
        "{lanes:?}"
    );
    assert!((2..=8).contains(&lanes.len()));
    let events = diagram["events"].as_array().unwrap();
    assert!((4..500).contains(&events.len()), "{}", events.len());
    assert!(events.iter().all(|event| event["blamed"].is_null()));
}

fn stage(
    (rate_scale, users): (f64, u64),
    offered: f64,
    achieved: f64,
    verdict: Verdict,
) -> StageResult {
    StageResult {
        rate_scale,
        users,
        offered_per_second: offered,
        achieved_per_second: achieved,
        message_p99: 30.0,
        request_p99: 20.0 * rate_scale,
        delay_p99: 1.0,
        verdict,
    }
}

#[test]
fn a_live_run_says_what_was_not_judged_and_shows_its_stages() {
    let mut run = finished(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/brief.yaml"));
    let result = &mut run.summary.result;
    let outcomes = result.properties.get_mut("outcomes").unwrap();
    (outcomes.held, outcomes.checks, outcomes.unjudged) = (None, 0, 702);
    result.live = Some(LiveResult {
        target: "http://127.0.0.1:8894".to_owned(),
        protocol: "http".to_owned(),
        rate_scale: 1.0,
        suffix: "-abc".to_owned(),
        journal_entries: None,
        starts: Starts::default(),
        requests: Requests::default(),
        offered_per_second: 116.0,
        achieved_per_second: 116.0,
        scheduling_delay: MetricResult::default(),
        uncorrected: BTreeMap::new(),
        ignored: Vec::new(),
        lacking: Vec::new(),
        left_out: Vec::new(),
        driver_busy: 0.0,
        lost: None,
        nemesis: None,
        remarks: Vec::new(),
        stages: vec![
            stage((1.0, 60), 116.0, 116.0, Verdict::Pass),
            stage((2.0, 120), 232.0, 230.0, Verdict::Pass),
            stage((4.0, 240), 464.0, 310.0, Verdict::Threshold),
        ],
    });
    let page = html(&[run], "0.1.0").unwrap();
    fs::write(TestFolder::new().folder.join("live.html"), &page).unwrap();
    let live = &data(&page)["runs"][0]["live"];
    assert!(live["judged"].as_str().unwrap().contains("was not judged"));
    assert_eq!(live["stages"].as_array().unwrap().len(), 3);
}

#[test]
fn a_failing_run_has_the_figures_of_its_failing_seed() {
    let (_, _, page) = TestFolder::new().sim(&blaming, &[CONTENTION], "--seeds 2", "failing.html");
    let run = &data(&page)["runs"][0];
    assert_eq!(run["series"]["seed"], run["violations"][0]["seed"]);
}

#[test]
fn a_refused_start_is_shown_with_the_time_until_the_next() {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/damaged_disk.yaml");
    let folder = tempfile::tempdir().expect("there is room");
    let ran = Command::new(env!("CARGO_BIN_EXE_sim"))
        .arg(scenario)
        .args(["--json", "o.json", "--report", "o.html"])
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    assert_eq!(ran.status.code(), Some(0));
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).expect(file);
    let result: Value = serde_json::from_str(&read("o.json")).expect("JSON");
    let page = data(&read("o.html"));
    let faults = page["runs"][0]["timeline"]["faults"]
        .as_array()
        .expect("faults");
    let named = |kind: &str| -> Vec<&Value> {
        let faults = faults.iter();
        faults.filter(|fault| fault["kind"] == kind).collect()
    };
    let refused = named("start refused");
    let times = result["sometimes"]["start_refused"].as_u64();
    assert!(
        times > Some(0) && times == Some(refused.len() as u64),
        "{refused:?}"
    );
    for one in refused {
        assert!(one["for_ms"].as_f64() >= Some(1_000.0), "{one}");
        assert!(
            one["words"]
                .as_str()
                .is_some_and(|words| words.contains("sound copy")),
            "{one}"
        );
    }
    for (kind, times) in [
        ("snapshot damaged", 2),
        ("journal damaged", 3),
        ("marks damaged", 2),
    ] {
        assert_eq!(named(kind).len(), times, "{kind}");
    }
    let at: Vec<f64> = faults
        .iter()
        .filter_map(|fault| fault["at_ms"].as_f64())
        .collect();
    assert!(at.is_sorted(), "{at:?}");
}
