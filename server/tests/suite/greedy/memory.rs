//! Requests that cost the server more than they cost their sender.

use serde_json::{Value, json};

use crate::greedy::server::{modern, start};
use crate::process::{Answer, Connection, Server};
use crate::stage::hello;

/// The number of requests an attacker sends.
const REQUESTS: usize = 60;

/// The most memory that one of them may cost the server while the request is processed or its
/// session exists: its connection has read buffers, and its session has queues.
const MOST_EACH: u64 = 512 * 1_024;

/// As many JSON values as fit into a request of this size: parsers allocate most for these.
fn dense(bytes: usize) -> Value {
    Value::Array(vec![json!([]); bytes / 3])
}

/// A request with the most values and the most bytes that are allowed.
fn largest() -> Value {
    let mut list = vec![json!({ "": [] }); 480];
    list.push("x".repeat(120_000).into());
    Value::Array(list)
}

/// Another client is served, whatever the attacker does.
fn serves(server: &Server) {
    let mut other = server.connect();
    let handle = other.register("Other", "lobby");
    let said = other.call("/send", &handle, &json!({ "message": "hello" }));
    assert_eq!(said.status, 200, "{}", said.body);
    let left = other.call("/unregister", &handle, &json!({}));
    assert_eq!(left.status, 200, "{}", left.body);
}

/// Sends a request on many connections, all of which stay open, and returns the growth of the
/// server's memory. The server must neither close nor refuse any of them.
fn growth(server: &Server, send: impl Fn(&mut Connection)) -> u64 {
    // One-time allocations are made by now.
    serves(server);
    let before = server.resident();
    let mut held: Vec<Connection> = Vec::new();
    for _ in 0..REQUESTS {
        let mut connection = server.connect();
        send(&mut connection);
        held.push(connection);
    }
    serves(server);
    let grown = server.resident().saturating_sub(before);
    drop(held);
    grown
}

const FREE: [&str; 6] = [
    "--limit",
    "rate_limit=none",
    "--limit",
    "stick=optional",
    "--memory-limit",
    "512MiB",
];

const LISTEN: [(&str, &str); 2] = [
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "subscriptions/listen"),
];

const CHECK: [(&str, &str); 3] = [
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "check"),
];

#[test]
fn what_is_parsed_is_bounded_before_it_is_parsed() {
    let server = start(&FREE);
    let serve = |body: &str, headers: &[(&str, &str)]| {
        let refused = server.connect().mcp(headers, body);
        refused.refuses(413, "body_too_large");
    };
    for junk in [dense(1 << 20), dense(100_000), "x".repeat(1 << 20).into()] {
        let experimental = json!({ "experimental": { "x": junk } });
        serve(&hello("2025-11-25", &experimental).to_string(), &[]);
        let none = json!({ "notifications": {} });
        serve(&modern("subscriptions/listen", none, junk.clone()), &LISTEN);
        let check = json!({ "name": "check", "arguments": {} });
        serve(&modern("tools/call", check, junk), &CHECK);
    }
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let refused = server.connect().mcp(&[], &deep);
    refused.refuses(400, "invalid_arguments");
    serves(&server);
}

#[test]
fn a_session_keeps_no_experimental_capabilities() {
    let server = start(&FREE);
    let experimental = json!({ "experimental": { "x": largest() } });
    let hello = hello("2025-11-25", &experimental).to_string();
    let grown = growth(&server, |attacker| {
        let answer = attacker.mcp(&[], &hello);
        assert_eq!(answer.status, 200, "{}", answer.body);
    });
    assert_eq!(
        server.figure("held{resource=\"sessions\"}"),
        REQUESTS as u64
    );
    assert!(grown < REQUESTS as u64 * MOST_EACH, "{grown}");
}

#[test]
fn no_call_waits_for_a_huge_page() {
    let server = start(&FREE);
    assert_eq!(server.status("THP_enabled:"), 0);
}

