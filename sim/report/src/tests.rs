use unicode_width::UnicodeWidthStr as _;

use self::samples::{
    crossed, idle_run, live_run, many_passed, overlong, passed, refused, stalled_run, stuck,
    stuck_run, unjudged, unsafe_run,
};
use super::*;
use sim_model::names::properties_of;
pub(crate) mod samples;

use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime};

const NORMAL: View<'static> = View {
    detail: Detail::Normal,
    paint: Paint::Plain,
    version: "0.1.0 (3f9c1ab)",
};

fn page(run: &FinishedRun) -> String {
    terminal(run, &NORMAL)
}

fn page_of(run: &FinishedRun, detail: Detail) -> String {
    terminal(run, &View { detail, ..NORMAL })
}

fn all() -> Vec<FinishedRun> {
    let one = [
        passed(),
        many_passed(),
        unsafe_run(),
        stalled_run(),
        unjudged(),
        crossed(),
        stuck_run(),
        idle_run(),
        refused(),
    ];
    let long = one.clone().map(overlong);
    one.into_iter().chain(long).collect()
}

#[test]
fn each_kind_of_run_has_its_page() {
    for (name, page) in [
        ("a_pass", page(&passed())),
        ("a_pass_over_many_seeds", page(&many_passed())),
        ("a_pass_in_full", page_of(&passed(), Detail::Verbose)),
        ("a_safety_violation", page(&unsafe_run())),
        (
            "a_safety_violation_in_full",
            page_of(&unsafe_run(), Detail::Verbose),
        ),
        ("a_liveness_violation_in_some_seeds", page(&stalled_run())),
        ("points_that_were_not_reached", page(&unjudged())),
        ("thresholds_that_were_crossed", page(&crossed())),
        ("names_longer_than_the_page", page(&overlong(unsafe_run()))),
        ("nothing_that_was_judged", page(&idle_run())),
    ] {
        insta::assert_snapshot!(name, page);
    }
}

#[test]
fn refusals_that_keep_all_silent() {
    let page = page(&refused());
    insta::assert_snapshot!(page);
    assert!(
        !page.contains("--seeds"),
        "no number of seeds lifts a limit"
    );
}

#[test]
fn users_that_are_stuck() {
    insta::assert_snapshot!(page(&stuck_run()));
    insta::assert_snapshot!(junit(&[stuck_run()]));
}

#[test]
fn a_live_run_cannot_be_repeated_and_shows_no_hash() {
    let passed = page(&live_run());
    assert!(passed.contains("--stages"), "{passed}");
    let mut failed = live_run();
    failed.summary.result.verdict = Verdict::Threshold;
    for page in [passed, page(&failed)] {
        assert!(!page.contains("trace hash"), "{page}");
    }
}

