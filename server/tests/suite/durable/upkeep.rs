//! `export`, `records`, `backup`, `restore` and `inspect` on the folder of a server.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::durable::client::{backup, export, inspect, records, recovered, restore, run_on};
use crate::process::Server;

/// The core keeps three messages of a room; all others come from the history.
const SHORT: &[&str] = &["--limit", "history_limit=3"];

#[test]
fn a_backup_under_load_is_a_whole_server() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let server = Server::on(&at("data"), SHORT);
    let ann = server.register("ann", "lobby");
    let ben = server.register("ben", "lobby");
    server.say(&ann, (0..20).map(|number| format!("before {number}")));
    let done = AtomicBool::new(false);
    let ran = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                server.say(&ann, [format!("meanwhile {number}")]);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let ran = backup(&at("data"), &at("backup"));
        done.store(true, Ordering::Relaxed);
        ran
    });
    assert_eq!(ran.code, Some(0), "{}", ran.why);
    server.say(&ann, ["after".into()]);
    let all = server.history(&ben, "room_1", 50);
    assert_eq!(server.stop(), Some(0));

    let ran = restore(&at("backup"), &at("restored"));
    assert_eq!(ran.code, Some(0), "{}", ran.why);
    let (code, report) = inspect(&at("restored"));
    assert_eq!(
        (code, &report["problems"]),
        (Some(0), &json!([])),
        "{report}"
    );
    let restored = Server::on(&at("restored"), SHORT);
    let kept = restored.history(&ben, "room_1", 50);
    assert!(kept.len() >= 20 && kept.len() < all.len());
    assert_eq!(kept, all[..kept.len()], "the state of one moment");
    restored.say(&ann, ["it goes on".into()]);
    assert_eq!(restored.stop(), Some(0));
    // The same handles and rooms, and the history of the backup, without the journal's help.
    fs::remove_file(at("restored").join("history.db")).expect("there is one");
    let restored = Server::on(&at("restored"), SHORT);
    assert_eq!(restored.history(&ben, "room_1", 50)[..kept.len()], kept);
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let server = Server::on(&at("data"), &[]);
    server.register("ann", "lobby");
    fs::create_dir(at("full")).expect("a folder");
    fs::write(at("full").join("letter"), "dear").expect("a file");
    for ran in [
        backup(&at("data"), &at("full")),
        restore(&at("data"), &at("full")),
    ] {
        assert_eq!(ran.code, Some(1));
        assert!(ran.why.contains("not empty"), "{}", ran.why);
    }
    assert_eq!(fs::read_dir(at("full")).expect("it stays").count(), 1);
    let ran = backup(&at("nothing"), &at("backup"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.why.contains("there is no journal"), "{}", ran.why);
    assert!(!at("backup").exists());
}

#[test]
fn an_export_has_a_line_for_everything() {
    let (folder, server) = Server::fresh(&[]);
    // A server that answers has a history, though an empty one.
    let empty = export(folder.path());
    assert_eq!(empty.code, Some(0), "{}", empty.why);
    assert_eq!(empty.out.lines().count(), 2, "{}", empty.out);
    let ann = server.register("ann", "lobby");
    let ben = server.register("ben", "lobby");
    server.say(
        &ann,
        (0..30).map(|number| format!("line {number}\nand more")),
    );
    server.done("leave_chat", &ben, &json!({ "room_id": "room_1" }));
    server.done(
        "login",
        &ben,
        &json!({ "username": "ben", "room": "attic" }),
    );
    // The history has caught up with what was answered.
    assert_eq!(server.history(&ann, "room_1", 50).len(), 30);
    let ran = export(folder.path());
    assert_eq!(ran.code, Some(0), "{}", ran.why);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |kind: &str| {
        lines
            .iter()
            .filter(|line| line["kind"] == kind)
            .collect::<Vec<_>>()
    };
    let kinds = [
        "export",
        "room",
        "participant",
        "membership",
        "message",
        "end",
    ];
    assert_eq!(kinds.map(|kind| of(kind).len()), [1, 2, 2, 3, 30, 1]);
    assert_eq!(of("end")[0]["lines"], lines.len() - 1);
    let first = of("message")[0];
    assert_eq!(first["message"], "line 0\nand more");
    assert_eq!(
        (&first["room_id"], &first["user_id"]),
        (&json!("room_1"), &json!("user_1"))
    );
    assert!(first["at"].as_str().expect("an instant").starts_with("20"));
    let positions: Vec<_> = of("message")
        .iter()
        .map(|line| line["position"].as_u64())
        .collect();
    assert!(positions.is_sorted_by(|a, b| a < b));
    assert!(positions.last() <= Some(&lines[0]["position"].as_u64()));
    let ended = of("membership")
        .into_iter()
        .filter(|line| !line["to_seq"].is_null());
    assert_eq!(ended.count(), 1, "Ben's first stay");
}

#[test]
fn an_export_and_an_error_steer_no_terminal() {
    const EVIL: &str = "x\u{9b}2J\u{202e}\u{7f}";
    let steers = |text: &str| {
        text.chars()
            .any(|c| c == '\u{202e}' || c.is_control() && c != '\n')
    };
    let (folder, server) = Server::fresh(&[]);
    let ann = server.register("ann", "lobby");
    server.say(&ann, [EVIL.to_owned()]);
    assert_eq!(server.history(&ann, "room_1", 50).len(), 1);
    let ran = export(folder.path());
    assert!(!steers(&ran.out), "{:?}", ran.out);
    let mut lines = ran.out.lines().map(serde_json::from_str::<Value>);
    assert!(lines.any(|line| line.expect("JSON")["message"] == EVIL));
    let nowhere = folder.path().join("\u{1b}[31mred\u{9b}");
    let ran = run_on(&nowhere, &[&"inspect"]);
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.why.contains("[31mred") && !steers(&ran.why),
        "{:?}",
        ran.why
    );
}

