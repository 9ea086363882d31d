//! Letters of the history that the disk changes: never read, and rebuilt.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::durable::client::{export, inspect, run_on, texts_of};
use crate::process::{Server, wait_until};

/// The core keeps two messages of a room; all others come from the history.
const SHORT: &[&str] = &["--limit", "history_limit=2"];

/// Writes other letters in the place of these, once. The file keeps all else meanwhile: the server reads it.
fn change(file: &Path, from: &str, to: &str) {
    let bytes = fs::read(file).expect("a file");
    let mut places = bytes.windows(from.len());
    let place = places.position(|part| part == from.as_bytes());
    let place = place.expect("the text is in the file");
    let file = File::options().write(true).open(file).expect("a file");
    let written = file.write_all_at(to.as_bytes(), place as u64);
    written.expect("it can be written");
}

fn search(server: &Server, reader: &str, query: &str) -> (u16, Value) {
    server.call("search", reader, &json!({ "query": query }))
}

#[test]
fn a_letter_that_changes_while_the_server_runs_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let history = folder.path().join("history.db");
    let server = Server::on(folder.path(), SHORT);
    let ann = server.register("ann", "lobby");
    let texts: Vec<String> = (0..9).map(|number| format!("word {number}")).collect();
    server.say(&ann, texts.clone());
    // The WAL is in the file after a stop.
    assert_eq!(server.stop(), Some(0));
    let server = Server::on(folder.path(), SHORT);
    wait_until("it follows the journal", || {
        server.try_figure("history_lag") == Some(0)
    });
    change(&history, "word 4", "sord 4");
    let (status, answer) = search(&server, &ann, "word");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("overloaded")),
        "{answer}"
    );
    assert!(answer.to_string().contains("damaged"), "{answer}");
    wait_until("the history is rebuilt", || {
        search(&server, &ann, "word").0 == 200
    });
    assert_eq!(server.history(&ann, "room_1", 4), texts);
    let found = search(&server, &ann, "word").1;
    assert_eq!(found["messages"].as_array().map(Vec::len), Some(9));
    assert_eq!(server.figure("history_damaged_total"), 1);
    assert_eq!(server.figure("history_lost_total"), 0);
    assert!(folder.path().join("history.db.damaged").exists());
}

#[test]
fn damaged_rows_that_the_journal_no_longer_has_are_counted_and_others_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let history = folder.path().join("history.db");
    let server = Server::on(folder.path(), SHORT);
    let ann = server.register("ann", "lobby");
    let mut texts: Vec<String> = (0..9).map(|number| format!("word {number}")).collect();
    server.say(&ann, texts.clone());
    assert_eq!(server.stop(), Some(0));
    let journal = rusqlite::Connection::open(folder.path().join("journal.db")).expect("a database");
    let forget = "DELETE FROM journal";
    journal.execute(forget, []).expect("it can be written");
    drop(journal);
    change(&history, "word 4", "sord 4");
    let found = run_on(folder.path(), &[&"inspect", &"--json"]);
    assert_eq!(found.code, Some(1), "{}", found.out);
    let why = found.why;
    assert!(why.contains("the history is damaged"), "{why}");
    let export = export(folder.path());
    assert_eq!(export.code, Some(1));
    assert!(!export.out.contains("sord"), "{}", export.out);
    let server = Server::on(folder.path(), SHORT);
    server.say(&ann, ["later".into()]);
    texts.remove(4);
    texts.push("later".into());
    assert_eq!(server.history(&ann, "room_1", 4), texts);
    let found = search(&server, &ann, "word").1;
    let found = texts_of(&found);
    assert_eq!(found.len(), 8, "{found:?}");
    assert_eq!(server.figure("history_lost_total"), 1);
    assert_eq!(server.stop(), Some(0));
    let (code, found) = inspect(folder.path());
    assert_eq!(code, Some(0), "{found}");
    assert_eq!(found["history_lost"], 1);
}
