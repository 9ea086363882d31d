//! Tests reports of whole runs, as a browser will see them.
//!
//! Where a report must show a violation, the world is real, and the judge is fabricated: it reports
//! an event of the run as a violation, at its instant. If `SIM_REPORT_SAMPLES` names a folder, the
//! reports are left there for the browser tests.

mod agreement;
mod everyone;
mod over_time;
mod persona_threshold;
mod started_as;
mod user_names;

use sim_model::outcome::START;
use sim_search::seed::run_seed;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use chat_types::Time;
use serde_json::Value;
use sim::cli;
use sim::commands::execute;
use sim_judge::SeedOutcome;
use sim_model::history::{ClientEvent, Observer, RunEvent};
use sim_model::names::properties_of;
use sim_model::outcome::{Interrupt, Progress, Subject, Violation};
use sim_model::plan::Plan;
use sim_model::protocol::{Command, Op, Reply, Response, User};
use sim_search::runner::RunSeed;

use crate::{console, each, has, list};

/// Forwards everything, and remembers the last accepted push.
struct PushRecorder<'a> {
    also: Option<&'a mut dyn Observer>,
    pushed: Option<(Time, User)>,
}

impl Observer for PushRecorder<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Client(record) = event
            && let ClientEvent::Answered {
                op: Op::Command(Command::Push { .. }),
                outcome: Ok(Response::Done(Reply::Sent { .. })),
                ..
            } = record.what
        {
            self.pushed = record.user.map(|user| (record.at, user));
        }
        self.also.observe(event);
    }
}

/// The real world, with a judge that reports the last accepted push as a violation.
fn blaming(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let mut tee = PushRecorder {
        also: also.map(|observer| observer as &mut dyn Observer),
        pushed: None,
    };
    let mut outcome = run_seed(plan, seed, progress, Some(&mut tee));
    let Some((at, user)) = tee.pushed else {
        // Shrinking also tries plans without a push.
        return outcome;
    };
    let property = outcome.properties.get_mut("stick_exclusion");
    property.expect("it is judged").held = Some(false);
    outcome.violations.push(Violation {
        property: "stick_exclusion".to_owned(),
        at: at.since(START),
        users: vec![user],
        detail: format!(
            "{user}'s push was accepted although its grant was over <img src=x onerror=alert(1)>"
        ),
        subject: Subject {
            predicted: "refused with stick_required".to_owned(),
            seen: "accepted as the last push".to_owned(),
            ..Subject::default()
        },
        ..Violation::default()
    });
    outcome
}

/// The folder of reports: a given one, or a temporary one.
struct TestFolder {
    folder: PathBuf,
    _gone_afterwards: Option<tempfile::TempDir>,
}

impl TestFolder {
    fn new() -> Self {
        if let Some(folder) = std::env::var_os("SIM_REPORT_SAMPLES") {
            let folder = PathBuf::from(folder);
            fs::create_dir_all(&folder).expect("the folder can be made");
            return Self {
                folder,
                _gone_afterwards: None,
            };
        }
        let folder = tempfile::tempdir().expect("there is room");
        Self {
            folder: folder.path().to_owned(),
            _gone_afterwards: Some(folder),
        }
    }

    /// Runs these scenarios with additional arguments and writes the report. Returns the exit code,
    /// the standard output and the report.
    fn sim(
        &self,
        run: RunSeed<'_>,
        scenarios: &[&str],
        more: &str,
        name: &str,
    ) -> (u8, String, String) {
        let report = self.folder.join(name);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut words: Vec<OsString> = vec!["sim".into()];
        words.extend(
            scenarios
                .iter()
                .map(|path| root.join(path).into_os_string()),
        );
        words.extend(more.split_whitespace().map(OsString::from));
        words.extend(["--report".into(), report.clone().into_os_string()]);
        let (mut out, mut err, interrupt) = (Vec::new(), Vec::new(), Interrupt::default());
        let unasked = self.folder.join(format!("unasked-{name}"));
        let mut console = console(run, (&mut out, &mut err), &interrupt, &unasked);
        let code = execute(
            &cli::parse(words).expect("the words are right"),
            &mut console,
        );
        assert_eq!(String::from_utf8(err).expect("text"), "");
        let out = String::from_utf8(out).expect("text");
        (
            code,
            out,
            fs::read_to_string(report).expect("it was written"),
        )
    }
}

/// The data embedded in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("it has data");
    let (json, _) = rest.split_once("</script>").expect("they end");
    serde_json::from_str(json).expect("JSON")
}

const BURST: &str = "../scenarios/burst.yaml";
const STALE_PUSH: &str = "tests/suite/report/stale_push.yaml";
const CONTENTION: &str = "../scenarios/stick_contention.yaml";

#[test]
fn a_pass_shows_curves_waits_and_what_happened_when() {
    let (code, _, page) = TestFolder::new().sim(&run_seed, &[BURST], "", "passed.html");
    assert_eq!(code, 0);
    assert!(page.len() < 300_000, "{} bytes", page.len());
    let run = &data(&page)["runs"][0];
    assert_eq!(run["verdict"], "pass");
    assert_eq!(list(&run["diagrams"]).len(), 0);
    let curves = &run["charts"]["curves"];
    let all = [
        "message_latency",
        "later_latency",
        "queue_wait",
        "stick_wait",
        "admission_wait",
        "request_latency",
        "commit_latency",
    ];
    assert_eq!(each(curves, "metric"), all);
    let mut points = each(curves, "points").into_iter();
    assert!(points.all(|points| list(points).len() > 5));
    let queue = &run["charts"]["queue"];
    assert!(queue["users"].as_u64().unwrap() > 200);
    let longest = queue["worst"][0]["longest_ms"].as_f64().unwrap();
    let mut metrics = list(&run["metrics"]).iter();
    let wait = metrics.find(|metric| metric["name"] == "queue_wait");
    assert_eq!(wait.unwrap()["count"], "246");
    assert!((2_400.0..2_600.0).contains(&longest), "{longest}");
    assert_eq!(list(&run["timeline"]["faults"]).len(), 3);
    assert_eq!(
        list(&run["properties"]).len(),
        properties_of(1, false).len()
    );
}

