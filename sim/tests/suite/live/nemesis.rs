//! A program that makes faults beside the users of a live run: what it writes is in the results, and
//! its own failure ends the run.

use std::fs;

use serde_json::Value;

use super::fake_server::{FakeServer, Fault};
use super::{PAIRS, broken, sim};

/// Makes two faults, one of which it mends, and waits for the end of its input.
const NEMESIS: &str = r#"
echo '{"fault": "owner killed"}'
echo '{"mended": "owner killed"}'
echo '{"fault": "owner cut off"}'
cat > "$1/input"
echo '{"mended": "owner cut off"}'
echo '{"fault": "left as it is"}'
"#;

struct Ran {
    code: Option<i32>,
    result: Value,
    told: String,
    trace: String,
    report: String,
    folder: tempfile::TempDir,
}

/// Runs the pairs with this script as the nemesis, which gets a folder of its own.
fn run(script: &str) -> Ran {
    let server = FakeServer::start(Fault::None);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("nemesis.sh"), script).expect("room in it");
    let nemesis = format!("sh {} {}", path("nemesis.sh"), folder.path().display());
    let files = ["r.json", "r.jsonl", "r.html"].map(path);
    let words = [
        ["--protocol", "http"],
        ["--nemesis", &nemesis],
        ["--json", &files[0]],
        ["--trace", &files[1]],
        ["--report", &files[2]],
    ];
    let target = format!("http://{}", server.address);
    let ran = sim(PAIRS, &target, &words.concat());
    let told = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    let [json, trace, report] = files.map(|file| fs::read_to_string(file).unwrap_or_default());
    Ran {
        code: ran.status.code(),
        result: serde_json::from_str(&json).unwrap_or_default(),
        told,
        trace,
        report,
        folder,
    }
}

/// The fault's name, and whether it lasted from before `end` to after it.
fn spans(result: &Value, end: f64) -> Vec<(String, bool)> {
    let faults = result["live"]["nemesis"]["faults"].as_array();
    let faults = faults.expect("faults").iter();
    let span = |fault: &Value| {
        let name = fault["fault"].as_str().expect("a name").to_owned();
        let [from, to] = ["at_ms", "mended_ms"].map(|key| fault[key].as_f64().expect("a time"));
        (name, from < end && to >= end)
    };
    faults.map(span).collect()
}

#[test]
fn faults_of_a_nemesis_are_in_all_results_and_mended_before_users_finish() {
    let ran = run(NEMESIS);
    assert_eq!(
        (ran.code, broken(&ran.result)),
        (Some(0), vec![]),
        "{}",
        ran.told
    );
    let wanted = [
        ("owner killed", false),
        ("owner cut off", true),
        ("left as it is", false),
    ];
    let wanted = wanted.map(|(name, spans)| (name.to_owned(), spans));
    assert_eq!(
        spans(&ran.result, 3_000.0),
        wanted,
        "{}",
        ran.result["live"]
    );
    assert_eq!(
        fs::read(ran.folder.path().join("input")).expect("it was closed"),
        b""
    );
    assert!(
        ran.told.contains("owner cut off 1× · owner killed 1×"),
        "{}",
        ran.told
    );
    assert!(ran.told.contains("owner killed ── "), "{}", ran.told);
    let lines: Vec<Value> = ran
        .trace
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let world = lines.iter().filter(|line| line["kind"] == "world");
    let world: Vec<_> = world
        .map(|line| (line["event"].as_str(), line["reason"].as_str()))
        .collect();
    let made = |name| (Some("fault_made"), Some(name));
    let mended = |name| (Some("fault_mended"), Some(name));
    assert_eq!(
        world,
        [
            made("owner killed"),
            mended("owner killed"),
            made("owner cut off"),
            mended("owner cut off"),
            made("left as it is"),
            mended("left as it is"),
            (Some("healed"), None),
            (Some("ended"), None),
        ]
    );
    assert!(ran.report.contains("\"kind\":\"owner cut off\""));
    let repeat = ran.result["repro"]["command"].as_str().expect("a command");
    assert!(repeat.contains(" --nemesis sh\\ /"), "{repeat}");
    assert!(!ran.told.contains("--stages"), "{}", ran.told);
}

/// The first lines, the name of the failed test case, and the exit code of a run that the nemesis ended.
fn failed(script: &str) -> String {
    let ran = run(script);
    assert_eq!(ran.code, Some(4), "{}", ran.told);
    assert!(ran.told.starts_with("FAIL nemesis failed"), "{}", ran.told);
    assert_eq!(ran.result["verdict"], "unjudged");
    assert_eq!(
        ran.result["rest"]["held"], true,
        "users that wait are not stuck"
    );
    let failed = &ran.result["live"]["nemesis"]["failed"];
    assert!(failed["at_ms"].as_f64() < Some(60_000.0), "{failed}");
    failed["why"].as_str().expect("a reason").to_owned()
}

#[test]
fn a_nemesis_that_ends_early_or_writes_something_else_ends_the_run() {
    assert_eq!(
        failed("exit 3"),
        "ended before its input did, with exit status: 3"
    );
    assert_eq!(
        failed("echo killing the owner; cat"),
        "wrote `killing the owner`, which is neither {\"fault\": NAME} nor {\"mended\": NAME}"
    );
    assert_eq!(failed("cat; exit 5"), "ended with exit status: 5");
}

#[test]
fn a_nemesis_that_does_not_start_is_a_wrong_command_line() {
    let server = FakeServer::start(Fault::None);
    let target = format!("http://{}", server.address);
    let words = ["--protocol", "http", "--nemesis", "./no-such-program 7"];
    let ran = sim(PAIRS, &target, &words);
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(
        told.contains("--nemesis: ./no-such-program 7 does not start: No such file"),
        "{told}"
    );
    let staged = sim(PAIRS, &target, &[&words[..], &["--stages"]].concat());
    assert_eq!(staged.status.code(), Some(2));
}
