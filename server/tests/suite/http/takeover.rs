//! A client that tries to take what belongs to another: an account, all places of a room, or the
//! streams of its members.

use std::net::Ipv4Addr;

use chat_core::Span;
use chat_core::config::{RateLimit, StickRule};
use serde_json::{Value, json};

use crate::http::admin::{done, operated};
use crate::http::client::{Answer, Client};
use crate::http::world::{Registered, Setup, World};
use crate::stage::within;

/// Another loopback address of this machine.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// A key like those that clients draw.
const KEY: &str = "kJ3v9QmX2hTz7pLw8RbYcA";

async fn elsewhere(world: &World) -> Client {
    Client::connect_from(ELSEWHERE, world.address).await
}

async fn register(client: &mut Client, name: &str, key: Option<&str>) -> Answer {
    let mut body = json!({ "username": name });
    if let Some(key) = key {
        body["request_key"] = key.into();
    }
    client.post("/register", None, &body).await
}

/// Registers as soon as there is a place.
async fn finds_place(client: &mut Client, name: &str) {
    within(async { while register(client, name, None).await.status != 200 {} }).await;
}

/// Uses the handle: the participant gives way to no other of its address any more.
async fn used(client: &mut Client, answer: &Value) {
    let handle = answer["handle"].as_str();
    let left = client.post("/tools/leave_queue", handle, &json!({})).await;
    assert_eq!(left.status, 200, "{}", left.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_was_lost_keeps_neither_a_name_nor_a_place() {
    let world = World::free(|setup| setup.config.max_per_address = 3).await;
    let mut ann = world.client().await;
    for name in ["Ann", "Ben", "Ann", "Cid", "Dan", "Eve", "Ann"] {
        let answer = register(&mut ann, name, None).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_s_key_and_name_give_no_access() {
    let world = World::start(Setup::free()).await;
    let (mut ann, mut eve) = (world.client().await, elsewhere(&world).await);
    let own = register(&mut ann, "Ann", Some(KEY)).await.json();
    let (handle, reader) = (own["handle"].as_str(), own["reader_id"].as_str());
    let (handle, reader) = (handle.expect("a handle"), reader.expect("a reader id"));
    let gives_nothing = |answer: &Answer, code: &str| {
        assert_eq!(answer.code(), code);
        let text = answer.text();
        assert!(!text.contains(handle) && !text.contains(reader), "{text}");
    };
    let stolen = register(&mut eve, "Ann", Some(KEY)).await;
    gives_nothing(&stolen, "name_taken");
    // Until the handle is used, its owner may ask for it again; after that it is refused to
    // everyone, from any address.
    let again = register(&mut ann, "Ann", Some(KEY)).await.json();
    assert_eq!(again["handle"], own["handle"]);
    for n in 0..130 {
        let body = json!({ "message": "x", "request_key": format!("key {n}") });
        let said = ann.post("/send", Some(handle), &body).await;
        assert_eq!(said.status, 200, "{}", said.text());
    }
    for (client, code) in [
        (&mut world.client().await, "handle_required"),
        (&mut eve, "name_taken"),
    ] {
        let stolen = register(client, "Ann", Some(KEY)).await;
        gives_nothing(&stolen, code);
    }
    let other = register(&mut eve, "Eve", Some(KEY)).await.json();
    assert_ne!(other["handle"], own["handle"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_registrations_are_no_oracle_without_end() {
    let world = World::start(Setup::default()).await;
    let (mut eve, mut ben) = (world.client().await, elsewhere(&world).await);
    let ann = register(&mut eve, "Ann", None).await.json();
    used(&mut eve, &ann).await;
    let mut codes = Vec::new();
    for n in 0..300 {
        let key = format!("{KEY}{n}");
        codes.push(register(&mut eve, "Ann", Some(&key)).await.code());
    }
    let told = codes.iter().filter(|code| *code == "name_taken").count();
    let limited = codes.iter().filter(|code| *code == "rate_limited").count();
    assert_eq!(told + limited, 300);
    assert!(limited > told, "{told} guesses were answered");
    assert_eq!(register(&mut ben, "Ben", None).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_members_do_not_keep_others_out_of_a_room() {
    let mut setup = Setup::free();
    setup.config.max_members = 4;
    setup.config.idle_timeout = Span::millis(1);
    let world = World::start(setup).await;
    for name in ["A", "B", "C"] {
        let mut squatter = world.register(name).await;
        // The account is used, so that the server keeps it; then it disconnects.
        squatter.post("/reconnect", json!({})).await;
    }
    let mut ann = elsewhere(&world).await;
    let there = register(&mut ann, "Ann", None).await;
    assert_eq!(there.status, 200, "{}", there.text());
    let handle = there.json()["handle"].as_str().expect("text").to_owned();
    let _there = world.events(&handle, None).await;
    let mut newcomer = elsewhere(&world).await;
    finds_place(&mut newcomer, "Newcomer").await;
    let room = there.json()["room_id"].clone();
    let room = json!({ "room_id": room });
    let users = ann.post("/tools/list_users", Some(&handle), &room).await;
    let users = users.json();
    let number = users["users"].as_array().map(Vec::len);
    assert_eq!(number, Some(4), "one that was away made place: {users}");
    assert!(users.to_string().contains("Newcomer") && users.to_string().contains("\"Ann\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_that_nobody_uses_are_forgotten() {
    let mut setup = Setup::free();
    setup.config.max_participants = 4;
    setup.config.unused_timeout = Span::millis(1);
    let world = World::start(setup).await;
    let mut eve = world.client().await;
    for n in 0..20 {
        finds_place(&mut eve, &format!("Squatter {n}")).await;
    }
    let mut ann = elsewhere(&world).await;
    finds_place(&mut ann, "Ann").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn participants_of_one_address_shut_out_no_other() {
    let world = World::free(|setup| setup.config.max_per_address = 3).await;
    let mut eve = world.client().await;
    for name in ["A", "B", "C"] {
        let answer = register(&mut eve, name, None).await;
        assert_eq!(answer.status, 200);
        used(&mut eve, &answer.json()).await;
    }
    let refused = register(&mut eve, "D", None).await;
    let told = (refused.status, refused.code());
    assert_eq!(told, (503, "address_full".into()));
    let mut ann = elsewhere(&world).await;
    assert_eq!(register(&mut ann, "Ann", None).await.status, 200);
}

async fn check(one: &mut Registered) -> Value {
    let after = json!({ "after": 0, "wait_seconds": 0 });
    one.post("/tools/check", after).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_noisy_room_pushes_out_no_message_of_a_quiet_one() {
    let world = World::free(|setup| setup.config.inbox_limit = 20).await;
    let (mut ann, mut cid) = (world.register("Ann").await, world.register("Cid").await);
    let quiet = json!({ "username": "Cid", "room": "quiet" });
    let quiet = cid.post("/tools/login", quiet).await.json();
    let mut ben = world.register("Ben").await;
    let joins = json!({ "username": "Ben", "room": "quiet" });
    ben.post("/tools/login", joins).await;
    let word = json!({ "message": "a word in a hundred", "room_id": quiet["room_id"] });
    assert_eq!(ben.post("/send", word).await.status, 200);
    for n in 0..100 {
        ann.say(&format!("noise {n}")).await;
    }
    let page = check(&mut cid).await;
    let heard = page.to_string();
    assert!(heard.contains("a word in a hundred"), "{heard}");
    assert!(heard.contains("\"gap\"") && heard.contains("noise 99"));
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_that_are_made_again_and_again_are_told_once() {
    let world = World::free(|setup| setup.config.stick = StickRule::Required).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    assert_eq!(ann.post("/talking_stick", json!({})).await.status, 200);
    for _ in 0..50 {
        assert_eq!(ben.post("/talking_stick", json!({})).await.status, 202);
        let reset = ben.post("/tools/reset", json!({})).await;
        assert_eq!(reset.status, 200, "{}", reset.text());
    }
    let page = check(&mut ann).await;
    let events = page["events"].as_array().expect("events");
    let claims = events.iter().filter(|one| one["type"] == "stick.claimed");
    assert_eq!(claims.count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn typing_costs_as_much_as_a_message() {
    let world = World::free(|setup| setup.config.rate_limit = RateLimit::rate(1, 10)).await;
    let mut ann = world.register("Ann").await;
    let mut statuses = Vec::new();
    for _ in 0..30 {
        statuses.push(ann.post("/tools/typing", json!({})).await.status);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_can_be_lifted() {
    let world = World::start(Setup::free()).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    let about = json!({ "user_id": ben.user });
    for (path, word) in [("/tools/block_user", "one"), ("/tools/unblock_user", "two")] {
        let done = ann.post(path, about.clone()).await;
        assert_eq!(done.status, 200, "{}", done.text());
        ben.say(word).await;
    }
    let heard = check(&mut ann).await.to_string();
    assert!(
        heard.contains("\"two\"") && !heard.contains("\"one\""),
        "{heard}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_banned_address_receives_no_more_events() {
    let world = operated().await;
    let mut eve = elsewhere(&world).await;
    let registered = register(&mut eve, "Eve", None).await.json();
    let (handle, reader) = (&registered["handle"], &registered["reader_id"]);
    let handle = handle.as_str().expect("a handle");
    let own = [("Chat-Handle", handle)];
    let mut hears = elsewhere(&world).await.events("/events", &own).await;
    let path = format!("/events?reader={}", reader.as_str().expect("a reader id"));
    let mut reads = elsewhere(&world).await.events(&path, &[]).await;
    let mut ann = world.register("Ann").await;
    let ban = json!({ "address": ELSEWHERE.to_string(), "reason": "spam" });
    done(&world, "/admin/ban", ban).await;
    ann.say("a secret").await;
    for stream in [&mut hears, &mut reads] {
        let mut heard = Vec::new();
        while let Some(event) = stream.event().await {
            heard.push(event.json()["message"].clone());
        }
        assert!(!heard.contains(&"a secret".into()), "{heard:?}");
    }
    let unban = json!({ "address": ELSEWHERE.to_string() });
    done(&world, "/admin/unban", unban).await;
    let again = elsewhere(&world).await;
    let mut again = again.events("/events?after=0", &own).await;
    again.until("message.received").await;
}
