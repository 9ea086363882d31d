//! A server that is killed and restarted on its journal keeps everything it accepted.

mod client;
mod damage;
mod folder;
mod past;
mod upkeep;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use client::{Refused, Server};
use serde_json::json;

/// The number of times that the server is killed.
const ROUNDS: usize = 10;

/// The number of concurrent talkers, all in one room.
const TALKERS: usize = 4;

/// A talker: its handle, and the messages that the server accepted from it.
struct Talker {
    handle: String,
    accepted: Vec<String>,
}

/// Sends one message after another until the connection to the server breaks.
fn talk(server: &Server, talker: &mut Talker, round: usize, count: &AtomicUsize) {
    let mut connection = server.connect();
    for number in 0.. {
        let text = format!("round {round} message {number} of {}", &talker.handle[..8]);
        let body = json!({ "message": text });
        let Some((status, answer)) = connection.post("/send", &talker.handle, &body) else {
            return;
        };
        assert_eq!(status, 200, "{answer}");
        talker.accepted.push(text);
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn what_was_accepted_outlives_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path(), &[]);
    let names = (0..TALKERS).map(|number| format!("talker {number}"));
    let mut talkers: Vec<Talker> = names
        .map(|name| Talker {
            handle: server.register(&name, "lobby"),
            accepted: Vec::new(),
        })
        .collect();
    let reader = server.register("reader", "lobby");
    let mut heard = Vec::new();
    let mut after = 0;
    for round in 0..ROUNDS {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for talker in &mut talkers {
                let (server, count) = (&server, &count);
                scope.spawn(move || talk(server, talker, round, count));
            }
            // Each round kills the server after a different number of messages, at any point of the
            // writer's work.
            while count.load(Ordering::Relaxed) < 20 + 13 * round {
                thread::yield_now();
            }
            server.kill();
        });
        server = Server::start(folder.path(), &[]);
        (heard, after) = server.inbox(&reader, heard, after);
    }
    assert_eq!(
        server.history(&reader, "room_1", 90),
        heard,
        "the history has every message once, in order"
    );
    let mut seen = BTreeSet::new();
    for text in &heard {
        assert!(seen.insert(text), "heard twice: {text}");
    }
    for talker in &talkers {
        let own: Vec<&String> = heard
            .iter()
            .filter(|text| text.ends_with(&talker.handle[..8]))
            .collect();
        let mut rest = own.iter();
        for text in &talker.accepted {
            assert!(
                rest.any(|heard| *heard == text),
                "lost or out of order: {text}"
            );
        }
        // At most one message of each round was under way when the server was killed.
        assert!(own.len() <= talker.accepted.len() + ROUNDS);
    }
}

#[test]
fn a_clean_stop_leaves_a_snapshot_and_the_next_start_replays_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let ann = server.register("ann", "lobby");
    let sent = server
        .connect()
        .post("/send", &ann, &json!({ "message": "hello" }));
    assert_eq!(sent.map(|(status, _)| status), Some(200));
    assert_eq!(server.stop(), Some(0));
    assert_eq!(snapshots(folder.path()), 1);
    let server = Server::start(folder.path(), &[]);
    let (status, _) = server
        .connect()
        .post("/send", &ann, &json!({ "message": "again" }))
        .expect("it is answered");
    assert_eq!(status, 200);
    assert!(server.log().contains("replayed=0"));
}

fn snapshots(folder: &Path) -> usize {
    let names = fs::read_dir(folder).expect("the folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("snapshot-"))
        .count()
}

#[test]
fn a_second_server_is_refused_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let Refused { code, why } = Server::refused(folder.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(
        why.contains("is in use by process") && why.contains("--data"),
        "{why}"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_lost_end_is_refused_and_an_accepted_loss_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let ann = server.register("ann", "lobby");
    server.kill();
    // The WAL is missing, as after a disk that reported a write that it had not done.
    fs::remove_file(folder.path().join("journal.db-wal")).expect("there is one");
    let Refused { code, why } = Server::refused(folder.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(
        why.contains("lost") && why.contains("--accept-loss"),
        "{why}"
    );
    let server = Server::start(folder.path(), &["--accept-loss"]);
    let (status, _) = server
        .connect()
        .post("/send", &ann, &json!({ "message": "hello" }))
        .expect("it is answered");
    assert_eq!(status, 401, "nobody has this handle any more");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(Server::start(folder.path(), &[]).stop(), Some(0));
}
