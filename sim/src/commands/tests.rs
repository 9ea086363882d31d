use sim_judge::metrics::Metrics;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chat_types::Span;
use tempfile::TempDir;

use super::*;
use crate::cli;
use sim_judge::SeedOutcome;
use sim_model::history::{ClientEvent, Observer, Record, RunEvent};
use sim_model::outcome::{
    Counts, Point, Progress, PropertyResult, START, Tally, Timeline, UserOutcome, Violation,
    WorldOutcome,
};
use sim_model::protocol::{Agent, User};

mod outputs;

/// A scenario with this name, whose users do nothing: the results of its runs are fabricated in
/// these tests.
fn scenario(name: &str) -> String {
    let flows = ["penpal", "vanisher", "speaker"]
        .map(|persona| format!("  - {{ name: {persona}, flow: [login, check] }}\n"));
    format!(
        "name: {name}\nseed: 42\nduration: 30s\nphases: [{{ duration: 1s, arrival_count: 3 }}]\n\
         scenarios:\n{}expect_sometimes: [match, stick_expired]\n",
        flows.concat()
    )
}

/// A world in which seed 44 of `unsafe` violates a property, and `panics` panics.
fn run_seed(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    observer: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    assert!(plan.name != "panics", "the line is broken");
    if let Some(observer) = observer {
        for ms in 0..20 {
            observer.observe(RunEvent::Client(&Record {
                at: START + Span::millis(ms),
                agent: Agent(0),
                name: "penpal#0",
                user: Some(User(7)),
                what: ClientEvent::StreamOpened,
            }));
        }
    }
    progress.advance(Span::secs(1), 2, 10);
    let broken = plan.name == "unsafe" && seed == 44;
    let mut tally = Tally::default();
    for point in &plan.expect_sometimes {
        tally.reach(Point::named(point).unwrap());
    }
    let property = PropertyResult {
        held: Some(!broken),
        checks: 5,
        unjudged: 0,
    };
    let violation = Violation {
        property: "room_order".to_owned(),
        at: Span::millis(9),
        users: vec![User(7)],
        detail: "user_7 saw message 2 before message 1.".to_owned(),
        ..Violation::default()
    };
    let user = UserOutcome {
        name: "penpal#0".into(),
        user: None,
        waiting: None,
    };
    let ran = WorldOutcome {
        seed,
        trace_hash: seed,
        ended_at: START + Span::secs(1),
        users: vec![user; 2],
        by_persona: vec![1, 1, 0],
        skipped: 0,
        steps: 10,
        tally,
        timeline: Timeline::new(Span::secs(1)),
    };
    SeedOutcome {
        thresholds: Vec::new(),
        ran,
        properties: BTreeMap::from([("room_order", property)]),
        violations: if broken { vec![violation] } else { Vec::new() },
        counts: Counts::default(),
        metrics: Metrics::default(),
        stuck: Vec::new(),
    }
}

/// A folder with scenario files, and the output of a command.
struct TestFolder {
    folder: TempDir,
}

struct Printed {
    code: u8,
    out: String,
    err: String,
}

impl TestFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["burst", "unsafe", "panics"] {
            fs::write(folder.path().join(format!("{name}.yaml")), scenario(name)).unwrap();
        }
        fs::write(folder.path().join("wrong.yaml"), "nonsense: true\n").unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Runs a command line. Words with a dot are files of the folder.
    fn sim(&self, line: &str) -> Printed {
        self.sim_with(line, &run_seed, &Interrupt::default())
    }

    /// Runs a command line, which is interrupted while it runs this seed.
    fn sim_interrupted_at(&self, line: &str, last: u64) -> Printed {
        let flag = Arc::new(AtomicBool::new(false));
        let run = |plan: &Plan,
                   seed: u64,
                   progress: &Progress,
                   observer: Option<&mut (dyn Observer + '_)>| {
            if seed == last {
                flag.store(true, Ordering::Relaxed);
            }
            run_seed(plan, seed, progress, observer)
        };
        self.sim_with(line, &run, &Interrupt::of(Arc::clone(&flag)))
    }

    fn sim_with(&self, line: &str, run: RunSeed<'_>, interrupt: &Interrupt) -> Printed {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = self.execute(line, (run, interrupt), (&mut out, &mut err));
        Printed {
            code,
            out: String::from_utf8(out).unwrap(),
            err: String::from_utf8(err).unwrap(),
        }
    }

    fn execute(
        &self,
        line: &str,
        (run, interrupt): (RunSeed<'_>, &Interrupt),
        (out, err): (&mut dyn Write, &mut dyn Write),
    ) -> u8 {
        let word = |word: &str| match word.contains('.') {
            true => self.path(word).into_os_string(),
            false => OsString::from(word),
        };
        let invocation = cli::parse(line.split_whitespace().map(word)).unwrap();
        let ticks = Cell::new(0);
        let clock = || {
            ticks.set(ticks.get() + 1);
            Duration::from_millis(10 * ticks.get())
        };
        execute(
            &invocation,
            &mut Console {
                run,
                also_judge: &|_, _| {},
                out,
                unwritten: None,
                err,
                paint: Paint::Plain,
                error_paint: Paint::Plain,
                error_columns: 80,
                live: &mut |_| {},
                started: std::time::SystemTime::UNIX_EPOCH,
                clock: &clock,
                interrupt,
                cores: NonZeroUsize::MIN,
                unasked: &self.path("unasked"),
            },
        )
    }
}

