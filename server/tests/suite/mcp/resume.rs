//! Broken streams that resume without a gap.

use serde_json::json;

use crate::mcp::http::Body;
use crate::mcp::pushes::burst;
use crate::mcp::world::{Session, World};

/// The sequence numbers of the messages on a stream, up to `last`.
async fn places(stream: &mut Body, last: u64) -> Vec<u64> {
    let mut places = Vec::new();
    while places.last() != Some(&last) {
        let pushed = stream.pushed().await;
        assert_eq!(pushed["method"], "message.received");
        places.push(pushed["params"]["room_seq"].as_u64().unwrap());
    }
    places
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_goes_on_behind_its_last_event_however_much_came_meanwhile() {
    // Far more messages than a buffer of recent events holds.
    const MEANWHILE: usize = 300;
    let world = World::start().await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    let mut stream = ann.stream(None).await;
    ann.login("Ann").await;
    let login = ben.login("Ben").await;
    let (room, handle) = (&login["room_id"], login["handle"].as_str().unwrap());
    burst(&world.service, handle, room, 5).await;
    let (mut last, mut place) = (None, 0);
    for _ in 0..3 {
        let (id, pushed) = stream.message().await.unwrap();
        (last, place) = (id, pushed["params"]["room_seq"].as_u64().unwrap());
    }
    drop(stream);
    world.until_streams(0).await;
    burst(&world.service, handle, room, MEANWHILE).await;
    let mut stream = ann.stream(last.as_deref()).await;
    let end = place + 2 + MEANWHILE as u64;
    let expected: Vec<_> = (place + 1..=end).collect();
    assert_eq!(places(&mut stream, end).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_an_id_begins_behind_what_answers_have_carried() {
    let world = World::start().await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    ann.login("Ann").await;
    let room = ben.login("Ben").await["room_id"].clone();
    ben.say(&room, "read").await;
    let read = ann.ok("check", json!({ "wait_seconds": 0 })).await;
    assert_eq!(
        read["events"].as_array().unwrap().last().unwrap()["message"],
        "read"
    );
    ben.say(&room, "unread").await;
    let mut stream = ann.stream(None).await;
    assert_eq!(stream.pushed().await["params"]["message"], "unread");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_were_never_given_are_as_good_as_none() {
    let world = World::start().await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    ann.login("Ann").await;
    let room = ben.login("Ben").await["room_id"].clone();
    for forged in [
        "c0.999999",
        "c1.999999_2.7",
        "c4294967295.1",
        "c2",
        "0",
        "1",
        "99999",
        "garbage",
    ] {
        let mut stream = ann.stream(Some(forged)).await;
        ben.say(&room, forged).await;
        let mut said = String::new();
        while said != forged {
            let pushed = stream.pushed().await;
            pushed["params"]["message"]
                .as_str()
                .unwrap()
                .clone_into(&mut said);
        }
        ann.ok("check", json!({ "wait_seconds": 0 })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_participants_of_one_session_go_on_each_from_its_own_place() {
    let world = World::start().await;
    let (both, ben) = (Session::open(&world).await, Session::open(&world).await);
    let mut stream = both.stream(None).await;
    let ann = both.login("Ann").await;
    let eve = both
        .ok("login", json!({ "username": "Eve", "room": "attic" }))
        .await;
    assert_ne!(ann["handle"], eve["handle"]);
    world.until_streams(2).await;
    let lobby = ben.login("Ben").await["room_id"].clone();
    let attic = ben
        .ok("login", json!({ "username": "Ben", "room": "attic" }))
        .await["room_id"]
        .clone();
    ben.say(&lobby, "to Ann").await;
    let one = stream.pushed().await;
    ben.say(&attic, "to Eve").await;
    let (id, two) = stream.message().await.unwrap();
    assert_eq!(
        (&one["params"]["message"], &two["params"]["message"]),
        (&json!("to Ann"), &json!("to Eve"))
    );
    drop(stream);
    ben.say(&attic, "again").await;
    let mut stream = both.stream(id.as_deref()).await;
    assert_eq!(stream.pushed().await["params"]["message"], "again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_away_for_too_long_learns_what_is_gone() {
    const KEPT: u32 = 50;
    let world = World::of(KEPT, |_| {}).await;
    let (ann, ben) = (Session::open(&world).await, Session::open(&world).await);
    let mut stream = ann.stream(None).await;
    ann.login("Ann").await;
    let login = ben.login("Ben").await;
    let (room, handle) = (&login["room_id"], login["handle"].as_str().unwrap());
    ben.say(room, "heard").await;
    let (last, heard) = stream.message().await.unwrap();
    let heard = heard["params"]["seq"].as_u64().unwrap();
    drop(stream);
    world.until_streams(0).await;
    burst(&world.service, handle, room, 300).await;
    let mut stream = ann.stream(last.as_deref()).await;
    let gap = stream.pushed().await;
    assert_eq!(gap["method"], "gap");
    assert_eq!(gap["params"]["from_seq"], heard + 1);
    let to = gap["params"]["to_seq"].as_u64().unwrap();
    for seq in to + 1..=heard + 300 {
        assert_eq!(stream.pushed().await["params"]["seq"], seq);
    }
}
