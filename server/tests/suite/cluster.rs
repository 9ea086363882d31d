//! Three members on three NATS servers, as processes. `cargo xtask test --only cluster` installs the
//! servers, and `cargo xtask cluster` plays more rounds of what goes wrong.

mod away;
#[cfg(feature = "postgres")]
mod copies;
mod draw;
mod election;
mod far;
mod fault;
mod kept;
mod log_judge;
mod logs;
mod lost;
mod members;
mod monitoring;
mod nemesis;
mod network;
mod operating;
mod proxy;
mod realms;
#[path = "../../nats/tests/shared/servers.rs"]
mod servers;
mod simulated;
mod stores;
mod talkers;
mod tally;
mod upgrade;
mod versions;

use std::sync::{Arc, Mutex, Weak};

use crate::process::Connection;
use members::Members;
use proxy::{Flow, Way};
use serde_json::{Value, json};

/// Three members that no test harms, which end with the last test that has them.
fn shared() -> Arc<Members> {
    static SHARED: Mutex<Weak<Members>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().expect("no test panics here");
    shared.upgrade().unwrap_or_else(|| {
        let members = Arc::new(Members::start());
        *shared = Arc::downgrade(&members);
        members
    })
}

fn done(connection: &mut Connection, path: &str, handle: &str, body: &Value) -> Value {
    let (status, answer) = connection.post(path, handle, body).expect("an answer");
    assert_eq!(status, 200, "{path} {body}: {answer}");
    answer
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_handle_of_one_door_is_valid_at_each_and_all_members_have_one_state() {
    let members = shared();
    let mut doors: Vec<_> = (0..3).map(|number| members.connect(number)).collect();
    let ada = doors[0].register("Ada", "one");
    let bo = doors[1].register("Bo", "one");
    for (number, door) in doors.iter_mut().enumerate() {
        let text = json!({ "message": format!("by door {number}") });
        done(door, "/send", &ada, &text);
    }
    for door in &mut doors {
        let page = done(door, "/tools/history", &bo, &json!({}));
        let messages = page["messages"].as_array().expect("a page");
        let texts: Vec<_> = messages.iter().map(|message| &message["message"]).collect();
        assert_eq!(texts, ["by door 0", "by door 1", "by door 2"]);
    }
    let states = members.agreed();
    let owners: Vec<_> = states
        .iter()
        .filter(|state| state["role"] == "owner")
        .collect();
    assert_eq!(owners.len(), 1, "{states:?}");
    let epoch = &states[0]["epoch"];
    assert!(
        states.iter().all(|state| state["epoch"] == *epoch),
        "{states:?}"
    );
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_stream_at_any_door_carries_what_is_said_at_any_other() {
    let members = shared();
    let mut doors: Vec<_> = (0..3).map(|number| members.connect(number)).collect();
    let ada = doors[0].register("Cy", "two");
    let bo = doors[0].register("Di", "two");
    let streams: Vec<_> = (0..3).map(|number| members.stream(number, &bo)).collect();
    for (mut stream, number) in streams.into_iter().zip(0..) {
        let text = format!("for the stream of door {number}");
        done(&mut doors[2], "/send", &ada, &json!({ "message": text }));
        stream.read_to(&text);
    }
    // A check that waits at one door ends with what is said at another.
    let waiting = std::thread::spawn({
        let mut door = members.connect(1);
        let bo = bo.clone();
        move || {
            let all = json!({ "wait_seconds": 20 });
            loop {
                let page = done(&mut door, "/tools/check", &bo, &all);
                if page.to_string().contains("for the check") {
                    return;
                }
            }
        }
    });
    let text = json!({ "message": "for the check" });
    done(&mut doors[0], "/send", &ada, &text);
    waiting.join().expect("the check ends");
}

/// The members go on, and the streams of MCP clients at them, too.
#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_subscription_at_any_door_goes_on_when_the_owner_changes() {
    let members = Members::start_on(1, 2);
    let mut door = members.connect(0);
    let bo = door.register("Bo", "lobby");
    let login = json!({ "username": "Ada", "room": "lobby" });
    let ada = done(&mut door, "/tools/login", "", &login);
    let text = |key: &str| ada[key].as_str().expect("a text").to_owned();
    let (handle, inbox) = (text("handle"), text("inbox_uri"));
    // All events so far are read, so that none is pushed before the owner changes.
    done(&mut door, "/tools/check", &handle, &json!({}));
    let doors = 0..members.count();
    let streams: Vec<_> = doors
        .map(|number| members.subscription(number, &handle, &inbox))
        .collect();
    let owner = members.owner();
    let resigned = members.command("resign");
    assert_eq!(resigned.status.code(), Some(0), "{resigned:?}");
    assert_ne!(members.owner(), owner);
    done(&mut door, "/send", &bo, &json!({ "message": "hello" }));
    for mut stream in streams {
        stream.read_to("notifications/resources/updated");
    }
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_repeated_call_has_one_effect_whichever_doors_it_reaches() {
    let members = shared();
    let mut doors: Vec<_> = (0..3).map(|number| members.connect(number)).collect();
    let ada = doors[0].register("Ed", "three");
    let body = json!({ "message": "once", "request_key": "k1" });
    let mut ids: Vec<_> = doors
        .iter_mut()
        .map(|door| done(door, "/send", &ada, &body)["message_id"].clone())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_member_that_stops_ends_the_streams_that_it_reads_from_the_owner() {
    let mut members = Members::start_on(1, 2);
    let owner = members.owner();
    let other = 1 - owner;
    let ada = members.connect(owner).register("Ada", "lobby");
    let mut stream = members.stream(other, &ada);
    members.stop(other);
    // A stream that is cut has no last event.
    stream.read_to("server.closing");
}

/// Its client has given it up, and repeated it at another door. Since then, more keys came than are
/// remembered, so that nothing else would keep it from a second effect.
#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_call_that_waited_in_a_paused_member_has_no_effect() {
    let members = Members::start_on(1, 2);
    let owner = members.owner();
    let other = 1 - owner;
    let ada = members.connect(other).register("Ada", "lobby");
    members.signal(owner, "STOP");
    let late = json!({ "message": "late", "request_key": "late" });
    let mut given_up = members.connect(owner);
    assert!(given_up.send("POST /send", &[("Chat-Handle", &ada)], &late.to_string()));
    let mut door = members.connect(other);
    done(&mut door, "/send", &ada, &late);
    for number in 0..150 {
        let key = format!("key {number}");
        let body = json!({ "message": key, "request_key": key });
        done(&mut door, "/send", &ada, &body);
    }
    members.signal(owner, "CONT");
    let head = given_up.head().expect("it is answered");
    assert!(head[0].contains("503"), "{head:?}");
    let said = talkers::texts(&mut door, &ada);
    let times = said.iter().filter(|text| *text == "late").count();
    assert_eq!((said.len(), times), (151, 1));
}

/// Two of three replicas have lost it: a NATS server that was stopped in the proper way does not check
/// its records at its start. A member that starts reads the log from one of them, and the
/// record from the third.
#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_record_that_a_replica_has_damaged_is_alarmed_and_read_from_another() {
    let mut members = Members::start_on(3, 2);
    let owner = members.owner();
    let other = 1 - owner;
    let ada = members.connect(owner).register("Ada", "lobby");
    let mut texts = Vec::new();
    for number in 0..40 {
        let text = format!("a text to find, number {number:03}");
        let body = json!({ "message": text });
        done(&mut members.connect(owner), "/send", &ada, &body);
        texts.push(text);
    }
    for server in 0..2 {
        monitoring::whole(&members.servers);
        members.servers.stop(server);
        stores::flip_bit_of(&members.servers.store(server), &texts[20]);
        members.servers.start_again(server);
    }
    monitoring::whole(&members.servers);
    // One of the two leads the log now.
    members.servers.kill(2);
    monitoring::leader(&members.servers, Some(2));
    members.servers.start_again(2);
    monitoring::whole(&members.servers);
    // The server that a member reads from is any of them.
    let until = std::time::Instant::now() + crate::process::PATIENCE;
    while members.alarms() == 0 {
        assert!(
            std::time::Instant::now() < until,
            "no member finds the damage"
        );
        members.kill(other);
        members.start_again(other);
        members.agreed();
    }
    for door in 0..members.count() {
        assert_eq!(talkers::texts(&mut members.connect(door), &ada), texts);
    }
}

/// The network holds the call back, and carries it when the cut heals, after more keys came than are
/// remembered.
#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_call_that_was_held_back_on_its_way_to_the_owner_has_no_effect() {
    let members = Members::start_on(1, 2);
    let owner = members.owner();
    let other = 1 - owner;
    let ada = members.connect(other).register("Ada", "lobby");
    members.network.set_links(other, Way::There, Flow::Cut);
    let late = json!({ "message": "late", "request_key": "late" });
    let mut given_up = members.connect(other);
    assert!(given_up.send("POST /send", &[("Chat-Handle", &ada)], &late.to_string()));
    let given_up = std::thread::spawn(move || given_up.head().expect("it is answered"));
    let mut door = members.connect(owner);
    done(&mut door, "/send", &ada, &late);
    let mut said = 1;
    while said <= 150 || !given_up.is_finished() {
        let key = format!("key {said}");
        let body = json!({ "message": key, "request_key": key });
        done(&mut door, "/send", &ada, &body);
        said += 1;
    }
    let head = given_up.join().expect("it is answered");
    assert!(head[0].contains("503"), "{head:?}");
    members.network.heal();
    // The member reaches the owner again.
    let body = json!({ "message": "last", "request_key": "last" });
    done(&mut members.connect(other), "/send", &ada, &body);
    let texts = talkers::texts(&mut door, &ada);
    let times = texts.iter().filter(|text| *text == "late").count();
    assert_eq!((texts.len(), times), (said + 1, 1));
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn a_call_that_no_member_can_take_is_refused_in_the_end() {
    let mut members = Members::start_on(1, 2);
    let other = 1 - members.owner();
    let mut door = members.connect(other);
    let ada = door.register("Ada", "lobby");
    members.servers.kill(0);
    let body = json!({ "message": "hello", "request_key": "key" });
    let (status, answer) = door.post("/send", &ada, &body).expect("an answer");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("storage_unavailable"))
    );
    // The member does not know what became of the key at others.
    assert_eq!(answer["error"]["earlier_attempt"], "unknown");
    members.servers.start_again(0);
    done(&mut door, "/send", &ada, &body);
    assert_eq!(talkers::texts(&mut door, &ada), ["hello"]);
}
