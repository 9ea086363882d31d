//! Pushes: their content, recipients and order.

use serde_json::{Map, Value, json};
use server_chat::identity::Handle;
use server_chat::service::{RequestOrigin, Service};
use server_chat::tools::Tool;

use crate::mcp::world::{EVENTS, Session, World};

/// Sends so many messages to a room concurrently, with this handle.
pub(crate) async fn burst(service: &Service, handle: &str, room: &Value, messages: usize) {
    burst_of(service, handle, room, messages, "").await;
}

/// Like `burst`, with this many more characters in each message.
pub(crate) async fn burst_of(
    service: &Service,
    handle: &str,
    room: &Value,
    messages: usize,
    more: &str,
) {
    const AT_ONCE: usize = 16;
    let mut senders = tokio::task::JoinSet::new();
    for sender in 0..AT_ONCE {
        let (service, room, more) = (service.clone(), room.clone(), more.to_owned());
        let handle = Handle::given(handle);
        senders.spawn(async move {
            for n in (sender..messages).step_by(AT_ONCE) {
                let origin = RequestOrigin {
                    address: chat_core::Address(2),
                    source: server_chat::capacity::Source(2),
                    scope: None,
                    token: None,
                    handle: Some(handle.clone()),
                };
                let mut arguments = Map::new();
                arguments.insert("room_id".into(), room.clone());
                arguments.insert("message".into(), format!("{n}{more}").into());
                let said = service.perform(Tool::SendMessage, arguments, &origin).await;
                assert!(said.result.is_ok(), "{}", said.json());
            }
        });
    }
    while let Some(ended) = senders.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_pushes_in_a_burst_arrive_in_order_and_none_is_lost() {
    const MESSAGES: usize = 2_000;
    let world = World::start().await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    let mut stream = ann.stream(None).await;
    ann.login("Ann").await;
    let login = ben.login("Ben").await;
    let (service, room) = (world.service.clone(), login["room_id"].clone());
    let handle = login["handle"].as_str().unwrap().to_owned();
    let sending = tokio::spawn(async move { burst(&service, &handle, &room, MESSAGES).await });
    let mut seen = Vec::new();
    while seen.len() < MESSAGES {
        let pushed = stream.pushed().await;
        assert_eq!(pushed["method"], "message.received");
        seen.push(pushed["params"].clone());
    }
    sending.await.unwrap();
    let places: Vec<_> = seen
        .iter()
        .map(|e| e["room_seq"].as_u64().unwrap())
        .collect();
    let first = places[0];
    let expected: Vec<_> = (first..).take(MESSAGES).collect();
    assert_eq!(places, expected);
    let mut said: Vec<usize> = seen
        .iter()
        .map(|event| event["message"].as_str().unwrap().parse().unwrap())
        .collect();
    said.sort_unstable();
    assert_eq!(said, (0..MESSAGES).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_carries_what_a_pair_does_as_check_says_it() {
    let world = World::start().await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    let (mut to_ann, mut to_ben) = (ann.stream(None).await, ben.stream(None).await);
    ann.ok("enter_queue", json!({ "display_name": "Ann" }))
        .await;
    ben.ok("enter_queue", json!({ "display_name": "Ben" }))
        .await;
    let mut rooms = Vec::new();
    for stream in [&mut to_ann, &mut to_ben] {
        let found = stream.pushed().await;
        assert_eq!(found["method"], "chatroom.found");
        rooms.push(found["params"]["room_id"].clone());
    }
    let room = &rooms[0];
    assert_eq!(rooms[1], *room);
    ben.say(room, "hi").await;
    let said = to_ann.pushed().await;
    assert_eq!(said["method"], "message.received");
    assert_eq!(said["params"]["message"], "hi");
    ann.say(room, "hello").await;
    assert_eq!(to_ben.pushed().await["params"]["message"], "hello");
    ben.ok("leave_chat", json!({})).await;
    let left = to_ann.pushed().await;
    assert_eq!(left["method"], "partner.disconnected");
    let page = ann
        .ok("check", json!({ "after": 0, "wait_seconds": 0 }))
        .await;
    let events = page["events"].as_array().unwrap();
    let mut said = said["params"].clone();
    let note = said.as_object_mut().unwrap().remove("note");
    assert!(
        note.is_some() && note.as_ref() == page.get("note"),
        "{page}"
    );
    assert!(events.contains(&said), "{page}");
    assert!(events.contains(&left["params"]), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscribed_inbox_says_that_it_grew_until_it_is_not() {
    let world = World::start().await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    let mut stream = ann.stream(None).await;
    let uri = ann.login("Ann").await["inbox_uri"].clone();
    let room = ben.login("Ben").await["room_id"].clone();
    let subscribed = ann.ask("resources/subscribe", json!({ "uri": uri })).await;
    assert_eq!(subscribed["result"], json!({}));
    ben.say(&room, "one").await;
    let mut methods = Vec::new();
    while methods.last() != Some(&json!("message.received")) {
        methods.push(stream.pushed().await["method"].clone());
    }
    let grew = stream.pushed().await;
    assert_eq!(grew["method"], "notifications/resources/updated");
    assert_eq!(grew["params"]["uri"], uri);
    ann.ask("resources/unsubscribe", json!({ "uri": uri }))
        .await;
    ben.say(&room, "two").await;
    ben.say(&room, "three").await;
    for expected in ["two", "three"] {
        let said = stream.pushed().await;
        assert_eq!(said["params"]["message"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_of_the_newer_era_hears_and_reads_from_its_cursor() {
    let world = World::start().await;
    let ann = world.call("login", json!({ "username": "Ann" })).await["structuredContent"].clone();
    let uri = ann["inbox_uri"].as_str().unwrap();
    let mut listening = world.listen(&[uri]).await;
    let ben = world.call("login", json!({ "username": "Ben" })).await["structuredContent"].clone();
    let say = json!({ "handle": ben["handle"], "room_id": ben["room_id"], "message": "hi" });
    world.call("send_message", say).await;
    let mut read = Vec::new();
    let mut cursor = 0;
    while !read.iter().any(|event: &Value| event["message"] == "hi") {
        let grew = listening.pushed().await;
        assert_eq!(grew["method"], "notifications/resources/updated");
        assert_eq!(grew["params"]["uri"], uri);
        let at = json!({ "uri": format!("{uri}?after={cursor}") });
        let answer = world.modern("resources/read", at).await.answer().await;
        let contents = &answer["result"]["contents"][0];
        assert_eq!(contents["mimeType"], "application/json");
        let page: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
        read.extend(page["events"].as_array().unwrap().clone());
        cursor = page["cursor"].as_u64().unwrap();
    }
    let seqs: Vec<_> = read
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    let expected: Vec<_> = (1..).take(seqs.len()).collect();
    assert_eq!(seqs, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn to_listen_to_an_inbox_that_is_not_there_is_refused_with_its_address() {
    let world = World::start().await;
    let mut listening = world.listen(&["chat://inbox/r_guessed"]).await;
    let answer = listening.pushed().await;
    assert_eq!(answer["error"]["data"]["uri"], "chat://inbox/r_guessed");
    assert_eq!(listening.message().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_comes_back_in_another_session_is_pushed_to_there() {
    let world = World::start().await;
    let (first, ben) = (Session::open(&world).await, Session::open(&world).await);
    let ann = first.login("Ann").await;
    let room = ben.login("Ben").await["room_id"].clone();
    let second = Session::open(&world).await;
    let mut stream = second.stream(None).await;
    let check = json!({ "handle": ann["handle"], "wait_seconds": 0 });
    second.ok("check", check).await;
    ben.say(&room, "still there?").await;
    let said = stream.pushed().await;
    assert_eq!(said["params"]["message"], "still there?");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_declares_the_extension_receives_events() {
    let world = World::start().await;
    let ben = Session::open(&world).await;
    let room = ben.login("Ben").await["room_id"].clone();
    for (name, capabilities) in [
        ("Eve", json!({ "experimental": { EVENTS: {} } })),
        ("Ivy", json!({ "extensions": { EVENTS: {} } })),
    ] {
        let session = Session::declaring(&world, "2025-11-25", capabilities).await;
        let mut stream = session.stream(None).await;
        session.login(name).await;
        ben.say(&room, "hi").await;
        let pushed = stream.pushed().await;
        assert_eq!(pushed["method"], "message.received", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_only_hears_that_its_subscribed_inbox_grew() {
    let world = World::start().await;
    let ben = Session::open(&world).await;
    let room = ben.login("Ben").await["room_id"].clone();
    for (name, capabilities) in [
        ("Ann", json!({})),
        ("Ada", json!({ "experimental": { "other/events": {} } })),
    ] {
        let session = Session::declaring(&world, "2025-11-25", capabilities).await;
        let mut stream = session.stream(None).await;
        let uri = session.login(name).await["inbox_uri"].clone();
        session
            .ask("resources/subscribe", json!({ "uri": uri }))
            .await;
        // The first one may be about the login.
        for _ in 0..2 {
            ben.say(&room, "hi").await;
            let pushed = stream.pushed().await;
            assert_eq!(
                pushed["method"], "notifications/resources/updated",
                "{name}"
            );
        }
    }
}

/// Clients such as command-line tools open a session, with its stream, for each call.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_for_each_call_is_no_arrival_and_no_departure() {
    let world = World::start().await;
    let ann = Session::open(&world).await;
    ann.ok("enter_queue", json!({ "display_name": "Ann" }))
        .await;
    let entered = world.call("enter_queue", json!({ "display_name": "Ben" }));
    let handle = entered.await["structuredContent"]["handle"].clone();
    let found = ann.ok("check", json!({ "wait_seconds": 50 }));
    let first_use = world.call("check", json!({ "handle": handle, "wait_seconds": 50 }));
    let (found, _) = tokio::join!(found, first_use);
    let room = found["events"][0]["room_id"].clone();
    for message in ["one", "two"] {
        let session = Session::declaring(&world, "2025-11-25", json!({})).await;
        let stream = session.stream(None).await;
        let say = json!({ "handle": handle, "room_id": room, "message": message });
        session.ok("send_message", say).await;
        session.end().await;
        drop(stream);
    }
    let last = Session::declaring(&world, "2025-11-25", json!({})).await;
    let say = json!({ "handle": handle, "room_id": room, "message": "four" });
    last.ok("send_message", say).await;
    let page = ann
        .ok("check", json!({ "after": 0, "wait_seconds": 0 }))
        .await;
    let events = page["events"].as_array().unwrap().iter();
    let kinds: Vec<_> = events.map(|event| event["type"].clone()).collect();
    let found_and_messages = [
        "chatroom.found",
        "message.received",
        "message.received",
        "message.received",
    ];
    assert_eq!(json!(kinds), json!(found_and_messages));
}