#[track_caller]
fn has(text: &str, words: &str) {
    assert!(text.contains(words), "no {words:?}: {text}");
}

#[track_caller]
fn begins(text: &str, words: &str) {
    assert!(text.starts_with(words), "not {words:?}: {text}");
}

#[track_caller]
fn ends(text: &str, words: &str) {
    assert!(text.ends_with(words), "not {words:?}: {text}");
}

#[test]
fn a_run_prints_its_page_and_exits_0() {
    let printed = TestFolder::new().sim("sim burst.yaml");
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    begins(&printed.out, "burst · seed 42 · sim ");
    has(&printed.out, "trace hash 000000000000002a\n");
}

#[test]
fn an_interrupted_run_has_the_result_of_its_seeds_so_far() {
    let folder = TestFolder::new();
    let line = "sim burst.yaml --seeds 9 --json out.json --report out.html";
    let printed = folder.sim_interrupted_at(line, 45);
    assert_eq!(printed.code, 130);
    let json = folder.json("out.json");
    // A worker is at most two seeds ahead of the last result.
    let done = json["seeds"].as_u64().unwrap();
    assert!((1..=3).contains(&done), "{done}");
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["exit_code"], 130);
    let told = format!("interrupted after {done} of 9 seeds of ");
    begins(&printed.err, &told);
    let mut lines = printed.out.lines();
    let verdict = lines.find(|line| line.starts_with("INTERRUPTED · "));
    ends(verdict.unwrap(), "exit 130");
    assert!(folder.read("out.html").contains("<html"));
    // A failure weighs more.
    let failing = folder.sim_interrupted_at("sim unsafe.yaml --seeds 9 --no-shrink", 46);
    assert_eq!(failing.code, 1, "{}", failing.out);
}

#[test]
fn an_interrupt_before_the_first_result_leaves_none() {
    let folder = TestFolder::new();
    let printed = folder.sim_interrupted_at("sim burst.yaml unsafe.yaml --json out.json", 42);
    assert_eq!((printed.code, printed.out.as_str()), (130, ""));
    begins(&printed.err, "interrupted after 0 of 1 seeds of ");
}

#[test]
fn an_interrupted_exploration_has_the_result_of_its_seeds_so_far() {
    let folder = TestFolder::new();
    let line = "sim explore burst.yaml --seeds 90 --json out.json";
    let printed = folder.sim_interrupted_at(line, 5);
    assert_eq!(printed.code, 130, "{}", printed.out);
    let json = folder.json("out.json");
    assert!(json["seeds"].as_u64().unwrap() < 5, "{json}");
    assert_eq!(json["exit_code"], 130);
}

#[test]
fn a_violation_is_run_again_and_its_seed_shown() {
    let printed = TestFolder::new().sim("sim unsafe.yaml --seeds 5 --jobs 2");
    assert_eq!(printed.code, 1);
    let out = printed.out;
    begins(&out, "FAIL room_order · unsafe · seed 44 of 42–46 · sim ");
    assert!(!out.contains("0.010s"), "{out}");
    for line in [
        "user_7 saw message 2 before message 1.\n",
        " 0.009s      · stream open ◀\n",
        "run again: same hash\n",
        "--seed 44\n",
        "violations in 1 of 5 seeds: 44\n",
    ] {
        has(&out, line);
    }
}

#[test]
fn a_panic_is_a_failure_with_a_seed() {
    let printed = TestFolder::new().sim("sim panics.yaml --seed 9");
    assert_eq!(printed.code, 1);
    begins(&printed.out, "FAIL panic · panics · seed 9 · sim ");
    has(&printed.out, "The run panicked: the line is broken\n");
}