#[test]
fn an_inspection_names_the_damaged_position() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let server = Server::on(&at("data"), &[]);
    let ann = server.register("ann", "lobby");
    server.say(&ann, (0..9).map(|number| format!("word {number}")));
    let (code, report) = inspect(&at("data"));
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(
        (&report["first"], &report["starts"]),
        (&json!(1), &json!(true))
    );
    assert!(report["last"].as_u64() >= Some(10) && report["verified_from"] == 1);
    server.kill();
    let journal = Connection::open(at("data").join("journal.db")).expect("a database");
    let select = "SELECT first, record FROM journal ORDER BY first LIMIT 1 OFFSET 4";
    let (first, mut record): (i64, Vec<u8>) = journal
        .query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("there are more");
    let middle = record.len() / 2;
    record[middle] ^= 4;
    let update = "UPDATE journal SET record = ?1 WHERE first = ?2";
    let changed = journal.execute(update, rusqlite::params![record, first]);
    assert_eq!(changed, Ok(1));
    let view = "SELECT kind, count(*), min(time) FROM journal_v WHERE kind = 'send_message'";
    let (kind, number, time): (String, i64, String) = journal
        .query_row(view, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("the view reads");
    assert_eq!((&*kind, number), ("send_message", 9));
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
    let view = "SELECT max(position) FROM journal_v";
    let last: i64 = journal
        .query_row(view, [], |row| row.get(0))
        .expect("the view reads");
    assert!(Some(last) >= report["last"].as_i64());
    drop(journal);
    let (code, report) = inspect(&at("data"));
    assert_eq!((code, &report["starts"]), (Some(1), &json!(false)));
    let problem = report["problems"][0].as_str().expect("a problem");
    assert!(
        problem.contains(&format!("the record at position {first} is not")),
        "{problem}"
    );
    for ran in [
        run_on(&at("data"), &[&"inspect"]),
        backup(&at("data"), &at("copy")),
        restore(&at("data"), &at("copy")),
    ] {
        assert_eq!(ran.code, Some(1));
        let why = ran.why;
        assert!(why.contains(&format!("position {first} ")), "{why}");
    }
    assert!(!at("copy").exists() && !at("copy.incomplete").exists());
}

#[test]
fn the_records_of_a_running_server_are_its_state() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let mut server = Server::on(&at("data"), &[]);
    let ann = server.register("ann", "lobby");
    for life in 0..3 {
        server.say(&ann, (0..20).map(|number| format!("{life}: {number}")));
        if life < 2 {
            assert_eq!(server.stop(), Some(0));
            server = Server::on(&at("data"), &[]);
        }
    }
    let last = server.done("list_users", &ann, &json!({}));
    assert_eq!(last["users"].as_array().map(Vec::len), Some(1), "{last}");
    let records = records(&at("data"));
    server.kill();
    let secret = Connection::open(at("data").join("journal.db"))
        .and_then(|database| {
            database.query_row("SELECT secret FROM identity", [], |row| {
                row.get::<_, Vec<u8>>(0)
            })
        })
        .expect("an identity");
    assert!(
        records.windows(secret.len()).all(|bytes| bytes != secret),
        "the secret is not for others"
    );
    let (state, checkpoints) = recovered(&records);
    let last = state.hub.position().0;
    assert!(state.snapshot.0 == 0 && last > 60);
    assert_eq!(checkpoints, 2, "of both stops");
    assert_eq!(inspect(&at("data")).1["last"], last);
}

#[test]
fn records_without_their_beginning_come_with_a_snapshot() {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("data");
    for life in 0..2 {
        let server = Server::on(&data, &[]);
        let ann = server.register(&format!("ann {life}"), "lobby");
        server.say(&ann, (0..20).map(|number| format!("{life}: {number}")));
        assert_eq!(server.stop(), Some(0));
    }
    let database = Connection::open(data.join("journal.db")).expect("a database");
    let deleted = database.execute("DELETE FROM journal WHERE first <= 3", []);
    assert!(deleted.expect("a table") > 0);
    drop(database);
    let records = records(&data);
    let (state, _) = recovered(&records);
    assert_eq!(inspect(&data).1["last"], state.hub.position().0);
    assert!(state.snapshot.0 > 3, "it replaces what is gone");
}

#[test]
fn a_folder_is_named_with_a_slash_or_a_dot_at_its_end_too() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let server = Server::on(&at("data"), &[]);
    server.register("ann", "lobby");
    assert_eq!(server.stop(), Some(0));
    fs::create_dir(at("empty")).expect("room on the disk");
    for to in ["new/", "empty/."] {
        let ran = backup(&at("data"), &at(to));
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.why);
    }
    fs::create_dir(at("restored")).expect("room on the disk");
    let ran = restore(&at("new/"), &at("restored/"));
    assert_eq!(ran.code, Some(0), "{}", ran.why);
    let names = fs::read_dir(home.path()).expect("it is there");
    let mut names: Vec<_> = names.map(|entry| entry.expect("one").file_name()).collect();
    names.sort();
    assert_eq!(names, ["data", "empty", "new", "restored"]);
}
