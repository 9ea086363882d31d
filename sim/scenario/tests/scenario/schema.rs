//! The committed schema is the generated one, and agrees with the parser.

use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use sim_scenario::{load, schema};

use crate::{bad_scenario, shipped, yaml_files};

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("a valid schema")
}

fn as_json(scenario: &[u8]) -> Option<Value> {
    serde_saphyr::from_str(std::str::from_utf8(scenario).ok()?).ok()
}

/// Run with `UPDATE_SCHEMA=1` to rewrite the file.
#[test]
fn the_committed_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/schema.json");
    let wanted = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == wanted,
        "scenarios/schema.json is not what `sim schema` prints; write it anew with UPDATE_SCHEMA=1"
    );
}

#[test]
fn the_schema_is_a_valid_json_schema() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn shipped_scenarios_and_good_fixtures_are_valid() {
    let validator = validator();
    let mut files = shipped();
    assert!(files.len() >= 16, "{files:?}");
    files.extend(yaml_files("tests/good_scenarios"));
    for file in files {
        if let Err(error) = load(&file) {
            panic!("{error:?}");
        }
        let json = as_json(&std::fs::read(&file).unwrap()).unwrap();
        let complaints: Vec<String> = validator
            .iter_errors(&json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(complaints.is_empty(), "{}: {complaints:#?}", file.display());
    }
}

#[test]
fn shipped_scenarios_declare_their_purpose() {
    for file in shipped() {
        let plan = load(&file).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        assert_eq!(plan.name, stem);
        assert!(plan.about.len() > 60, "{stem}: {}", plan.about);
        assert!(!plan.expect_sometimes.is_empty(), "{stem}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("# yaml-language-server: $schema="),
            "{stem}"
        );
        let faults = text
            .lines()
            .filter(|line| line.starts_with("  - { at: ") && !line.contains("user:"));
        for fault in faults {
            assert!(fault.contains("optional: true"), "{stem}: {fault}");
        }
    }
}

/// What a schema cannot express: sums, comparisons, references between parts, special words of
/// YAML.
const BEYOND_A_SCHEMA: [&str; 66] = [
    "await_grant_before_claim",
    "await_match_before_enter",
    "await_within_zero",
    "check_before_anything",
    "check_wait",
    "client_timeout",
    "disk_of_several_servers",
    "drift_beyond_leases",
    "duration_too_long",
    "fault_beyond_duration",
    "fault_every_at_milestone",
    "fault_every_beyond_duration",
    "fault_every_mean_zero",
    "fault_every_too_often",
    "fault_every_zero",
    "flow_break_excuse",
    "freeze_within_leases",
    "latency_median_zero",
    "latency_p99_below_p50",
    "leave_queue_before_enter",
    "liveness_zero",
    "loop_too_long",
    "loss_above_one",
    "loss_overflow",
    "many_impossible_steps",
    "many_late_ends",
    "member_of_one_server",
    "nesting_too_deep",
    "net_push_unknown_user",
    "operator_user_in_phases",
    "partition_share_above",
    "partition_share_zero",
    "partition_unknown_user",
    "partition_users_in_phases",
    "percent_of_a_pause",
    "persona_count_and_weight",
    "persona_counts_all_of_chance",
    "persona_counts_of_chance",
    "persona_counts_too_few",
    "persona_counts_too_many",
    "persona_habit_share",
    "persona_twice",
    "phase_beyond_duration",
    "phase_group_beyond_duration",
    "phase_group_named",
    "phase_no_time",
    "phase_repeat_too_often",
    "phase_repeats_in_all",
    "rate_too_fine",
    "rate_zero",
    "reads_without_stream",
    "recipe_order",
    "send_after_leaving",
    "send_before_a_room",
    "send_in_choose",
    "send_in_loop_before_login",
    "send_length_min_above_max",
    "server_zero_time",
    "step_beyond_duration",
    "steps_unknown_user",
    "strict_reads_of_one_server",
    "threshold_jain_above_one",
    "threshold_percent",
    "threshold_persona_of_steps",
    "too_many_users",
    "yaml_tag",
];

#[test]
fn the_schema_rejects_bad_scenarios() {
    let validator = validator();
    let mut passed = Vec::new();
    for file in yaml_files("tests/bad_scenarios") {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        if let Some(json) = as_json(&bad_scenario(&file).0)
            && validator.is_valid(&json)
        {
            passed.push(stem);
        }
    }
    let unexpected: Vec<&String> = passed
        .iter()
        .filter(|stem| !BEYOND_A_SCHEMA.contains(&stem.as_str()))
        .collect();
    assert!(
        unexpected.is_empty(),
        "the schema lets pass {unexpected:#?}"
    );
    let stale: Vec<&&str> = BEYOND_A_SCHEMA
        .iter()
        .filter(|stem| !passed.iter().any(|name| name == *stem))
        .collect();
    assert!(stale.is_empty(), "the schema refuses {stale:#?} after all");
}

/// Every name that a scenario may use is in the schema, literally.
#[test]
fn the_schema_names_everything() {
    let text = schema().to_string();
    let points = sim_model::outcome::Point::ALL
        .iter()
        .map(|point| point.name());
    let names = sim_model::names::PROPERTIES
        .into_iter()
        .chain(
            sim_model::plan::Metric::ALL
                .iter()
                .map(|metric| metric.name()),
        )
        .chain(sim_model::protocol::EVENTS)
        .chain(points);
    for name in names {
        assert!(text.contains(&format!("\"{name}\"")), "{name}");
    }
    let config = serde_json::to_value(chat_types::Config::default()).unwrap();
    for key in config.as_object().unwrap().keys() {
        assert!(text.contains(&format!("\"{key}\":")), "{key}");
    }
    for kind in chat_types::BreakKind::ALL {
        assert!(text.contains(&format!("\"{}\"", kind.name())), "{kind:?}");
    }
}
