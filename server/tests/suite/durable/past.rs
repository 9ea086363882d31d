//! The history and the search of a server with a journal.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::durable::client::{history_of, texts_of};
use crate::process::Server;

/// The core keeps two messages of a room; all others come from the history.
const SHORT: &[&str] = &["--limit", "history_limit=2"];

fn numbered(name: &str, numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("{name} {number}")).collect()
}

fn found(server: &Server, handle: &str, query: &str) -> Vec<String> {
    // A search waits for a history that is still being written, for a while: then it is to be repeated.
    let search = || server.call("search", handle, &json!({ "query": query }));
    let mut tries = std::iter::repeat_with(search).take(30);
    let answer = tries.find(|(status, _)| *status != 503);
    let (status, answer) = answer.expect("it is written in the end");
    assert_eq!(status, 200, "search {query}: {answer}");
    texts_of(&answer)
}

/// Ann is in the lobby all the time; Ben joins after her first messages, leaves, and comes back.
fn comings_and_goings(server: &Server) -> (String, String) {
    let ann = server.register("ann", "lobby");
    server.say(&ann, numbered("before", 0..3));
    let ben = server.register("ben", "lobby");
    server.say(&ann, numbered("first", 0..4));
    server.done("leave_chat", &ben, &json!({ "room_id": "room_1" }));
    server.say(&ann, numbered("without", 0..4));
    server.done(
        "login",
        &ben,
        &json!({ "username": "ben", "room": "lobby" }),
    );
    server.say(&ann, numbered("again", 0..5));
    (ann, ben)
}

/// What Ann and Ben may read of that.
fn check(server: &Server, (ann, ben): (&str, &str)) {
    let all = [
        numbered("before", 0..3),
        numbered("first", 0..4),
        numbered("without", 0..4),
        numbered("again", 0..5),
    ];
    for limit in [1, 3, 50] {
        assert_eq!(server.history(ann, "room_1", limit), all.concat());
    }
    let own = [&all[1][..], &all[3][..]].concat();
    for limit in [1, 3, 50] {
        assert_eq!(server.history(ben, "room_1", limit), own);
    }
    assert_eq!(found(server, ann, "WITHOUT 2"), ["without 2"]);
    assert!(found(server, ben, "without").is_empty());
    assert!(found(server, ben, "before").is_empty());
    let mut newest = numbered("first", 0..4);
    newest.reverse();
    assert_eq!(found(server, ben, "firs"), newest);
}

#[test]
fn messages_outlive_restarts_and_are_read_by_those_who_were_there() {
    let (folder, server) = Server::fresh(SHORT);
    let (ann, ben) = comings_and_goings(&server);
    check(&server, (&ann, &ben));
    assert_eq!(server.stop(), Some(0));
    let server = Server::on(folder.path(), SHORT);
    check(&server, (&ann, &ben));
    server.kill();
    let server = Server::on(folder.path(), SHORT);
    check(&server, (&ann, &ben));
    // A participant that was never there learns nothing, and one that has left reads its own part.
    let cat = server.register("cat", "attic");
    let room = json!({ "room_id": "room_1" });
    assert_eq!(server.call("history", &cat, &room).0, 403);
    assert!(found(&server, &cat, "first").is_empty());
    for (room, status) in [("room_1", 403), ("room_99", 404)] {
        let query = json!({ "query": "first", "room_id": room });
        assert_eq!(server.call("search", &cat, &query).0, status);
    }
    server.done("leave_chat", &ben, &room);
    server.say(&ann, numbered("later", 0..3));
    let own = [numbered("first", 0..4), numbered("again", 0..5)].concat();
    assert_eq!(server.history(&ben, "room_1", 4), own);
    assert!(found(&server, &ben, "later").is_empty());
}

