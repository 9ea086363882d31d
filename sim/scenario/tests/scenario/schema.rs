//! The committed schema is the generated one, and agrees with the parser.

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::Value;
use sim_scenario::{load, schema};

use crate::{BAD, BEYOND_A_SCHEMA, bad_scenario, shipped, yaml_files};

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
        "scenarios/schema.json is not what `sim schema` prints; rewrite it with UPDATE_SCHEMA=1"
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

/// What a schema cannot express (sums, comparisons, references between parts, special words of YAML)
/// has a folder of its own.
#[test]
fn the_schema_rejects_bad_scenarios_but_those_beyond_it() {
    let validator = validator();
    let passes = |file: &PathBuf| {
        let json = as_json(&bad_scenario(file).0);
        json.is_some_and(|json| validator.is_valid(&json))
    };
    let (mut within, mut beyond) = (yaml_files(BAD), yaml_files(BEYOND_A_SCHEMA));
    within.retain(|file| passes(file));
    assert!(within.is_empty(), "the schema lets pass {within:#?}");
    beyond.retain(|file| !passes(file));
    assert!(
        beyond.is_empty(),
        "the schema refuses {beyond:#?} after all"
    );
}

/// Every name that a scenario may use is in the schema, literally.
#[test]
fn the_schema_names_everything() {
    let text = schema().to_string();
    let points = sim_model::outcome::Point::ALL.iter();
    let metrics = sim_model::plan::Metric::ALL.iter();
    let properties = sim_model::names::PROPERTIES.into_iter();
    let names = properties
        .chain(metrics.map(|metric| metric.name()))
        .chain(sim_model::protocol::EVENTS)
        .chain(points.map(|point| point.name()));
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
