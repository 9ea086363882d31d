//! A server that is killed under load, again and again: each accepted message is there once, in
//! order, and every handle is valid.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

#[cfg(target_os = "linux")]
use crate::disk::Trouble;
use crate::durable::client::rounds;
use crate::durable::trouble::{new_disk, server_on, wait_until_known};
use crate::process::Server;

/// The number of times that the server is killed.
const ROUNDS: usize = 10;

/// The number of concurrent talkers, all in one room.
const TALKERS: usize = 4;

/// A talker: its handle, and the messages that the server accepted from it.
struct Talker {
    handle: String,
    accepted: Vec<String>,
}

/// Sends one message after another until the connection to the server breaks. A message that is
/// refused for the disk is not sent again.
fn talk(server: &Server, talker: &mut Talker, round: usize, answers: &AtomicUsize) {
    let mut connection = server.connect();
    for number in 0.. {
        let text = format!("round {round} message {number} of {}", &talker.handle[..8]);
        let body = json!({ "message": text });
        let Some((status, answer)) = connection.post("/send", &talker.handle, &body) else {
            return;
        };
        if status == 200 {
            talker.accepted.push(text);
        } else {
            assert_eq!(answer["error"]["code"], "storage_unavailable", "{answer}");
        }
        answers.fetch_add(1, Ordering::Relaxed);
    }
}

/// Kills the server in each round, while all talk and once `until` returns; `start` starts it.
fn killed(folder: &Path, start: impl Fn() -> Server, until: impl Fn(&Server, usize, &AtomicUsize)) {
    let rounds = rounds(ROUNDS);
    let mut server = start();
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
    for round in 0..rounds {
        let answers = AtomicUsize::new(0);
        thread::scope(|scope| {
            for talker in &mut talkers {
                let (server, answers) = (&server, &answers);
                scope.spawn(move || talk(server, talker, round, answers));
            }
            until(&server, round, &answers);
            server.kill();
        });
        server = start();
        (heard, after) = server.inbox(&reader, heard, after);
    }
    server.kill();
    let server = Server::on(folder, &[]);
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
        assert!(own.len() <= talker.accepted.len() + rounds);
    }
}

/// Waits for this many answers.
fn answered(answers: &AtomicUsize, least: usize) {
    while answers.load(Ordering::Relaxed) < least {
        thread::yield_now();
    }
}

#[test]
fn what_was_accepted_outlives_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = || Server::on(folder.path(), &[]);
    // Each round kills the server after a different number of messages, at any point of the
    // writer's work.
    killed(folder.path(), start, |_, round, answers| {
        answered(answers, 20 + 13 * round % 150);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_accepted_outlives_a_disk_in_trouble_and_a_kill() {
    let (_folder, disk) = new_disk();
    let start = || {
        disk.set(Trouble::Gone);
        server_on(&disk)
    };
    killed(disk.folder(), start, |server, round, answers| {
        answered(answers, 20 + 7 * round % 60);
        let trouble = match round % 4 {
            0 => Trouble::Full,
            1 => Trouble::ReadOnly,
            2 => Trouble::FailingWrites,
            _ => Trouble::FailingSyncs,
        };
        disk.set(trouble);
        wait_until_known(server, trouble);
        // Every other round, the disk heals before the kill.
        if round / 4 % 2 == 0 {
            disk.set(Trouble::Gone);
            answered(answers, answers.load(Ordering::Relaxed) + 20 + round % 40);
        }
    });
}
