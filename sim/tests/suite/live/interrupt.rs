//! Ctrl-C ends a run of the program early, with its result.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::fake_server::{FakeServer, Fault};
use crate::Folder;

/// The time limit of every wait in these tests. No test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// Users that would stay for an hour.
const LONG: &str = "
name: long
duration: 1h
phases: [{ name: come, duration: 100ms, arrival_count: 6 }]
scenarios:
  - name: penpal
    flow:
      - enter_queue
      - await: { event: chatroom.found, within: 20s }
      - loop: { count: 100000, steps: [send: { length: 20 }, think: 50ms, check: { wait: 0ms }] }
";

fn start(words: &[&str]) -> (Child, Folder) {
    let folder = Folder::with(LONG);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
    command
        .args(["a.yaml", "--json", "results/out.json"])
        .args(words)
        .current_dir(folder.0.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    (command.spawn().expect("it starts"), folder)
}

/// As `timeout` does: a signal for the process, and one for its group.
fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    for signal in ["-INT", "-TERM"] {
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.expect("kill starts").success());
    }
}

/// Waits until this holds.
fn until(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "it does not come");
        thread::yield_now();
    }
}

#[test]
fn a_live_run_takes_its_users_out_and_says_what_it_saw() {
    let server = FakeServer::start(Fault::None);
    let (mut child, folder) = start(&["--target", &server.target(), "--protocol", "http"]);
    until(|| server.people().0 == 6);
    interrupt(&child);
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(130));
    assert_eq!(server.people(), (6, 0));
    let result = folder.json("results/out.json");
    assert_eq!(result["interrupted"], true);
    assert_eq!(result["live"]["starts"]["started"], 6);
    assert_eq!(result["verdict"], "interrupted");
}

#[test]
fn a_virtual_run_of_one_seed_ends_with_no_run_in_its_result() {
    let (mut child, folder) = start(&[]);
    // The folder is made when the program handles signals.
    until(|| folder.path("results").exists());
    interrupt(&child);
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(130), "{ended}");
    let result = folder.json("results/out.json");
    assert_eq!(result["exit_code"], 130);
    assert_eq!(result["runs"], serde_json::json!([]));
}