#[test]
fn a_lost_or_damaged_history_is_built_anew_from_the_journal() {
    let (folder, server) = Server::fresh(SHORT);
    let (ann, ben) = comings_and_goings(&server);
    check(&server, (&ann, &ben));
    assert_eq!(server.stop(), Some(0));
    let path = folder.path().join("history.db");
    fs::remove_file(&path).expect("there is one");
    // The snapshot of the stop is later than what is missing, and must not be the start.
    let server = Server::on(folder.path(), SHORT);
    check(&server, (&ann, &ben));
    assert_eq!(server.stop(), Some(0));
    damage(&path);
    let server = Server::on(folder.path(), SHORT);
    check(&server, (&ann, &ben));
    assert_eq!(server.stop(), Some(0));
    assert!(folder.path().join("history.db.damaged").exists());
}

fn damage(path: &Path) {
    let mut bytes = fs::read(path).expect("there is one");
    for byte in bytes.iter_mut().skip(100) {
        *byte = 0x5a;
    }
    fs::write(path, bytes).expect("it can be written");
}

#[test]
fn blocked_participants_are_left_out() {
    let (_folder, server) = Server::fresh(SHORT);
    let ann = server.register("ann", "lobby");
    let ben = server.register("ben", "lobby");
    let cat = server.register("cat", "lobby");
    for number in 0..4 {
        for (name, handle) in [("ann", &ann), ("ben", &ben), ("cat", &cat)] {
            server.say(handle, [format!("{name} says {number}")]);
        }
    }
    let page = server.done("list_users", &ann, &json!({ "room_id": "room_1" }));
    let users = page["users"].as_array().expect("a list");
    let ben_id = users.iter().find(|user| user["display_name"] == "ben");
    let ben_id = &ben_id.expect("Ben is there")["user_id"];
    server.done("block_user", &ann, &json!({ "user_id": ben_id }));
    for (reader, hidden) in [(&ann, "ben"), (&ben, "ann")] {
        let texts = server.history(reader, "room_1", 3);
        assert_eq!(texts.len(), 8, "{texts:?}");
        assert!(texts.iter().all(|text| !text.starts_with(hidden)));
        let texts = found(&server, reader, "says");
        assert_eq!(texts.len(), 8, "{texts:?}");
        assert!(texts.iter().all(|text| !text.starts_with(hidden)));
    }
    assert_eq!(server.history(&cat, "room_1", 5).len(), 12);
}

/// Blocks by many are one question: forty cost a reader no more than one does.
#[test]
fn many_who_block_a_reader_do_not_take_its_past_away() {
    const BLOCKERS: usize = 40;
    let (_folder, server) = Server::fresh(SHORT);
    let ann = server.register("ann", "lobby");
    let page = server.done("list_users", &ann, &json!({ "room_id": "room_1" }));
    let ann_id = page["users"][0]["user_id"].clone();
    let ben = server.register("ben", "lobby");
    server.say(&ben, ["a word of ben".into()]);
    for number in 0..BLOCKERS {
        let other = server.register(&format!("blocker{number}"), "lobby");
        server.done("block_user", &other, &json!({ "user_id": ann_id }));
        // More than one page of each, so that a page has one sender.
        server.say(&other, numbered("word", 0..21));
    }
    server.say(&ben, numbered("end", 0..2));
    assert_eq!(found(&server, &ann, "word"), ["a word of ben"]);
    let all = [vec!["a word of ben".into()], numbered("end", 0..2)].concat();
    for limit in [2, 10] {
        assert_eq!(server.history(&ann, "room_1", limit), all);
    }
    assert_eq!(found(&server, &ben, "word").len(), 20);
}

