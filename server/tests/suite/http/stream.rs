//! `GET /events`: order, resumption, notices, keep-alive, and the end.

use std::time::Duration;

use chat_core::Attendance;
use serde_json::{Value, json};

use crate::http::client::{Block, Events};
use crate::http::world::{Setup, World};
use crate::stage::within;

/// Reads so many messages, and returns the id and text of each.
async fn messages(events: &mut Events, count: usize) -> Vec<(u64, String)> {
    let mut read = Vec::new();
    while read.len() < count {
        let block = events.event().await.expect("the stream goes on");
        if block.is("message.received") {
            let text = block.json()["message"].as_str().expect("a text").to_owned();
            read.push((block.id.expect("events have ids"), text));
        }
    }
    read
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_two_thousand_arrives_whole_and_in_order() {
    const COUNT: usize = 2_000;
    let world = World::start(Setup::free()).await;
    let mut ann = world.register("Ann").await;
    let ben = world.register("Ben").await;
    let mut events = world.events(&ben.handle, None).await;
    let sends = tokio::spawn(async move {
        for n in 0..COUNT {
            ann.say(&n.to_string()).await;
        }
    });
    let read = messages(&mut events, COUNT).await;
    sends.await.unwrap();
    let texts: Vec<_> = read.iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(texts, numbers(0..COUNT));
    let first = read[0].0;
    assert!(
        (first..).zip(&read).all(|(seq, (id, _))| *id == seq),
        "ids have no holes here"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_misses_and_doubles_nothing() {
    const COUNT: usize = 300;
    let world = World::start(Setup::free()).await;
    let mut ann = world.register("Ann").await;
    let ben = world.register("Ben").await;
    let sends = tokio::spawn(async move {
        for n in 0..COUNT {
            ann.say(&n.to_string()).await;
        }
    });
    let mut read: Vec<(u64, String)> = Vec::new();
    let mut last: Option<u64> = Some(0);
    while read.len() < COUNT {
        // Each reconnection sends the id of the last event, as an EventSource does; the URL keeps
        // the position of the first connection.
        let id = last.unwrap_or_default().to_string();
        let headers = [("Chat-Handle", &*ben.handle), ("Last-Event-ID", &id)];
        let client = world.client().await;
        let mut events = client.events("/events?after=0", &headers).await;
        let part = messages(&mut events, (COUNT - read.len()).min(37)).await;
        last = part.last().map(|(id, _)| *id);
        read.extend(part);
    }
    sends.await.unwrap();
    let texts: Vec<_> = read.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, numbers(0..COUNT));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_cut_off_before_the_first_event_knows_where_it_was() {
    let world = World::start(Setup::free()).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    ann.say("before").await;
    let mut events = world.events(&ben.handle, None).await;
    let opening = events.block().await.unwrap();
    let begins = opening.id.expect("the opening says where it begins");
    assert_eq!((&opening.event, &opening.data), (&None, &None));
    drop(events);
    ann.say("meanwhile").await;
    let mut events = world.events(&ben.handle, Some(begins)).await;
    let read = messages(&mut events, 1).await;
    assert_eq!(read, [(begins + 1, "meanwhile".into())]);
    let beyond = ben
        .post("/check_event", json!({ "after": begins + 100 }))
        .await;
    assert_eq!(beyond.code(), "invalid_cursor");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_id_reads_and_an_address_holds_no_handle() {
    let world = World::start(Setup::free()).await;
    let (mut ann, ben) = (world.register("Ann").await, world.register("Ben").await);
    let path = format!("/events?reader={}", ben.reader);
    let mut events = world.client().await.events(&path, &[]).await;
    ann.say("hi").await;
    assert_eq!(messages(&mut events, 1).await[0].1, "hi");
    let mut client = world.client().await;
    for (path, status, code) in [
        (
            format!("/events?handle={}", ben.handle),
            400,
            "invalid_arguments",
        ),
        (
            format!("/events?reader={}", ben.handle),
            401,
            "unknown_handle",
        ),
        ("/events?reader=r_guessed".into(), 401, "unknown_handle"),
        (format!("{path}&after=99999"), 400, "invalid_cursor"),
        (format!("{path}&after=x"), 400, "invalid_arguments"),
        ("/events?username=Ben".into(), 400, "invalid_arguments"),
        ("/events".into(), 401, "handle_required"),
    ] {
        let answer = client.get(&path).await;
        assert_eq!((answer.status, &*answer.code()), (status, code), "{path}");
        assert!(!answer.text().contains(&ben.handle) && !answer.text().contains(&ben.reader));
    }
    let bad_id = [("Chat-Handle", &*ben.handle), ("Last-Event-ID", "one")];
    let answer = client.request("GET", "/events", &bad_id, b"").await;
    assert_eq!(answer.code(), "invalid_arguments");
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_have_no_id_and_move_nothing() {
    let world = World::start(Setup::free()).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    let mut events = world.events(&ben.handle, None).await;
    let begins = events.block().await.unwrap().id.unwrap();
    let typing = ann.post("/tools/typing", json!({})).await;
    assert_eq!(typing.status, 200, "{}", typing.text());
    let notice = events.event().await.unwrap();
    assert!(
        notice.is("user.typing") && notice.id.is_none(),
        "{notice:?}"
    );
    assert_eq!(notice.json()["user"]["display_name"], "Ann");
    ann.say("done").await;
    assert_eq!(messages(&mut events, 1).await[0].0, begins + 1);
    let check = ben.post("/check_event", json!({ "delay": 0 })).await;
    assert_eq!(check.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_stream_says_that_it_is_there() {
    let world = World::free(|setup| setup.http.keep_alive = Duration::from_millis(20)).await;
    let ben = world.register("Ben").await;
    let mut events = world.events(&ben.handle, None).await;
    events.block().await.unwrap();
    let expected = Block {
        comments: vec!["still here".into()],
        ..Block::default()
    };
    assert_eq!(events.block().await, Some(expected.clone()));
    assert_eq!(events.block().await, Some(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vanished_client_is_noticed() {
    let world = World::start(Setup::free()).await;
    let ben = world.register("Ben").await;
    let one = world.events(&ben.handle, None).await;
    let other = world.events(&ben.handle, None).await;
    world.until(&ben.user, Attendance::Present, 2).await;
    drop(one);
    world.until(&ben.user, Attendance::Present, 1).await;
    drop(other);
    world.until(&ben.user, Attendance::Reconnecting, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_bounded_for_each_participant() {
    let world = World::free(|setup| setup.config.max_streams = 2).await;
    let ben = world.register("Ben").await;
    let _one = world.events(&ben.handle, None).await;
    let _other = world.events(&ben.handle, None).await;
    let mut client = world.client().await;
    let with_handle = [("Chat-Handle", &*ben.handle)];
    let answer = client.request("GET", "/events", &with_handle, b"").await;
    answer.refuses(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unregistered_participant_s_stream_ends() {
    let world = World::start(Setup::free()).await;
    let mut ben = world.register("Ben").await;
    let mut events = world.events(&ben.handle, None).await;
    ben.post("/unregister", json!({})).await;
    assert_eq!(events.event().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_gives_every_stream_what_it_is_owed_and_says_so_last() {
    const COUNT: usize = 200;
    let world = World::start(Setup::free()).await;
    let mut ann = world.register("Ann").await;
    let ben = world.register("Ben").await;
    let mut events = world.events(&ben.handle, None).await;
    for n in 0..COUNT {
        ann.say(&n.to_string()).await;
    }
    let by = std::time::Instant::now() + Duration::from_secs(30);
    world.closing.cancel();
    world.service.node().stop(by);
    let read = messages(&mut events, COUNT).await;
    assert_eq!(read.len(), COUNT);
    let last = events.event().await.expect("the last event says why");
    assert!(last.is("server.closing") && last.id.is_none(), "{last:?}");
    assert_eq!(last.json()["type"], Value::from("server.closing"));
    assert_eq!(events.event().await, None);
    within(world.running.ended()).await.unwrap();
    within(world.connections).await.unwrap();
}