#[test]
fn one_seed_gives_one_page() {
    let folder = TestFolder::new();
    let seeds = |jobs: &str| {
        let more = format!("--seeds 3 --jobs {jobs}");
        folder.sim(&run_seed, &[BURST], &more, "seeds.html").2
    };
    assert_eq!(seeds("1"), seeds("3"));
    let violated = || folder.sim(&blaming, &[STALE_PUSH], "", "twice.html").2;
    assert_eq!(violated(), violated());
}

#[test]
fn a_violation_is_drawn_with_all_that_was_wrong() {
    let folder = TestFolder::new();
    let (code, out, page) = folder.sim(&blaming, &[STALE_PUSH], "--no-shrink", "violated.html");
    assert_eq!(code, 1);
    let diagram = &data(&page)["runs"][0]["diagrams"][0];
    let personas = each(&diagram["lanes"], "persona");
    assert_eq!(personas, ["bob", "ann", "", "c<b>ob</b>"]);
    let bands = &diagram["bands"];
    for kind in [
        "partition",
        "slow_readers",
        "suspend",
        "crash",
        "slow_disk",
        "disconnect",
    ] {
        assert!(has(bands, "kind", kind), "{kind}: {bands:#}");
    }
    let events = &diagram["events"];
    for kind in ["request", "reply", "opening", "push", "point"] {
        assert!(has(events, "kind", kind), "{kind}");
    }
    for fate in ["fine", "refused", "lost", "broken"] {
        assert!(has(events, "fate", fate), "{fate}");
    }
    let blamed = list(events).iter().filter(|event| event["blamed"] == true);
    let blamed: Vec<&Value> = blamed.collect();
    assert_eq!(blamed.len(), 1, "{blamed:#?}");
    let blamed = blamed[0];
    assert_eq!(blamed["to_us"], diagram["violation_us"]);
    let marks = &diagram["marks"];
    assert_eq!(each(marks, "fact"), ["predicted", "seen"]);
    assert_eq!(each(marks, "lane"), [&blamed["lane"]; 2]);
    assert_eq!(each(marks, "at_us"), [&blamed["to_us"]; 2]);
    let label = blamed["label"].as_str().unwrap();
    assert!(label.starts_with("accepted, room_seq "), "{label}");
    let unasked = folder.folder.join("unasked-violated.html");
    let look = unasked.join("stick_exclusion-1.html");
    let written = fs::read_to_string(&look).unwrap();
    assert!(written.starts_with("<!doctype html>"));
    let said: String = out.split(['\\', '\n', ' ']).collect();
    assert!(said.contains(&format!("look{}", look.display())), "{out}");
}

#[test]
fn of_many_users_those_concerned_are_drawn_and_the_others_counted() {
    let (code, _, page) = TestFolder::new().sim(&blaming, &[CONTENTION], "", "contention.html");
    assert_eq!(code, 1);
    let data = data(&page);
    let diagrams = list(&data["runs"][0]["diagrams"]);
    // The shrunk failure comes first: a user that claims, appends and pushes.
    assert_eq!(diagrams.len(), 2);
    assert_eq!(diagrams[0]["of"], "shrunk");
    assert!(list(&diagrams[0]["lanes"]).len() <= 3);
    let diagram = &diagrams[1];
    let lanes = list(&diagram["lanes"]);
    let of = |role: &str| lanes.iter().filter(|lane| lane["role"] == role).count();
    assert_eq!((of("concerned"), of("server")), (1, 1));
    assert!((2..=8).contains(&lanes.len()), "{lanes:?}");
    assert!(list(&diagram["left_out"]).len() > 1);
    assert!(list(&diagram["events"]).len() < 500);
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn several_files_are_pages_of_one_report() {
    let scenarios = [BURST, STALE_PUSH, "../scenarios/partition.yaml"];
    let (code, _, page) = TestFolder::new().sim(&run_seed, &scenarios, "", "several.html");
    assert_eq!(code, 0);
    assert_eq!(list(&data(&page)["runs"]).len(), 3);
}

#[test]
fn words_of_users_end_no_element_and_begin_none() {
    let (_, _, page) = TestFolder::new().sim(&blaming, &[STALE_PUSH], "", "escaped.html");
    let (before, rest) = page.split_once("id=\"data\">").unwrap();
    let (json, after) = rest.split_once("</script>").unwrap();
    assert!(!json.contains('<'), "{json}");
    assert!(after.trim_start().starts_with("<script>"));
    assert!(
        !before.contains("<b>") && !before.contains("alert"),
        "{before}"
    );
    assert_eq!(page.matches("</script>").count(), 2);
    let text = data(&page).to_string();
    assert!(
        text.contains("</script><!-- hell") && text.contains("<img src=x"),
        "{text}"
    );
}
