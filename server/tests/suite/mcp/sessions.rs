//! Clients open sessions without end: their number stays below the limit, and evicted sessions
//! leave nothing behind.

use std::sync::Arc;
use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::{Value, json};
use server_chat::capacity::{Limits, OPENING, Share, Speed};
use tokio::runtime::Handle;

use crate::mcp::http::{Reply, request};
use crate::mcp::world::{Session, World, caller};
use crate::stage::{GUARD, hello};

/// The session limit, the number of clients that open sessions concurrently, and how many each
/// opens.
const SESSIONS: usize = 16;
const CLIENTS: usize = 8;
const EACH: usize = 50;

/// The number of tasks of one session.
const TASKS: usize = 3;

/// A server with these limits, and clients that name their address in a header.
async fn world_within(limits: &Limits) -> World {
    let by_header = |headers: &HeaderMap| {
        let source = headers.get("x-source");
        let source = source.and_then(|text| text.to_str().ok()?.parse().ok());
        caller(source.unwrap_or(1), None)
    };
    World::called_by(by_header, limits, 1_000, |_| {}).await
}

/// A server with this session limit.
async fn world(sessions: Share) -> World {
    world_within(&Limits {
        sessions,
        large: None,
        ..Limits::default()
    })
    .await
}

/// Asks for a session for this source.
async fn asked(world: &World, source: &str) -> Reply {
    let hello = hello("2025-11-25", &json!({})).to_string();
    world.post(&[("X-Source", source)], hello.as_bytes()).await
}

/// Opens a session for this source; returns its id, or the status of the refusal.
async fn open(world: &World, source: &str) -> Result<String, u16> {
    let reply = asked(world, source).await;
    let id = reply.header("mcp-session-id").map(str::to_owned);
    id.ok_or(reply.status)
}

/// Calls a tool in this session, which is taken up again if it gave way; returns the result.
async fn call(world: &World, (id, source): (&str, &str), tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [("Mcp-Session-Id", id), ("X-Source", source)];
    let reply = world.post(&headers, call.to_string().as_bytes()).await;
    assert_eq!(reply.status, 200);
    reply.answer().await["result"]["structuredContent"].clone()
}

/// Waits until at most so many tasks run.
async fn until_tasks(most: usize) {
    let began = Instant::now();
    while Handle::current().metrics().num_alive_tasks() > most {
        assert!(began.elapsed() < GUARD, "tasks do not end");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_gave_way_leave_nothing_behind() {
    let share = Share {
        all: SESSIONS as u64,
        each: SESSIONS as u64,
    };
    let world = Arc::new(world(share).await);
    let before = Handle::current().metrics().num_alive_tasks();
    let kept = open(&world, "1").await.expect("a session");
    // Connections end by themselves after their clients have disconnected.
    until_tasks(before + TASKS).await;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let world = Arc::clone(&world);
        clients.spawn(async move {
            for _ in 0..EACH {
                let opened = open(&world, "1").await;
                assert!(opened.is_ok(), "its own longest idle session gives way");
                assert!(world.service.capacity().sessions.held() <= share.all);
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("it is answered");
    }
    assert_eq!(world.service.capacity().sessions.held(), share.all);
    // The first one gave way, and another one does when it is taken up again.
    call(&world, (&kept, "1"), "login", json!({ "username": "Ann" })).await;
    assert_eq!(world.service.capacity().sessions.held(), share.all);
    // Of all opened sessions, as many still run as the limit allows.
    until_tasks(before + TASKS * SESSIONS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_with_the_most_sessions_gives_way_to_one_with_fewer() {
    let world = world(Share { all: 4, each: 2 }).await;
    for source in ["1", "1", "2", "2"] {
        open(&world, source).await.expect("a session");
    }
    let modest = open(&world, "3").await.expect("a session of the others'");
    assert_eq!(world.service.capacity().sessions.held(), 4);
    // The session knows a participant that registered elsewhere, as long as it does not give way.
    let ann = world.call("login", json!({ "username": "Ann" })).await;
    let login = json!({ "username": "Ann", "handle": ann["structuredContent"]["handle"] });
    call(&world, (&modest, "3"), "login", login).await;
    // A source that has at least as many sessions as any other evicts its own.
    open(&world, "1").await.expect("its own");
    open(&world, "2").await.expect("its own");
    let check = json!({ "wait_seconds": 0 });
    let read = call(&world, (&modest, "3"), "check", check).await;
    assert!(read["events"].is_array(), "{read}");
}

/// The rate is so slow that it grants nothing within a test, however slow the machine is.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_opened_spends_of_its_source_s_rate() {
    let large = Speed::new(1, 2 * OPENING);
    let limits = Limits {
        large: Some(large),
        ..Limits::default()
    };
    let world = world_within(&limits).await;
    let rate = &world.service.capacity().large;
    for _ in 0..2 {
        open(&world, "1").await.expect("of its burst");
    }
    assert_eq!(rate.refused(), 0);
    assert_eq!(open(&world, "1").await, Err(503), "its burst is spent");
    assert_eq!((rate.waited(), rate.refused()), (0, 1));
    open(&world, "2").await.expect("of another's burst");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_session_frees_its_place_at_once() {
    let world = world(Share { all: 2, each: 2 }).await;
    let sessions = [Session::open(&world).await, Session::open(&world).await];
    let streams = (
        sessions[0].stream(None).await,
        sessions[1].stream(None).await,
    );
    let refused = asked(&world, "1").await;
    assert_eq!(refused.status, 503, "both are in use");
    assert!(refused.header("retry-after").is_some());
    let told = refused.answer().await["error"]["message"].to_string();
    assert!(told.contains("sessions"), "{told}");
    for session in &sessions {
        let headers = [("Mcp-Session-Id", session.id.as_str())];
        // The second time, it has ended.
        for status in [204, 404] {
            let ended = request(world.address, ("DELETE", "/mcp"), &headers, b"").await;
            assert_eq!(ended.status, status);
        }
        open(&world, "1").await.expect("a place that is free");
    }
    drop(streams);
}
