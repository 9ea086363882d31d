//! One address takes as many of every resource as it can get: it is refused, and other addresses
//! are not.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use serde_json::json;
use server_chat::capacity::{Share, Speed};

use crate::http::client::Client;
use crate::http::world::World;
use crate::stage::within;

/// Another loopback address of this machine.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_one_address_shut_out_no_other() {
    let world = World::with(|setup| setup.capacity.connections = Share { all: 6, each: 2 }).await;
    let (mut one, mut other) = (world.client().await, world.client().await);
    assert_eq!(one.get("/healthz").await.status, 200);
    assert_eq!(other.get("/healthz").await.status, 200);
    let refused = world.client().await.get("/healthz").await;
    refused.refuses(503, "overloaded");
    assert!(
        refused.text().contains("2 connections"),
        "{}",
        refused.text()
    );
    let mut elsewhere = Client::connect_from(ELSEWHERE, world.address).await;
    assert_eq!(elsewhere.get("/healthz").await.status, 200);
    let connections = &world.service.capacity().connections;
    assert_eq!((connections.held(), connections.most_of_one()), (3, 2));
    // The place of one that ends is free again, and the others go on.
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(one);
    within(async { while world.client().await.get("/healthz").await.status != 200 {} }).await;
    assert_eq!(other.get("/healthz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_one_address_shut_out_no_other() {
    let world = World::free(|setup| setup.capacity.streams = Share { all: 6, each: 2 }).await;
    let ann = world.register("Ann").await;
    let path = format!("/events?reader={}", ann.reader);
    let _open = (
        world.client().await.events(&path, &[]).await,
        world.client().await.events(&path, &[]).await,
    );
    let refused = world.client().await.get(&path).await;
    refused.refuses(503, "overloaded");
    assert!(
        refused.text().contains("2 open streams"),
        "{}",
        refused.text()
    );
    let elsewhere = Client::connect_from(ELSEWHERE, world.address).await;
    let _elsewhere = elsewhere.events(&path, &[]).await;
    assert_eq!(world.service.capacity().streams.held(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_address_wait_for_their_turn_and_those_of_others_do_not() {
    let world = World::free(|setup| setup.capacity.requests = Some(Speed::new(50, 10))).await;
    let requests = &world.service.capacity().requests;
    let wrong = [("Host", "evil.example")];
    let mut greedy = world.client().await;
    for _ in 0..20 {
        assert_eq!(greedy.get("/users").await.status, 200);
        let refused = greedy.request("GET", "/users", &wrong, b"").await;
        assert_eq!(refused.status, 403, "a refused request waits as well");
    }
    let waited = requests.waited();
    assert!(waited > 0);
    let mut elsewhere = Client::connect_from(ELSEWHERE, world.address).await;
    for _ in 0..5 {
        assert_eq!(elsewhere.get("/users").await.status, 200);
    }
    assert_eq!(requests.waited(), waited);
    // Each connection takes a turn of its own.
    for _ in 0..20 {
        let mut client = world.client().await;
        assert_eq!(client.get("/healthz").await.status, 200);
    }
    assert!(requests.waited() >= waited + 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_one_address_have_a_rate_and_those_of_others_pass() {
    let world = World::free(|setup| setup.capacity.texts = Some(Speed::new(1, 10_000))).await;
    let mut ann = world.register("Ann").await;
    let said = json!({ "message": "x".repeat(3_000) });
    let mut accepted = 0;
    let refused = loop {
        let answer = ann.post("/send", said.clone()).await;
        if answer.status != 200 {
            break answer;
        }
        accepted += 1;
    };
    assert_eq!(accepted, 3);
    refused.refuses(503, "overloaded");
    assert!(refused.text().contains("messages"), "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    let appended = json!({ "text": "x".repeat(1_000) });
    let refused = ann.post("/tools/append", appended).await;
    refused.refuses(503, "overloaded");
    for path in ["/check_event", "/talking_stick", "/tools/push"] {
        let answer = ann.post(path, json!({})).await;
        let fits = answer.status != 503;
        assert!(fits, "{path}: {}", answer.text());
    }
    let mut elsewhere = Client::connect_from(ELSEWHERE, world.address).await;
    let ben = json!({ "username": "Ben" });
    let ben = elsewhere.post("/register", None, &ben).await.json();
    let handle = ben["handle"].as_str().expect("a handle");
    let heard = elsewhere.post("/send", Some(handle), &said).await;
    assert_eq!(heard.status, 200, "{}", heard.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_a_call_adds_to_the_journal_counts_also_if_it_is_refused() {
    let world = World::free(|setup| setup.capacity.texts = Some(Speed::new(1, 10_000))).await;
    let mut ann = world.register("Ann").await;
    let interests: Vec<String> = (0..10).map(|number| format!("{number:060}")).collect();
    let mut statuses = Vec::new();
    while statuses.last() != Some(&503) {
        assert!(statuses.len() < 100, "none of them counts");
        let body = json!({ "interests": interests });
        statuses.push(ann.post("/tools/enter_queue", body).await.status);
    }
    // Each adds 600 bytes of texts, and 64.
    assert_eq!(statuses.len(), 15, "{statuses:?}");
    assert_eq!(statuses[1..14], [409; 13]);
}

/// Registers from this address; returns the client and its handle.
async fn newcomer(world: &World, from: Ipv4Addr, name: &str) -> (Client, String) {
    let mut client = Client::connect_from(from, world.address).await;
    let who = json!({ "username": name });
    let registered = client.post("/register", None, &who).await.json();
    let handle = registered["handle"].as_str().expect("a handle").to_owned();
    (client, handle)
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_checks_of_one_address_are_answered_in_turn_and_those_of_others_at_once() {
    let world = World::free(|setup| setup.capacity.woken = Some(Speed::new(2, 2))).await;
    let mut waiters = Vec::new();
    for (n, from) in [Ipv4Addr::LOCALHOST; 3].into_iter().enumerate() {
        waiters.push(newcomer(&world, from, &format!("Waiter {n}")).await);
    }
    for n in 0..2 {
        waiters.push(newcomer(&world, ELSEWHERE, &format!("Other {n}")).await);
    }
    let mut checks = tokio::task::JoinSet::new();
    for (mut client, handle) in waiters {
        let read = json!({ "wait_seconds": 0 });
        let read = client.post("/tools/check", Some(&handle), &read).await;
        let waits = json!({ "wait_seconds": 50, "after": read.json()["cursor"] });
        checks.spawn(async move { client.post("/tools/check", Some(&handle), &waits).await });
    }
    world.until_parked(5).await;
    let began = Instant::now();
    // Joining posts an event to all members.
    let _speaker = newcomer(&world, ELSEWHERE, "Speaker").await;
    while let Some(check) = checks.join_next().await {
        let check = check.expect("no check panics");
        assert_eq!(check.json()["events"][0]["type"], "user.joined");
    }
    assert_eq!(world.service.capacity().woken.waited(), 1);
    assert!(began.elapsed() >= Duration::from_millis(500));
}