#[test]
fn a_pass_claims_only_what_was_checked() {
    let mut run = passed();
    let checked = |run: &FinishedRun| {
        let page = page(run);
        let lines: Vec<&str> = page.lines().collect();
        let begin = lines.iter().position(|line| line.starts_with("checked"));
        let end = lines.iter().position(|line| line.starts_with("PASS"));
        let words = lines[begin.unwrap()..end.unwrap()].join(" ");
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let words = checked(&run);
    assert!(words.contains("4 thresholds were met."), "{words}");
    run.summary.result.thresholds.clear();
    run.plan.expect_sometimes.clear();
    let words = checked(&run);
    assert!(
        !words.contains("threshold") && !words.contains("reached"),
        "{words}"
    );
}

#[test]
fn stuck_users_are_listed_and_the_others_counted() {
    let mut run = passed();
    run.summary.result.stuck = (0..7).map(stuck).collect();
    run.summary.result.rest.stuck = 7;
    run.summary.result.rest.allowed = Some("1/10".to_owned());
    insta::assert_snapshot!(page(&run));
}

#[test]
fn a_panic_has_a_command_and_no_excerpt() {
    let mut run = unsafe_run();
    run.excerpt = None;
    run.summary.result.violations[0].property = "panic".to_owned();
    run.summary.result.violations[0].detail = "The run panicked: the line is broken".to_owned();
    insta::assert_snapshot!(page(&run));
}

#[test]
fn a_property_without_checks_never_gets_a_tick() {
    let mut run = passed();
    for property in run.summary.result.properties.values_mut() {
        property.checks = 0;
        property.held = Some(true);
    }
    let page = page_of(&run, Detail::Verbose);
    let tables = page.split("FIGURES").next().unwrap();
    assert!(!tables.contains('✓'), "{tables}");
    assert_eq!(
        tables.matches("not exercised").count(),
        properties_of(1, false).len(),
        "{tables}"
    );
    insta::assert_snapshot!(self::page(&run));
}

#[test]
fn a_quiet_run_is_one_line() {
    let lines: String = all()
        .iter()
        .map(|run| page_of(run, Detail::Quiet))
        .collect();
    insta::assert_snapshot!(lines);
    assert_eq!(lines.lines().count(), all().len());
}

#[test]
fn no_line_is_wider_than_the_page_and_none_ends_in_spaces() {
    for run in all() {
        for detail in [Detail::Quiet, Detail::Normal, Detail::Verbose] {
            let page = page_of(&run, detail);
            for line in page.lines() {
                assert!(
                    line.width() <= 80,
                    "{} columns: {line}\n{page}",
                    line.width()
                );
                assert_eq!(line, line.trim_end(), "{page}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}

#[test]
fn colour_changes_no_word() {
    for run in all() {
        for detail in [Detail::Quiet, Detail::Normal, Detail::Verbose] {
            let plain = page_of(&run, detail);
            let view = View {
                detail,
                paint: Paint::Colour,
                ..NORMAL
            };
            let colour = terminal(&run, &view);
            assert!(!plain.contains('\x1b'));
            assert!(colour.contains("\x1b["));
            let mut pieces = colour.split("\x1b[");
            let first = pieces.next().unwrap().to_owned();
            let rest = pieces.map(|piece| piece.split_once('m').unwrap().1);
            let bare = first + &rest.collect::<String>();
            assert!(
                bare.lines()
                    .map(str::trim_end)
                    .eq(plain.lines().map(str::trim_end))
            );
        }
    }
}

#[test]
fn the_violated_sentence_comes_second() {
    let page = page(&unsafe_run());
    let (first, rest) = page.split_once('\n').unwrap();
    assert!(
        first.starts_with("FAIL stick_exclusion · stick_contention · seed 1337"),
        "{page}"
    );
    let sentence = "user_7's push was accepted after user_9 was granted the lobby's stick.\n";
    assert!(rest.starts_with(sentence), "{page}");
}

#[test]
fn several_runs_end_with_a_count() {
    let runs = [passed(), unsafe_run(), crossed(), crossed()];
    let end = |runs: &[FinishedRun], code: u8| {
        let text = summary(runs, code, &NORMAL);
        assert_eq!(text.lines().count(), runs.len() + 1, "{text}");
        text.lines().last().unwrap().to_owned()
    };
    let failed = "FAIL · 4 scenarios: 1 passed, 1 failed (safety), 2 failed (threshold) · exit 1";
    assert_eq!(end(&runs, 1), failed);
    let passed = "PASS · 1 scenario: 1 passed · exit 0";
    assert_eq!(end(&runs[..1], 0), passed);
}

/// A fixed machine and time.
fn origin() -> Origin {
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    Origin::new("0.1.0", Some("3f9c1ab"), NonZeroUsize::MIN, started)
}

#[test]
fn the_result_as_json() {
    let run = unsafe_run();
    let text = json(&[run.result()], 1, &origin()).unwrap();
    let text = text.replace(std::env::consts::OS, "OS");
    let text = text.replace(std::env::consts::ARCH, "ARCH");
    insta::assert_snapshot!(text);
}

#[test]
fn several_results_as_json() {
    let (one, other) = (passed(), unsafe_run());
    let text = json(&[one.result(), other.result()], 1, &origin()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["exit_code"], 1);
    assert_eq!(value["simulator"]["commit"], "3f9c1ab");
    assert_eq!(value["started_at"], "2027-01-15T08:00:00Z");
    assert_eq!(value["host"]["cores"], 1);
    assert_eq!(value["runs"][0]["verdict"], "pass");
    assert_eq!(value["runs"][1]["verdict"], "safety");
}

#[test]
fn the_json_keeps_to_its_schema_and_is_read_as_written() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("result.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let accepts = |value: &serde_json::Value| {
        let errors = validator.iter_errors(value).map(|error| error.to_string());
        let errors: Vec<String> = errors.collect();
        assert!(errors.is_empty(), "{errors:?}");
    };
    for run in all() {
        let text = json(&[run.result()], 0, &origin()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        accepts(&value);
        let read: RunResult = serde_json::from_str(&text).unwrap();
        assert_eq!(json(&[&read], 0, &origin()).unwrap(), text);
        assert_eq!(schema["$id"], value["$schema"], "it names its schema");
        assert_eq!(
            schema["properties"]["schema_version"]["const"],
            value["schema_version"]
        );
    }
    let all = all();
    let several: Vec<&RunResult> = all.iter().map(FinishedRun::result).collect();
    let several = json(&several, 1, &origin()).unwrap();
    accepts(&serde_json::from_str(&several).unwrap());
    assert!(!validator.is_valid(&serde_json::json!({"scenario": "x"})));
    assert!(!validator.is_valid(&serde_json::json!({"runs": []})));
}

#[test]
fn a_crossed_threshold_is_one_failure_in_junit() {
    let mut run = crossed();
    let latency = run.summary.result.properties.get_mut("latency").unwrap();
    latency.held = Some(false);
    let written = junit(&[run]);
    assert!(written.contains(" failures=\"3\" "), "{written}");
    assert!(!written.contains("name=\"latency\""), "{written}");
}

#[test]
fn the_result_as_junit() {
    insta::assert_snapshot!(junit(&[unsafe_run(), unjudged()]));
}