#[test]
fn the_text_of_a_query_is_words_and_never_syntax() {
    let (_folder, server) = Server::fresh(SHORT);
    let ann = server.register("ann", "lobby");
    let ben = server.register("ben", "attic");
    server.say(&ben, ["the secret of the attic".into()]);
    server.say(
        &ann,
        [
            "tea or coffee, NEAR the \"room\"".into(),
            "치킨을 먹자".into(),
            "明日の会議は三時です".into(),
            "พรุ่งนี้ประชุม".into(),
        ],
    );
    for (query, number) in [
        ("coffee tea", 1),
        ("OR", 1),
        ("tea OR secret", 0),
        ("NEAR(tea coffee)", 0),
        ("\"room\"", 1),
        ("room:2", 0),
        ("room : (2) OR secret", 0),
        ("\") OR (text : secret", 0),
        ("x\" OR \"secret", 0),
        ("'; DROP TABLE messages; --", 0),
        ("coff*", 1),
        ("^tea", 1),
        ("-coffee", 1),
        ("coffee\u{0}tea", 1),
        ("치킨", 1),
        ("会議", 1),
        ("三時", 1),
        ("会", 1),
        ("三時 明日", 1),
        ("会三", 0),
        ("会議室", 0),
        ("ประชุม", 1),
        ("COFFÉE", 1),
        ("\u{202e}\u{fffd}tea", 1),
        ("{text} : tea", 0),
        ("%", 9),
        ("\"\"\"", 9),
        ("", 9),
    ] {
        let (status, answer) = server.call("search", &ann, &json!({ "query": query }));
        match number {
            9 => assert_eq!(status, 400, "{query:?}: {answer}"),
            number => {
                assert_eq!(status, 200, "{query:?}: {answer}");
                let messages = answer["messages"].as_array().expect("a list");
                assert_eq!(messages.len(), number, "{query:?}: {answer}");
            }
        }
    }
    let long = "w".repeat(201);
    assert_eq!(
        server.call("search", &ann, &json!({ "query": long })).0,
        400
    );
    assert_eq!(found(&server, &ben, "secret").len(), 1);
}

#[test]
fn a_search_is_paged_and_may_name_a_room() {
    let (_folder, server) = Server::fresh(SHORT);
    let ann = server.register("ann", "lobby");
    server.say(&ann, numbered("word", 0..9));
    let attic = json!({ "username": "ann", "room": "attic" });
    server.done("login", &ann, &attic);
    let elsewhere = json!({ "room_id": "room_2", "message": "word elsewhere" });
    server.done("send_message", &ann, &elsewhere);
    let mut texts = Vec::new();
    let mut before = json!(null);
    loop {
        let query = json!({ "query": "word", "room_id": "room_1", "limit": 4, "before": before });
        let page = server.done("search", &ann, &query);
        texts.extend(texts_of(&page));
        if page["more"] == false {
            break;
        }
        before = page["before"].clone();
    }
    let mut expected = numbered("word", 0..9);
    expected.reverse();
    assert_eq!(texts, expected);
    assert_eq!(found(&server, &ann, "word")[0], "word elsewhere");
    // A place is for the reader that it was given to, and shows nothing of the journal.
    let ben = server.register("ben", "lobby");
    assert!(before.as_str().is_some_and(|place| place.len() == 22));
    for place in [before, json!("AAAAAAAAAAAAAAAAAAAAAA"), json!(7)] {
        let query = json!({ "query": "word", "before": place });
        assert_eq!(server.call("search", &ben, &query).0, 400, "{query}");
    }
    let none = server.done("search", &ben, &json!({ "query": "word" }));
    assert_eq!(none["messages"], json!([]));
    let users = server.done("list_users", &ben, &json!({ "room_id": "room_1" }));
    let joined = &users["users"][1];
    assert_eq!(joined["display_name"], "ben");
    assert_eq!(none["since"], joined["since"], "{users}");
}

#[test]
fn the_oldest_messages_go_when_there_are_too_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = [SHORT, &["--history-messages", "5"]].concat();
    let server = Server::on(folder.path(), &words);
    let ann = server.register("ann", "lobby");
    server.say(&ann, numbered("word", 0..30));
    if history_of(folder.path()).is_some() {
        // The limit is that of the file; the copy keeps all.
        assert_eq!(server.history(&ann, "room_1", 3), numbered("word", 0..30));
        return;
    }
    assert_eq!(server.history(&ann, "room_1", 3), numbered("word", 25..30));
    assert_eq!(found(&server, &ann, "word").len(), 5);
    assert!(found(&server, &ann, "3").is_empty());
    assert_eq!(server.stop(), Some(0));
    let bytes = fs::read(folder.path().join("history.db")).expect("there is one");
    let has = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(
        has("word 27") && !has("word 7"),
        "what is deleted is overwritten"
    );
}