#[test]
fn a_session_keeps_no_long_addresses() {
    let server = start(&FREE);
    let who = json!({ "username": "Ann" });
    let ann = server.connect().call("/register", "", &who).json();
    let inbox = format!("chat://inbox/{}?after=", ann["reader_id"].as_str().unwrap());
    let mut attacker = server.connect();
    let opened = attacker.initialize();
    let session = [("Mcp-Session-Id", opened.session())];
    let mut subscribes = |after: &str| {
        let params = json!({ "uri": format!("{inbox}{after}") });
        let subscribe = json!({
            "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": params
        });
        let answer = attacker.mcp(&session, &subscribe.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        attacker.chunks().expect("the stream ends")
    };
    let kept = subscribes("0");
    assert!(kept.contains("\"result\""), "{kept}");
    let refused = subscribes(&"0".repeat(100_000));
    assert!(refused.contains("\"code\":-32002"), "{:.200}", refused);
}

#[test]
fn a_stream_keeps_nothing_of_what_nobody_reads() {
    let server = start(&FREE);
    let listen = modern(
        "subscriptions/listen",
        json!({ "notifications": {} }),
        largest(),
    );
    let grown = growth(&server, |attacker| {
        let answer = attacker.mcp(&LISTEN, &listen);
        assert_eq!(answer.status, 200, "{}", answer.body);
    });
    assert!(grown < REQUESTS as u64 * MOST_EACH, "{grown}");
    // The permits of a request are returned when its stream ends.
    server.until("held{resource=\"streams\"}", |held| held == 0);
    server.until("held{resource=\"request_bytes\"}", |held| held == 0);
}

#[test]
fn a_check_that_waits_keeps_nothing_of_what_nobody_reads() {
    let server = start(&FREE);
    let mut names = 0..;
    let checks: Vec<_> = std::iter::repeat_with(|| {
        let name = format!("Waiter {}", names.next().unwrap());
        let mut connection = server.connect();
        let handle = connection.register(&name, "lobby");
        // The participant is alone in a room, so that nothing wakes its check.
        connection.call("/tools/leave_chat", &handle, &json!({}));
        connection.call("/check_event", &handle, &json!({ "delay": 0 }));
        let arguments = json!({ "wait_seconds": 50, "handle": handle });
        let params = json!({ "name": "check", "arguments": arguments });
        modern("tools/call", params, largest())
    })
    .take(REQUESTS)
    .collect();
    let next = std::cell::Cell::new(0);
    let grown = growth(&server, |attacker| {
        attacker.send_mcp(&CHECK, &checks[next.replace(next.get() + 1)]);
        server.until("waiting_checks", |waiting| waiting == next.get() as u64);
    });
    assert!(grown < REQUESTS as u64 * MOST_EACH, "{grown}");
    server.until("held{resource=\"request_bytes\"}", |held| held == 0);
}

/// Limits that are soon reached.
const LITTLE: [&str; 6] = [
    "--memory-limit",
    "64MiB",
    "--limit",
    "rate_limit=none",
    "--limit",
    "stick=optional",
];

/// The most resident memory: the limit, an eighth of it for texts, and what arrives between two
/// samples.
const MOST: u64 = 96 << 20;

/// The longest text that does not make its request a large one.
fn long() -> Value {
    json!({ "message": "😀".repeat(3_500) })
}

/// The number of participants that fill rooms, the rooms of each, and the messages that a room
/// keeps.
const TALKERS: usize = 4;
const ROOMS: usize = 16;
const KEPT: usize = 200;

/// Fills rooms with texts until one is refused, and returns the refusal.
fn fill(server: &Server) -> Answer {
    let mut talkers = Vec::new();
    for n in 0..TALKERS {
        let mut talker = server.connect();
        let handle = talker.register(&format!("Talker {n}"), "lobby");
        for room in 1..ROOMS {
            let who = json!({ "username": format!("Talker {n}"), "room": format!("{n} {room}") });
            let joined = talker.call("/tools/login", &handle, &who);
            assert_eq!(joined.status, 200, "{}", joined.body);
            talkers.push((n, handle.clone(), joined.json()["room_id"].clone()));
        }
    }
    for (n, handle, room) in talkers {
        let (mut talker, mut said) = (server.connect(), long());
        said["room_id"] = room;
        for _ in 0..KEPT {
            let answer = talker.call("/send", &handle, &said);
            if answer.status != 200 {
                return answer;
            }
        }
        let resident = server.resident();
        assert!(resident < MOST, "{resident} bytes by talker {n}");
    }
    panic!("nothing was refused");
}

#[test]
fn above_the_limit_of_memory_nothing_is_taken_and_what_is_there_goes_on() {
    let server = start(&LITTLE);
    let mut ann = server.connect();
    let handle = ann.register("Ann", "lobby");
    let mut ben = server.connect();
    let reads = ben.register("Ben", "lobby");
    let refused = fill(&server);
    refused.refuses(503, "overloaded");
    assert!(refused.body.contains("memory"), "{}", refused.body);
    assert!(refused.json()["error"]["retry_after_ms"].is_u64());
    assert!(server.figure("process_resident_memory_bytes") > server.figure("memory_limit_bytes"));
    for (path, body) in [
        ("/register", json!({ "username": "Cid" })),
        ("/tools/enter_queue", json!({})),
    ] {
        let answer = server.connect().call(path, "", &body);
        answer.refuses(503, "overloaded");
    }
    let session = server.connect().initialize();
    session.refuses(503, "overloaded");
    assert!(session.json()["error"]["data"]["error"]["retry_after_ms"].is_u64());
    let stream = [("Chat-Handle", &*handle)];
    let answer = server.connect().exchange("GET /events", &stream, "");
    let answer = answer.expect("it is answered");
    answer.refuses(503, "overloaded");
    for (path, body) in [
        ("/tools/history", json!({ "room_id": "room_1" })),
        ("/send", json!({ "message": "x" })),
        ("/tools/append", json!({ "text": "x" })),
    ] {
        let answer = ann.call(path, &handle, &body);
        answer.refuses(503, "overloaded");
    }
    let answered = [
        "/reconnect",
        "/check_event",
        "/tools/talking_stick",
        "/unregister",
    ];
    for path in answered {
        let read = ben.call(path, &reads, &json!({}));
        assert_eq!(read.status, 200, "{path} {}", read.body);
    }
    assert!(server.figure("memory_refused_total") >= 3);
    assert!(server.resident() < MOST, "{}", server.resident());
}
