//! The copy of the history in PostgreSQL: away, rebuilt, of another realm, cut.
//!
//! The tests need a PostgreSQL server, which a step of the check starts.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::durable::client::{self, history_of, sql, wait_for};
use crate::process::Server;

/// The core keeps two messages of a room.
const SHORT: &[&str] = &["--limit", "history_limit=2"];

fn words(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("word {number}")).collect()
}

fn database(folder: &Path) -> String {
    history_of(folder).expect("TALKING_STICK_TEST_POSTGRES names a server")
}

const COUNT: &str = "SELECT count(*) FROM messages";

/// A server whose five messages are copied: its database, and the handle of their author.
fn five_copied(folder: &Path) -> (String, Server, String) {
    let database = database(folder);
    let server = Server::on(folder, SHORT);
    let ann = server.register("ann", "lobby");
    server.say(&ann, words(0..5));
    wait_for(&database, COUNT, "5");
    (database, server, ann)
}

/// A new folder, with a backup of this one in its folder `copy`.
fn backed_up(folder: &Path) -> TempDir {
    let backup = tempfile::tempdir().expect("a folder");
    let copy = backup.path().join("copy");
    assert_eq!(client::backup(folder, &copy).code, Some(0));
    backup
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test --only postgres"]
fn while_postgresql_is_away_the_file_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    // A port without a server.
    let nowhere = ["--history", "postgres://chat:secret@127.0.0.1:9/chat"];
    let server = Server::start_alone(folder.path(), &[SHORT, &nowhere].concat());
    let ann = server.register("ann", "lobby");
    server.say(&ann, words(0..9));
    assert_eq!(server.history(&ann, "room_1", 4), words(0..9));
    let found = server.done("search", &ann, &json!({ "query": "word 7" }));
    assert_eq!(found["messages"].as_array().map(Vec::len), Some(1));
    let log = server.log();
    assert!(log.contains("the history is not copied"), "{log}");
    assert!(
        log.contains("chat@127.0.0.1:9") && !log.contains("secret"),
        "{log}"
    );
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test --only postgres"]
fn dropped_tables_are_built_anew_and_every_message_is_there_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let server = Server::on(folder.path(), SHORT);
    let ann = server.register("ann", "lobby");
    server.say(&ann, words(0..600));
    wait_for(&database, COUNT, "600");
    let drop = "DROP VIEW spoken, participants; DROP TABLE place, messages, rooms, memberships";
    assert!(sql(&database, drop).is_ok());
    server.say(&ann, words(600..601));
    wait_for(&database, COUNT, "601");
    wait_for(&database, "SELECT count(DISTINCT text) FROM spoken", "601");
    assert_eq!(server.history(&ann, "room_1", 50), words(0..601));
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test --only postgres"]
fn a_database_of_another_realm_is_neither_written_nor_read() {
    let [one, two] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
    let (database, server, _) = five_copied(one.path());
    let history = ["--history", &database];
    let other = Server::start_alone(two.path(), &[SHORT, &history].concat());
    let ben = other.register("ben", "lobby");
    other.say(&ben, words(100..110));
    assert_eq!(other.history(&ben, "room_1", 50), words(100..110));
    let log = other.log();
    assert!(log.contains("the history of another realm"), "{log}");
    assert_eq!(sql(&database, COUNT).as_deref(), Ok("5"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test --only postgres"]
fn tables_of_another_version_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, server, ann) = five_copied(folder.path());
    assert_eq!(server.stop(), Some(0));
    sql(&database, "UPDATE place SET format = 1").expect("the tables are there");
    let server = Server::on(folder.path(), SHORT);
    server.say(&ann, words(5..15));
    assert_eq!(server.history(&ann, "room_1", 50), words(0..15));
    let log = server.log();
    let told =
        "of version 1, and this server writes version 3: name another one with --history, or drop";
    assert!(log.contains(told), "{log}");
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test --only postgres"]
fn a_restored_journal_cuts_the_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, server, ann) = five_copied(folder.path());
    let backup = backed_up(folder.path());
    let backup = backup.path().join("copy");
    server.say(&ann, words(5..9));
    wait_for(&database, COUNT, "9");
    assert_eq!(server.stop(), Some(0));
    let restored = tempfile::tempdir().expect("a folder");
    let restored = restored.path().join("restored");
    assert_eq!(client::restore(&backup, &restored).code, Some(0));
    let history = ["--history", &database];
    let server = Server::start_alone(&restored, &[SHORT, &history].concat());
    wait_for(&database, COUNT, "5");
    server.say(&ann, words(20..22));
    wait_for(&database, COUNT, "7");
    assert_eq!(
        server.history(&ann, "room_1", 50),
        [words(0..5), words(20..22)].concat()
    );
    assert_eq!(server.stop(), Some(0));
}

/// The place of the copy is in the journal again, with another entry.
#[test]
#[ignore = "needs PostgreSQL: cargo xtask test --only postgres"]
fn a_copy_that_the_journal_contradicts_is_cut_to_what_both_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, server, ann) = five_copied(folder.path());
    let backup = backed_up(folder.path());
    let backup = backup.path().join("copy");
    server.say(&ann, words(5..9));
    wait_for(&database, COUNT, "9");
    assert_eq!(server.stop(), Some(0));
    let server = Server::start_alone(&backup, SHORT);
    server.say(&ann, words(20..40));
    assert_eq!(server.stop(), Some(0));
    let history = ["--history", &database];
    let server = Server::start_alone(&backup, &[SHORT, &history].concat());
    let all = [words(0..5), words(20..40)].concat();
    wait_for(&database, COUNT, "25");
    assert_eq!(server.history(&ann, "room_1", 50), all);
    assert_eq!(server.stop(), Some(0));
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test --only postgres"]
fn a_search_that_is_too_long_gives_what_it_found_and_where_it_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, server, ann) = five_copied(folder.path());
    // The newest two are far from the others.
    let far = "UPDATE messages SET id = id + 10000000 WHERE text IN ('word 3', 'word 4')";
    sql(&database, far).expect("the tables are there");
    let search = |before: &Value| {
        let asked = json!({ "query": "word", "before": before });
        let found = server.done("search", &ann, &asked);
        let said = found["messages"].as_array().expect("a list").iter();
        let said: Value = said.map(|one| one["message"].clone()).collect();
        (said, found["before"].clone())
    };
    let all = json!(["word 4", "word 3", "word 2", "word 1", "word 0"]);
    assert_eq!(search(&Value::Null), (all, Value::Null));
    // To look at the others takes for ever.
    let slow = "ALTER TABLE messages RENAME TO stored; CREATE VIEW messages AS SELECT * FROM stored
         WHERE id > 10000000 OR pg_sleep(1000)::text IS NOT NULL";
    sql(&database, slow).expect("the tables are there");
    let (found, before) = search(&Value::Null);
    assert_eq!(found, json!(["word 4", "word 3"]));
    let fast = "DROP VIEW messages; ALTER TABLE stored RENAME TO messages";
    sql(&database, fast).expect("the tables are there");
    let rest = json!(["word 2", "word 1", "word 0"]);
    assert_eq!(search(&before), (rest, Value::Null));
}