#[test]
fn where_records_are_gone_the_history_has_what_a_snapshot_held() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let server = Server::on(folder.path(), SHORT);
    let ann = server.register("ann", "lobby");
    let ben = server.register("ben", "lobby");
    let cat = server.register("cat", "lobby");
    server.say(&ann, numbered("early", 0..5));
    assert_eq!(server.stop(), Some(0));
    fs::copy(path("history.db"), path("older.db")).expect("there is one");
    let server = Server::on(folder.path(), SHORT);
    let room = json!({ "room_id": "room_1" });
    server.done("leave_chat", &ben, &room);
    server.done("leave_chat", &cat, &room);
    server.say(&ann, numbered("gone", 0..5));
    server.done(
        "login",
        &cat,
        &json!({ "username": "cat", "room": "lobby" }),
    );
    server.say(&ann, numbered("kept", 0..2));
    // A read waits until the copy has all.
    assert_eq!(server.history(&ann, "room_1", 50).len(), 12);
    assert_eq!(server.stop(), Some(0));
    // Only the newest snapshot is left of the journal, and the history is from before.
    let journal = rusqlite::Connection::open(path("journal.db")).expect("a database");
    journal
        .execute("DELETE FROM journal", [])
        .expect("it can be written");
    drop(journal);
    let mut snapshots: Vec<(u64, _)> = fs::read_dir(folder.path())
        .expect("the folder")
        .filter_map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name()?.to_str()?.to_owned();
            Some((name.strip_prefix("snapshot-")?.parse().ok()?, path))
        })
        .collect();
    snapshots.sort();
    snapshots.pop().expect("that of the last stop");
    for (_, older) in snapshots {
        fs::remove_file(older).expect("it is there");
    }
    fs::rename(path("older.db"), path("history.db")).expect("there is one");
    let server = Server::on(folder.path(), SHORT);
    server.say(&ann, numbered("new", 0..4));
    let early = numbered("early", 0..5);
    let mut late = [numbered("kept", 0..2), numbered("new", 0..4)].concat();
    if history_of(folder.path()).is_some() {
        // The copy has what the file lost, for those who were there.
        let gone = numbered("gone", 0..5);
        let all = [&early[..], &gone, &late].concat();
        assert_eq!(server.history(&ann, "room_1", 3), all);
        assert_eq!(server.history(&ben, "room_1", 3), early);
        late.splice(0..0, early);
        assert_eq!(server.history(&cat, "room_1", 3), late);
        return;
    }
    let all = [&early[..], &late[..]].concat();
    assert_eq!(server.history(&ann, "room_1", 3), all);
    assert_eq!(server.history(&cat, "room_1", 3), all);
    assert_eq!(server.history(&ben, "room_1", 3), early);
    assert!(found(&server, &ben, "kept").is_empty());
    assert_eq!(found(&server, &cat, "new").len(), 4);
}

#[test]
fn a_history_that_cannot_be_written_delays_no_message_and_catches_up() {
    let (folder, server) = Server::fresh(SHORT);
    let ann = server.register("ann", "lobby");
    server.say(&ann, numbered("word", 0..4));
    assert_eq!(server.history(&ann, "room_1", 50).len(), 4);
    let lock = rusqlite::Connection::open(folder.path().join("history.db")).expect("a database");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("no other program writes now");
    server.say(&ann, numbered("word", 4..20));
    let room = json!({ "room_id": "room_1" });
    let page = server.done("history", &ann, &room);
    assert_eq!(
        texts_of(&page),
        numbered("word", 18..20),
        "the room's own part"
    );
    assert_eq!(page["more"], true);
    let (status, answer) = server.call("search", &ann, &json!({ "query": "word" }));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("overloaded"))
    );
    lock.execute_batch("ROLLBACK").expect("it is open");
    // Each of these reads waits for the history itself.
    while server.done("history", &ann, &room)["messages"]
        .as_array()
        .map(Vec::len)
        != Some(20)
    {}
    assert_eq!(server.history(&ann, "room_1", 7), numbered("word", 0..20));
    assert_eq!(found(&server, &ann, "word").len(), 20);
}