#[test]
fn several_files_run_one_after_another() {
    let folder = TestFolder::new();
    let printed = folder.sim("sim burst.yaml unsafe.yaml burst.yaml --seed 44 --json r.json");
    assert_eq!(printed.code, 1);
    let end = "FAIL · 3 scenarios: 2 passed, 1 failed (safety) · exit 1\n";
    ends(&printed.out, end);
    let value = folder.json("r.json");
    let runs = value["runs"].as_array().unwrap().iter();
    let verdicts: Vec<_> = runs.map(|run| &run["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "safety", "pass"]);
    let quiet = folder.sim("sim burst.yaml unsafe.yaml --seed 44 --quiet");
    assert_eq!(quiet.out.lines().count(), 2, "{}", quiet.out);
}

#[test]
fn one_invalid_file_prevents_all_runs() {
    let folder = TestFolder::new();
    let printed = folder.sim("sim burst.yaml wrong.yaml missing.yaml");
    assert_eq!((printed.code, printed.out.as_str()), (2, ""));
    let said: String = printed.err.split_whitespace().collect();
    has(&said, "nonsense");
    has(&said, "missing.yaml");
    let printed = folder.sim("sim burst.yaml --json burst.yaml/below.json");
    assert_eq!((printed.code, printed.out.as_str()), (2, ""));
    begins(&printed.err, "error: cannot write ");
}

#[test]
fn json_is_the_only_text_on_the_standard_output() {
    let printed = TestFolder::new().sim("sim burst.yaml --json -");
    let value: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(value["scenario"], "burst");
    assert_eq!(value["exit_code"], 0);
    begins(&printed.err, "burst · seed 42");
}

#[test]
fn validate_shows_the_faults_that_repeat() {
    let folder = TestFolder::new();
    let text = "phases: [{ duration: 1s, arrival_count: 2 }]\n\
                scenarios: [{ name: a, flow: [login] }]\n\
                faults: [{ at: 2s, every: 1s, clock_jump: 1s }, { at: 2s, operator: mute }]\n";
    std::fs::write(folder.path("jumps.yaml"), text).unwrap();
    let printed = folder.sim("sim validate jumps.yaml");
    assert_eq!(printed.code, 0, "{}", printed.err);
    let (_, faults) = printed.out.split_once('\n').unwrap();
    let first = "  faults of seed 1, 30 in all:\n    2s clock jumps by 1s\n    2s operator mutes one user\n    \
                 3s clock jumps by 1s\n";
    begins(faults, first);
    ends(faults, "    … 10 more\n");
}

#[test]
fn validate_checks_every_file() {
    let folder = TestFolder::new();
    let printed = folder.sim("sim validate burst.yaml wrong.yaml unsafe.yaml");
    assert_eq!(printed.code, 2);
    has(&printed.out, "burst.yaml: ok (burst)\n");
    has(&printed.out, "unsafe.yaml: ok (unsafe)\n");
    assert!(!printed.err.is_empty());
    assert_eq!(folder.sim("sim validate burst.yaml").code, 0);
}

#[test]
fn schema_prints_the_schema() {
    let printed = TestFolder::new().sim("sim schema");
    let schema: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!((printed.code, schema), (0, sim_scenario::schema()));
}

#[test]
fn explore_prints_the_first_failure_and_its_command() {
    let folder = TestFolder::new();
    // The files are taken in turn: the fifth seed runs on the first one.
    for (files, code) in [("burst.yaml unsafe.yaml", 0), ("unsafe.yaml burst.yaml", 1)] {
        let line = format!("sim explore {files} --seed 40 --seeds 20");
        assert_eq!(folder.sim(&line).code, code, "{files}");
    }
    let alone = folder.sim("sim explore unsafe.yaml --seed 40 --seeds 20 --json found.json");
    assert_eq!(alone.code, 1);
    for words in [
        "FAIL room_order · unsafe · seed 44 · number 5 tried",
        "drew      ",
        "--seeds 1 --seed 44",
        "unreached ",
        "FAIL · 1 failure · 5 seeds in ",
    ] {
        has(&alone.out, words);
    }
    let mut widths = alone.out.lines().map(unicode_width::UnicodeWidthStr::width);
    assert!(widths.all(|columns| columns <= 80), "{}", alone.out);
    let json = folder.json("found.json");
    let failure = &json["failures"][0];
    assert_eq!(
        (json["seeds"].as_u64(), json["exit_code"].as_u64()),
        (Some(5), Some(1))
    );
    for (key, value) in [
        ("property", "room_order".into()),
        ("class", "safety".into()),
        ("seed", serde_json::Value::from(44)),
        ("index", 5.into()),
        ("trace_hash", "000000000000002c".into()),
    ] {
        assert_eq!(failure[key], value, "{key}");
    }
    assert!(!failure["drew"].as_str().unwrap().is_empty());
    assert!(failure["shrunk"].is_null() && json["seek"].is_null());
    assert!(!json["unreached"].as_array().unwrap().is_empty());
}

#[test]
fn explore_runs_to_its_end_with_keep_going() {
    let folder = TestFolder::new();
    let found = folder.sim("sim explore panics.yaml --seeds 7 --keep-going");
    assert_eq!(found.code, 1);
    has(&found.out, "FAIL panic · panics · seed 1");
    has(&found.out, "in 7 seeds");
    let clean = folder.sim("sim explore burst.yaml --seeds 7 --quiet");
    assert_eq!(clean.code, 0);
    begins(&clean.out, "PASS · 7 seeds in ");
    // The clock of the tests advances by 10 ms at each reading.
    let timed = folder.sim("sim explore burst.yaml --for 100ms --quiet");
    begins(&timed.out, "PASS · ");
    assert_eq!(folder.sim("sim explore wrong.yaml --seeds 7").code, 2);
}

#[test]
fn complaints_have_no_numbers_of_the_system() {
    for (text, told) in [
        ("a: gone (os error 2)\n", "a: gone\n"),
        ("a (os error 2), b (os error 13): c", "a, b: c"),
        ("a (os error 2", "a (os error 2"),
        ("a (b)", "a (b)"),
    ] {
        assert_eq!(without_numbers(text), told);
    }
}
