//! A program that makes faults beside the users of a live run: what it writes is in the results, and
//! its own failure ends the run.

use std::process::Command;

use serde_json::Value;

use super::fake_server::{FakeServer, Fault};
use super::{PAIRS, broken, ended};
use crate::{Folder, Ran};

/// Makes two faults, one of which it mends, and waits for the end of its input.
const NEMESIS: &str = r#"
echo '{"fault": "owner killed"}'
echo '{"mended": "owner killed"}'
echo '{"fault": "owner cut off"}'
cat > "$1/input"
echo '{"mended": "owner cut off"}'
echo '{"fault": "left as it is"}'
"#;

/// Runs the pairs with this script as the nemesis. Returns the exit code, what was said, and the
/// folder.
fn run(script: &str) -> (Option<i32>, String, Folder) {
    let folder = Folder::with(PAIRS);
    folder.write("nemesis.sh", script);
    let files = "--json r.json --trace r.jsonl --report r.html";
    let ran = run_with(&folder, "sh nemesis.sh .", files);
    (ran.code, ran.told(), folder)
}

/// Runs the pairs of this folder with this nemesis.
fn run_with(folder: &Folder, nemesis: &str, words: &str) -> Ran {
    let server = FakeServer::start(Fault::None);
    let target = server.target();
    let line = format!("a.yaml --target {target} --protocol http {words} --nemesis");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
    folder.run(command.args(line.split_whitespace()).arg(nemesis))
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
    let (code, told, folder) = run(NEMESIS);
    let result = folder.json("r.json");
    assert_eq!((code, broken(&result)), (Some(0), vec![]), "{told}");
    let names = ["owner killed", "owner cut off", "left as it is"];
    let wanted = names.map(|name| (name.to_owned(), name == "owner cut off"));
    assert_eq!(spans(&result, 3_000.0), wanted, "{}", result["live"]);
    assert_eq!(folder.read("input"), "", "it was closed");
    for words in ["owner cut off 1× · owner killed 1×", "owner killed ── "] {
        assert!(told.contains(words), "{told}");
    }
    let lines = folder.lines("r.jsonl");
    let world = lines.iter().filter(|line| line["kind"] == "world");
    let world: Vec<_> = world
        .map(|line| {
            (
                line["event"].as_str().expect("a name"),
                line["reason"].as_str(),
            )
        })
        .collect();
    let faults = names.map(|name| ["fault_made", "fault_mended"].map(|event| (event, Some(name))));
    let wanted = [faults.concat(), vec![("healed", None), ("ended", None)]].concat();
    assert_eq!(world, wanted);
    let report = folder.read("r.html");
    assert!(report.contains("\"kind\":\"owner cut off\""));
    let repeat = result["repro"]["command"].as_str().expect("a command");
    assert!(repeat.contains(" --nemesis sh\\ nemesis.sh"), "{repeat}");
    assert!(!told.contains("--stages"), "{told}");
}

/// The first lines, the name of the failed test case, and the exit code of a run that the nemesis ended.
fn failed(script: &str) -> String {
    let (code, told, folder) = run(script);
    assert_eq!(code, Some(4), "{told}");
    assert!(told.starts_with("FAIL nemesis failed"), "{told}");
    let result = folder.json("r.json");
    assert_eq!(result["verdict"], "unjudged");
    // Users that wait are not stuck.
    assert_eq!(result["rest"]["held"], true);
    let failed = &result["live"]["nemesis"]["failed"];
    assert!(failed["at_ms"].as_f64() < Some(60_000.0), "{failed}");
    failed["why"].as_str().expect("a reason").to_owned()
}

#[test]
fn a_nemesis_that_ends_early_or_writes_something_else_ends_the_run() {
    let wrote =
        r#"wrote `killing the owner`, which is neither {"fault": NAME} nor {"mended": NAME}"#;
    for (script, why) in [
        ("exit 3", "ended before its input did, with exit status: 3"),
        ("echo killing the owner; cat", wrote),
        ("cat; exit 5", "ended with exit status: 5"),
    ] {
        assert_eq!(failed(script), why);
    }
}

#[test]
fn a_nemesis_that_does_not_start_is_a_wrong_command_line() {
    let (folder, nemesis) = (Folder::with(PAIRS), "./no-such-program 7");
    let why = "--nemesis: ./no-such-program 7 does not start: No such file";
    ended(&run_with(&folder, nemesis, ""), 2, &[why]);
    ended(&run_with(&folder, nemesis, "--stages"), 2, &[]);
}
