//! Slow, disconnected, idle and duplicate readers.

use std::sync::Arc;

use axum::http::HeaderMap;
use serde_json::json;
use server_chat::capacity::Limits;
use server_chat::scope::CallerScope;

use crate::mcp::http::request_narrow;
use crate::mcp::pushes::burst_of;
use crate::mcp::world::{SHORT, Session, World, caller, modern_request};

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_is_cut_off_and_delays_nobody() {
    const MESSAGES: usize = 4_000;
    let world = World::with(|options| options.stall = SHORT).await;
    let (ann, ben, eve) = (
        Session::open(&world).await,
        Session::open(&world).await,
        Session::open(&world).await,
    );
    let headers = ann.stream_headers(None);
    let stalled = request_narrow(world.address, ("GET", "/mcp"), &headers).await;
    let mut reading = eve.stream(None).await;
    ann.login("Ann").await;
    eve.login("Eve").await;
    world.until_streams(2).await;
    let login = ben.login("Ben").await;
    let (service, room) = (world.service.clone(), login["room_id"].clone());
    let handle = login["handle"].as_str().unwrap().to_owned();
    let say = json!({ "room_id": room, "message": "first" });
    ben.ok("send_message", say).await;
    let (mut last, first) = reading.message().await.expect("one push fits");
    let mut seq = first["params"]["seq"].as_u64().unwrap();
    let end = seq + MESSAGES as u64;
    let more = " ".repeat(3_900);
    let sending =
        tokio::spawn(async move { burst_of(&service, &handle, &room, MESSAGES, &more).await });
    while seq < end {
        // On a busy machine Eve may have no turn for so short a time; then she resumes after the
        // last event she read.
        let Some((id, pushed)) = reading.message().await else {
            reading = eve.stream(last.as_deref()).await;
            continue;
        };
        seq += 1;
        assert_eq!(pushed["method"], "message.received");
        assert_eq!(pushed["params"]["seq"], seq);
        last = id;
    }
    sending.await.unwrap();
    // Only Eve's stream is left; and the session whose stream took nothing still answers.
    world.until_streams(1).await;
    let users = ann.ok("list_users", json!({})).await;
    assert_eq!(users["users"].as_array().unwrap().len(), 3);
    // The events under way to Ann arrive whole and in order, and then her stream ends.
    let mut stalled = stalled.body;
    let mut seqs = Vec::new();
    let mut last = None;
    while let Some((id, pushed)) = stalled.message().await {
        seqs.push(pushed["params"]["seq"].as_u64().unwrap());
        last = id;
    }
    assert!(!seqs.is_empty() && seqs.len() < MESSAGES);
    assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]));
    // She resumes from there.
    let mut stream = ann.stream(last.as_deref()).await;
    let next = stream.pushed().await;
    assert_eq!(next["params"]["seq"], seqs.last().unwrap() + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_is_gone_is_noticed_in_both_eras() {
    let world = World::start().await;
    let ann = Session::open(&world).await;
    let uri = ann.login("Ann").await["inbox_uri"].clone();
    let stream = ann.stream(None).await;
    world.until_streams(1).await;
    drop(stream);
    world.until_streams(0).await;
    let listening = world.listen(&[uri.as_str().unwrap()]).await;
    world.until_streams(1).await;
    drop(listening);
    world.until_streams(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_is_not_cut_and_an_unused_session_ends_until_its_next_call() {
    let world = World::with(|options| {
        options.session_idle = SHORT;
        options.keep_alive = SHORT / 4;
    })
    .await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    let mut stream = ann.stream(None).await;
    let login = ann.login("Ann").await;
    let mut listening = world.listen(&[login["inbox_uri"].as_str().unwrap()]).await;
    // Only comments arrive, for many times as long as a session may be idle.
    let mut comments = 0;
    while comments < 40 {
        let event = stream.event().await.expect("the stream stays open");
        assert!(event.comment || event.data.is_empty(), "{event:?}");
        comments += usize::from(event.comment);
    }
    assert_eq!(world.service.capacity().sessions.held(), 1);
    let (_, taken_up) = ben.begin("tools/list", json!({})).await;
    assert_eq!(taken_up.status, 200);
    // Both listeners still work.
    let room = &login["room_id"];
    let eve = world.call("login", json!({ "username": "Eve" })).await["structuredContent"].clone();
    let say = json!({ "handle": eve["handle"], "room_id": room, "message": "hi" });
    world.call("send_message", say).await;
    assert_eq!(stream.pushed().await["params"]["message"], "hi");
    let grew = listening.pushed().await;
    assert_eq!(grew["method"], "notifications/resources/updated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_its_client_says_so_and_its_stream_with_it() {
    let world = World::start().await;
    let ann = Session::open(&world).await;
    ann.login("Ann").await;
    let mut stream = ann.stream(None).await;
    world.until_streams(1).await;
    let headers = [("Mcp-Session-Id", ann.id.as_str())];
    let line = ("DELETE", "/mcp");
    let reply = crate::mcp::http::request(world.address, line, &headers, b"").await;
    assert_eq!(reply.status, 204);
    assert_eq!(stream.message().await, None);
    world.until_streams(0).await;
    assert_eq!(ann.begin("tools/list", json!({})).await.1.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_stream_of_a_session_takes_the_place_of_the_first() {
    let world = World::start().await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    ann.login("Ann").await;
    let mut first = ann.stream(None).await;
    let mut second = ann.stream(None).await;
    assert_eq!(first.message().await, None);
    let room = ben.login("Ben").await["room_id"].clone();
    ben.say(&room, "once").await;
    assert_eq!(second.pushed().await["params"]["message"], "once");
    world.until_streams(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ninety_half_read_streams_disturb_nobody() {
    let world = World::start().await;
    let mut waiting = Vec::new();
    let mut sessions = Vec::new();
    // One address may register a hundred at once.
    for n in 0..90 {
        let session = Session::open(&world).await;
        waiting.push(session.stream(None).await);
        session.login(&format!("user{n}")).await;
        sessions.push(session);
    }
    world.until_streams(90).await;
    let ben = Session::open(&world).await;
    let room = ben.login("Ben").await["room_id"].clone();
    ben.say(&room, "all of you").await;
    for stream in &mut waiting {
        assert_eq!(stream.pushed().await["params"]["message"], "all of you");
    }
    drop(waiting);
    world.until_streams(0).await;
}

/// The number of open streams that keep Ann present.
async fn anns_streams(world: &World) -> Option<u32> {
    let view = world.service.node().look(|node| {
        let user = node.hub.user_by_name("Ann")?;
        node.hub.participant_view(user)
    });
    view.await.ok().flatten().map(|view| view.streams)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_s_address_reads_and_its_participant_s_handle_keeps_it_there() {
    let world = World::start().await;
    let login =
        world.call("login", json!({ "username": "Ann" })).await["structuredContent"].clone();
    let (uri, handle) = (login["inbox_uri"].as_str(), login["handle"].as_str());
    let (uri, handle) = (uri.unwrap(), handle.unwrap());
    let reading = world.listen(&[uri]).await;
    world.until_streams(1).await;
    assert_eq!(anns_streams(&world).await, Some(0));
    let params = json!({ "notifications": { "resourceSubscriptions": [uri] } });
    let (headers, body) = modern_request("subscriptions/listen", params);
    let mut headers: Vec<_> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
    headers.push(("Chat-Handle", handle));
    let owned = world.post(&headers, &body).await;
    world.until_streams(2).await;
    assert_eq!(anns_streams(&world).await, Some(1));
    // A read with the handle as an argument does not end her waiting check.
    let read = json!({ "handle": handle, "wait_seconds": 0 });
    world.call("check", read).await;
    let waits = json!({ "handle": handle, "wait_seconds": 50 });
    let waiting = async {
        let mut call = std::pin::pin!(world.call("check", waits));
        tokio::select! {
            answer = &mut call => panic!("it waits: {answer}"),
            () = world.until_checks(1) => {}
        }
        let read = world.modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read.status, 200);
        assert!(read.answer().await["result"]["contents"].is_array());
        world.until_checks(1).await;
    };
    waiting.await;
    drop((reading, owned));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_the_token_that_opened_it() {
    let scope = Arc::new(CallerScope::default());
    let owner = Arc::clone(&scope);
    let owned = move |_: &HeaderMap| caller(1, Some(Arc::clone(&owner)));
    let world = World::called_by(owned, &Limits::default(), 1_000, |_| {}).await;
    let ann = Session::open(&world).await;
    ann.login("Ann").await;
    let mut stream = ann.stream(None).await;
    world.until_streams(1).await;
    scope.close();
    assert_eq!(stream.message().await, None);
    world.until_streams(0).await;
    assert_eq!(ann.begin("tools/list", json!({})).await.1.status, 404);
}
