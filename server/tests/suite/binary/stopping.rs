//! The shutdown of the binary.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use serde_json::{Value, json};

use crate::binary::program::events;
use crate::process::{Connection, PATIENCE, Server};

/// The message ids in these events.
fn messages(events: &[(String, Value)]) -> BTreeSet<String> {
    let messages = events.iter().filter(|(kind, _)| kind == "message.received");
    messages.map(|(_, data)| id(data)).collect()
}

fn id(message: &Value) -> String {
    message["message_id"].as_str().expect("an id").into()
}

/// Sends messages until one is refused or the connection ends, and returns the ids of the accepted
/// ones.
fn talk(mut connection: Connection, handle: &str, accepted: &AtomicUsize) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    while let Some((status, answer)) =
        connection.post("/send", handle, &json!({ "message": "hello" }))
    {
        if status != 200 {
            assert_eq!(answer["error"]["code"], "shutting_down");
            break;
        }
        assert!(ids.insert(id(&answer)), "an id was given twice");
        accepted.fetch_add(1, Ordering::Relaxed);
    }
    ids
}

/// Enough messages for the stop to arrive between two of them.
const ENOUGH: usize = 2_000;

/// The number of participants whose `check_event` waits.
const WAITERS: usize = 16;

const UNBOUND: [&str; 8] = [
    "--limit",
    "rate_limit=none",
    "--limit",
    "stick=optional",
    "--limit",
    "inbox_limit=65536",
    "--log-level",
    "warn",
];

#[test]
fn kill_under_load_loses_nothing_that_was_accepted() {
    let server = Server::start(&UNBOUND);
    let accepted = Arc::new(AtomicUsize::new(0));
    let readers: Vec<_> = (0..4)
        .map(|n| server.register(&format!("Reader {n}"), "lobby"))
        .map(|handle| events(server.connect(), &handle))
        .collect();
    for (open, _) in &readers {
        open.recv_timeout(PATIENCE).expect("the stream opens");
    }
    let talkers: Vec<_> = (0..4)
        .map(|n| {
            let handle = server.register(&format!("Talker {n}"), "lobby");
            let connection = server.connect();
            let accepted = Arc::clone(&accepted);
            thread::spawn(move || talk(connection, &handle, &accepted))
        })
        .collect();
    let (waiters, go) = waiters(&server);
    while server.figure("waiting_checks") < WAITERS as u64 {
        thread::yield_now();
    }
    while accepted.load(Ordering::Relaxed) < ENOUGH {
        thread::yield_now();
    }
    // In each quiet room one participant speaks around the time of the signal: before it, after it,
    // or never.
    drop(go);
    server.signal("TERM");

    let said: BTreeSet<_> = talkers
        .into_iter()
        .flat_map(|one| one.join().unwrap())
        .collect();
    assert!(said.len() >= ENOUGH);
    for (_, reading) in readers {
        let events = reading.join().unwrap();
        let heard = messages(&events);
        let lost: Vec<_> = said.difference(&heard).collect();
        assert!(lost.is_empty(), "{} of {} lost", lost.len(), said.len());
        let (last, _) = events.last().expect("there was an end");
        assert_eq!(last, "server.closing");
    }
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert_eq!(server.exit_code(), Some(0));
}

/// Each waiter has a room of its own, with one participant who waits in a check and one who speaks
/// when `go` is dropped. An accepted message must be in the answer of the check.
fn waiters(server: &Server) -> (Vec<thread::JoinHandle<()>>, Sender<()>) {
    let (go, gone) = channel::<()>();
    let gone = Arc::new(std::sync::Mutex::new(gone));
    let waiters = (0..WAITERS).map(|n| {
        let room = format!("quiet-{n}");
        let waiter = server.register(&format!("Waiter {n}"), &room);
        let speaker = server.register(&format!("Speaker {n}"), &room);
        let (mut waits, mut speaks) = (server.connect(), server.connect());
        // This read empties the inbox, so that the next check waits.
        let answer = waits.post("/check_event", &waiter, &json!({ "delay": 0 }));
        let (_, before) = answer.expect("it is answered");
        let after = before["cursor"].clone();
        let gone = Arc::clone(&gone);
        thread::spawn(move || {
            let checks = thread::spawn(move || {
                let body = json!({ "wait_seconds": 50, "after": after });
                waits.post("/tools/check", &waiter, &body)
            });
            // Dropping `go` releases all speakers at once.
            let _ = gone.lock().expect("nobody panics with it").recv();
            let said = speaks.post("/send", &speaker, &json!({ "message": "the last word" }));
            let (status, checked) = checks
                .join()
                .expect("nobody panics")
                .expect("a waiting check is answered");
            match said {
                Some((200, said)) => {
                    assert_eq!(status, 200, "{checked}");
                    let events = checked["events"].as_array().expect("events");
                    assert!(
                        events
                            .iter()
                            .any(|event| event["message_id"] == said["message_id"]),
                        "accepted, and not in {checked}"
                    );
                }
                Some((status, refusal)) => assert_eq!(status, 503, "{refusal}"),
                None => {}
            }
        })
    });
    (waiters.collect(), go)
}

#[test]
fn an_interrupt_is_a_stop_too() {
    let server = Server::start(&["--log-level", "warn"]);
    server.signal("INT");
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn a_second_signal_does_not_wait() {
    let mut server = Server::start(&["--grace", "10m"]);
    // The server waits for the rest of a request that has arrived in part.
    let mut half = server.connect();
    assert!(half.write(
        b"POST /register HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    ));
    assert!(half.head().expect("it is asked to go on")[0].contains("100"));
    let log = server.log.take().expect("a pipe");
    server.signal("TERM");
    let mut lines = log.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("stopping")));
    // Signals that belong to the first one have no effect.
    while server.is_running() {
        server.signal("TERM");
    }
    assert_eq!(server.exit_code(), Some(130));
}
