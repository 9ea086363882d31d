//! A server that stops: every client receives what it is owed before the server ends.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp::http::request;
use crate::mcp::world::{Session, World, code};

#[tokio::test(flavor = "multi_thread")]
async fn listeners_and_waiting_checks_get_what_they_are_owed_and_end() {
    let world = World::start().await;
    let (ann, ben, eve) = (
        Session::open(&world).await,
        Session::open(&world).await,
        Session::open(&world).await,
    );
    let mut stream = ann.stream(None).await;
    let mut nobodys = eve.stream(None).await;
    let uri = ann.login("Ann").await["inbox_uri"].clone();
    let mut listening = world.listen(&[uri.as_str().unwrap()]).await;
    world.until_streams(2).await;
    let room = ben.login("Ben").await["room_id"].clone();
    for session in [&ann, &ben] {
        session.ok("check", json!({ "wait_seconds": 0 })).await;
    }
    let waits = json!({ "name": "check", "arguments": { "wait_seconds": 50 } });
    let (_, waiting) = ann.begin("tools/call", waits.clone()).await;
    let (_, parked) = ben.begin("tools/call", waits).await;
    world.until_checks(2).await;
    ben.say(&room, "the last word").await;
    world.closing.cancel();
    let by = Instant::now() + Duration::from_secs(10);
    world.service.node().stop(by);
    let said = stream.pushed().await;
    assert_eq!(said["params"]["message"], "the last word");
    assert_eq!(stream.message().await, None);
    assert_eq!(nobodys.message().await, None);
    let (mut grew, mut ended) = (0, false);
    while let Some((_, message)) = listening.message().await {
        if message["method"] == "notifications/resources/updated" {
            grew += 1;
        }
        ended = message["result"].is_object();
    }
    assert!(grew > 0 && ended);
    for check in [waiting, parked] {
        let answer = check.answer().await;
        assert!(
            answer["result"]["structuredContent"]["events"].is_array(),
            "{answer}"
        );
    }
    let refused = eve.call("login", json!({ "username": "Eve" })).await;
    assert_eq!(code(&refused), "shutting_down");
    world.running.ended().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_breaks_off_at_a_stop_where_its_client_comes_back_only_after_an_error() {
    let world = World::start().await;
    let mut streams = Vec::new();
    for version in [None, Some("2025-06-18"), Some("2025-11-25")] {
        let session = Session::of(&world, version.unwrap_or("2025-03-26")).await;
        let mut headers = vec![
            ("Mcp-Session-Id", &*session.id),
            ("Accept", "text/event-stream"),
        ];
        headers.extend(version.map(|version| ("MCP-Protocol-Version", version)));
        let reply = request(world.address, ("GET", "/mcp"), &headers, b"").await;
        streams.push((version, reply.body));
    }
    world.closing.cancel();
    for (version, mut stream) in streams {
        assert_eq!(stream.message().await, None);
        let is_old = version != Some("2025-11-25");
        assert_eq!(stream.is_cut(), is_old, "{version:?}");
    }
}
