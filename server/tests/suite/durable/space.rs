//! How much of the disk a server takes, and what it does when the disk or its folder is gone.

use std::fs;
use std::path::Path;
use std::thread;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use crate::process::{Server, wait_until};

/// One source may write as much as it likes, and as fast.
const UNRATED: [&str; 4] = [
    "--durability",
    "os",
    "--limit",
    "max_per_address=10000,max_message=16384",
];

fn size(file: &Path) -> u64 {
    file.metadata().map_or(0, |file| file.len())
}

/// Long texts, of this number of bytes altogether.
fn long_texts(bytes: usize) -> impl Iterator<Item = String> {
    (0..bytes / 16_000).map(|number| format!("{number:016000}"))
}

/// `/readyz` says that nothing is accepted, also while nobody calls, and a message is refused.
fn assert_refuses(server: &Server, handle: &str) {
    wait_until("it is ready", || server.get("/readyz").0 == 503);
    wait_until("it accepts calls", || {
        let body = json!({ "message": "no" });
        let answer = server.connect().post("/send", handle, &body);
        let (status, answer) = answer.expect("it is answered");
        status == 503 && answer["error"]["code"] == "storage_unavailable"
    });
}

#[test]
fn little_free_space_refuses_writers_and_no_readers() {
    let (folder, server) = Server::fresh(&[]);
    let ann = server.register("ann", "lobby");
    let ben = server.register("ben", "lobby");
    server.say(&ann, ["before".into()]);
    assert_eq!(server.stop(), Some(0));
    let server = Server::on(
        folder.path(),
        &["--disk-reserve", "100000TiB", "--grace", "1s"],
    );
    assert_refuses(&server, &ann);
    assert_eq!(server.inbox(&ben, Vec::new(), 0).0, ["before"]);
    assert_eq!(server.history(&ben, "room_1", 9), ["before"]);
    assert!(server.figure("disk_bytes{of=\"free\"}") > 0);
    assert!(server.log().contains("less free space than --disk-reserve"));
    let server = Server::on(folder.path(), &[]);
    server.say(&ann, ["after".into()]);
    assert_eq!(server.history(&ben, "room_1", 9), ["before", "after"]);
}

/// What is removed of the folder, while the server runs.
fn vanish(what: &str) {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("data");
    let server = Server::on(&data, &["--grace", "1s"]);
    let ann = server.register("ann", "lobby");
    match what {
        // The server may write into it while it is removed.
        "" => fs::rename(&data, home.path().join("gone")),
        file => fs::remove_file(data.join(file)),
    }
    .expect("it is there");
    assert_refuses(&server, &ann);
    if what != "lock" {
        assert_eq!(server.stop(), Some(1), "{what}");
        return;
    }
    let second = Server::on(&data, &[]);
    second.say(&ann, ["it goes on".into()]);
    assert_refuses(&server, &ann);
    assert_eq!(server.stop(), Some(1), "{what}");
    second.say(&ann, ["and on".into()]);
    second.kill();
    let third = Server::on(&data, &[]);
    assert_eq!(third.history(&ann, "room_1", 9), ["it goes on", "and on"]);
}

#[test]
fn a_folder_that_vanished_is_noticed() {
    thread::scope(|scope| {
        for what in ["", "lock", "journal.db"] {
            scope.spawn(move || vanish(what));
        }
    });
}

#[test]
fn a_wal_that_a_reader_held_shrinks_when_it_is_gone() {
    let (folder, server) = Server::fresh(&UNRATED);
    let ann = server.register("ann", "lobby");
    let (file, wal) = (
        folder.path().join("journal.db"),
        folder.path().join("journal.db-wal"),
    );
    let reader = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let reader = reader.expect("a database");
    let pinned = reader.execute_batch("BEGIN; SELECT count(*) FROM journal_v;");
    pinned.expect("a view");
    server.say(&ann, long_texts(20 << 20));
    assert!(size(&wal) > 16 << 20);
    let told = server.figure("disk_bytes{of=\"journal_wal\"}");
    assert_eq!(told, size(&wal));
    drop(reader);
    wait_until("it stays long", || size(&wal) <= 8 << 20);
    server.say(&ann, ["it goes on".into()]);
}

#[test]
fn journal_and_history_stay_within_their_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = ["--journal-bytes", "1MiB", "--history-bytes", "1MiB"];
    let words = [&UNRATED[..], &small].concat();
    let server = Server::on(folder.path(), &words);
    let ann = server.register("ann", "lobby");
    server.say(&ann, long_texts(20 << 20));
    // A read waits for the history. Its thread has the lowest priority: a client that only looked how
    // far it is, again and again, would take the processor from it.
    wait_until("the history follows", || {
        server.call("history", &ann, &json!({ "limit": 1 })).0 == 200
    });
    for name in ["journal.db", "history.db"] {
        let bytes = size(&folder.path().join(name));
        assert!(bytes < 12 << 20, "{name}: {bytes}");
    }
    server.kill();
    let server = Server::on(folder.path(), &words);
    server.say(&ann, ["it goes on".into()]);
    assert_eq!(server.stop(), Some(0));
}
