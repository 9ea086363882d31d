//! Which folder a server uses, and how much it keeps there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::durable::client::inspect;
use crate::process::{Server, wait_until};

fn inspected(folder: &Path) -> Value {
    let (code, report) = inspect(folder);
    assert_eq!(code, Some(0), "{report}");
    report
}

/// The folder of the program below this home.
fn usual(home: &Path) -> PathBuf {
    match cfg!(target_os = "macos") {
        true => home.join("Library/Application Support/talking-stick"),
        false => home.join("talking-stick"),
    }
}

#[test]
fn a_server_without_a_named_folder_keeps_its_journal_in_the_users() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::at_home(home.path(), &[]);
    let ann = server.register("ann", "lobby");
    server.kill();
    assert!(usual(home.path()).join("journal.db").exists());
    let server = Server::at_home(home.path(), &[]);
    server.done("list_users", &ann, &json!({}));
}

#[test]
fn a_server_in_memory_writes_no_file() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::at_home(home.path(), &["--in-memory"]);
    server.register("ann", "lobby");
    assert_eq!(server.stop(), Some(0));
    let left = fs::read_dir(home.path()).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn a_folder_and_memory_exclude_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = Server::refused(folder.path(), &["--in-memory"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.why.contains("leave one out"), "{}", refused.why);
}

#[test]
fn the_journal_forgets_what_no_start_needs() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--journal-entries", "10"];
    let texts = |from: u32| (from..from + 600).map(|number| format!("message {number}"));
    let mut server = Server::on(folder.path(), &words);
    let ann = server.register("ann", "lobby");
    // Each stop makes a snapshot, of which two are kept: only behind the second may records go.
    for from in [0, 600] {
        server.say(&ann, texts(from));
        assert_eq!(inspected(folder.path())["first"], 1, "all is needed");
        assert_eq!(server.stop(), Some(0));
        server = Server::on(folder.path(), &words);
    }
    let report = inspected(folder.path());
    let snapshots = report["snapshots"].as_array().expect("a list").iter();
    let oldest = snapshots.filter_map(|one| one["position"].as_u64()).min();
    let oldest = oldest.expect("two snapshots");
    assert!(oldest > 500, "it deletes in more than one batch");
    wait_until("the old records stay", || {
        inspected(folder.path())["first"].as_u64() > Some(oldest)
    });
    let report = inspected(folder.path());
    assert_eq!(report["first"], oldest + 1, "{report}");
    assert_eq!(report["starts"], true, "{report}");
    server.kill();
    let server = Server::on(folder.path(), &words);
    let texts: Vec<String> = texts(0).chain(texts(600)).collect();
    assert_eq!(server.history(&ann, "room_1", 100), texts);
}
