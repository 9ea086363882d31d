//! Speaking in turn by one call, and what others hear of it.

use serde_json::{Value, json};
use server_chat::render_text;
use server_chat::tools::Tool;

use super::{Seat, start};

/// Two in a room.
async fn pair() -> (Seat, Seat, super::Running) {
    let (service, running) = start();
    let (ann, ben) = (Seat::at(&service), Seat::at(&service));
    for (seat, name) in [(&ann, "Ann"), (&ben, "Ben")] {
        seat.ok(Tool::Login, json!({ "username": name, "room": "table" }))
            .await;
    }
    (ann, ben, running)
}

fn words(text: &str, wait: u64) -> Value {
    json!({ "room_id": "room_1", "message": text, "wait_seconds": wait })
}

fn messages(result: &Value) -> Vec<&str> {
    let events = result["events"].as_array().expect("events");
    events
        .iter()
        .filter_map(|event| event["message"].as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_waits_for_its_turn_says_and_hears() {
    let (ann, ben, _running) = pair().await;
    ann.ok(Tool::TalkingStick, json!({})).await;
    // Ben has read all, and waits for his turn and for news.
    let page = ben.ok(Tool::Check, json!({ "wait_seconds": 0 })).await;
    let mut asked = words("second", 50);
    asked["after"] = page["cursor"].clone();
    let waiting = tokio::spawn({
        let ben = ben.clone();
        async move { ben.call(Tool::Speak, asked).await }
    });
    // He is in line before Ann goes on.
    let claimed = ann.ok(Tool::Check, json!({ "wait_seconds": 50 })).await;
    let mut claimed = claimed;
    while !claimed.to_string().contains("stick.claimed") {
        claimed = ann.ok(Tool::Check, json!({ "wait_seconds": 50 })).await;
    }
    // Ann says hers with the stick that she holds. Ben's follows at once.
    let first = ann.ok(Tool::Speak, words("first", 50)).await;
    assert_eq!(
        (&first["status"], &first["message_id"]),
        (&json!("sent"), &json!("msg_1_5"))
    );
    assert_eq!(messages(&first), ["second"], "{first}");
    let outcome = waiting.await.expect("it is answered");
    let second = outcome.json();
    assert_eq!(second["status"], "sent", "{second}");
    assert_eq!(messages(&second), ["first"], "{second}");
    let text = render_text::text(&outcome, &second);
    assert!(
        text.contains("Your turn came, and your message is sent in room_1."),
        "{text}"
    );
    assert!(
        text.lines().last().expect("a line").starts_with("next: "),
        "{text}"
    );
    let history = ben.ok(Tool::History, json!({})).await;
    let said: Vec<_> = history["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|one| &one["message"])
        .collect();
    assert_eq!(said, ["first", "second"], "{history}");
}

/// Waits until this one has read a message of another.
async fn hears(seat: &Seat) {
    let mut page = json!({ "events": [] });
    while messages(&page).is_empty() {
        page = seat.ok(Tool::Check, json!({ "wait_seconds": 50 })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_by_what_concerns_its_caller_and_a_lost_answer_is_read_again() {
    let (ann, ben, _running) = pair().await;
    for name in ["Cem", "Dan"] {
        let seat = Seat::at(&ann.service);
        seat.ok(Tool::Login, json!({ "username": name, "room": "table" }))
            .await;
    }
    let page = ann.ok(Tool::Check, json!({ "wait_seconds": 0 })).await;
    let mut asked = words("first", 50);
    asked["after"] = page["cursor"].clone();
    let listening = tokio::spawn({
        let ann = ann.clone();
        async move { ann.ok(Tool::Speak, asked).await }
    });
    hears(&ben).await;
    for (text, to) in [
        ("to Cem", json!(["Cem"])),
        ("to Dan", json!(["Dan", "cem"])),
    ] {
        let mut aside = words(text, 0);
        aside["to"] = to;
        ben.ok(Tool::Speak, aside).await;
    }
    ben.ok(Tool::Speak, words("to Ann, too", 0)).await;
    let heard = listening.await.expect("it is answered");
    assert_eq!(
        messages(&heard),
        ["to Cem", "to Dan", "to Ann, too"],
        "{heard}"
    );
    let seqs = |page: &Value| -> Vec<u64> {
        let events = page["events"].as_array().expect("events");
        events
            .iter()
            .filter_map(|event| event["seq"].as_u64())
            .collect()
    };
    let first = page["cursor"].as_u64().expect("a cursor") + 1;
    let last = heard["cursor"].as_u64().expect("a cursor");
    assert_eq!(seqs(&heard), (first..=last).collect::<Vec<_>>());
    let again = json!({ "after": page["cursor"], "wait_seconds": 0 });
    let again = ann.ok(Tool::Check, again).await;
    assert_eq!(seqs(&again), seqs(&heard), "nothing was acknowledged");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_check_ends_the_wait() {
    let (ann, ben, _running) = pair().await;
    let listening = tokio::spawn({
        let ann = ann.clone();
        async move { ann.ok(Tool::Speak, words("first", 50)).await }
    });
    hears(&ben).await;
    while !listening.is_finished() {
        ann.call(Tool::Check, json!({ "wait_seconds": 0 })).await;
    }
    let heard = listening.await.expect("it is answered");
    assert_eq!(
        (&heard["status"], messages(&heard).len()),
        (&json!("sent"), 0),
        "{heard}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_before_is_not_taken_for_the_one_that_is_awaited() {
    let (ann, ben, _running) = pair().await;
    // Ben's own release is unread when he waits again.
    ben.ok(Tool::Speak, words("mine", 0)).await;
    ann.ok(Tool::TalkingStick, json!({})).await;
    let outcome = ben.call(Tool::Speak, words("later", 1)).await;
    let waits = outcome.json();
    assert!(
        waits["events"].to_string().contains("stick.released"),
        "{waits}"
    );
    assert_eq!(
        (&waits["status"], &waits["place"]),
        (&json!("waiting"), &json!(1))
    );
    let text = render_text::text(&outcome, &waits);
    assert!(
        text.contains("Your message is sent when your turn comes."),
        "{text}"
    );
    ann.ok(Tool::Reset, json!({})).await;
    let heard = ben.ok(Tool::Check, json!({ "wait_seconds": 50 })).await;
    assert!(heard.to_string().contains("stick.granted"), "{heard}");
    let history = ann.ok(Tool::History, json!({ "limit": 1 })).await;
    assert_eq!(history["messages"][0]["message"], "later");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_joins_reads_what_was_said_last_and_one_alone_is_told() {
    let (service, _running) = start();
    let ann = Seat::at(&service);
    let login = json!({ "username": "Ann", "room": "table" });
    let joined = ann.call(Tool::Login, login).await;
    // That she joined is no event to call for.
    let text = render_text::text(&joined, &joined.json());
    assert!(text.contains("check {\"after\": 1} to listen"), "{text}");
    for number in 1..=7 {
        let outcome = ann
            .call(Tool::Speak, words(&format!("words {number}"), 0))
            .await;
        let said = outcome.json();
        assert_eq!(said["alone"], true, "{said}");
        let text = render_text::text(&outcome, &said);
        assert!(text.contains("Nobody else is there now"), "{text}");
    }
    let ben = Seat::at(&service);
    let outcome = ben
        .call(Tool::Login, json!({ "username": "Ben", "room": "table" }))
        .await;
    let joined = outcome.json();
    let shown = joined["messages"].as_array().expect("messages");
    let shown: Vec<_> = shown
        .iter()
        .map(|one| one["message"].as_str().expect("a text"))
        .collect();
    assert_eq!(
        shown,
        ["words 3", "words 4", "words 5", "words 6", "words 7"]
    );
    let text = render_text::text(&outcome, &joined);
    assert!(text.contains("5 messages said last"), "{text}");
    assert!(!text.contains("words 2"), "{text}");
    let heard = ann.ok(Tool::Speak, words("welcome", 0)).await;
    assert_eq!(heard.get("alone"), None, "{heard}");
    // Long ones are left to history.
    ann.ok(Tool::Speak, words(&"x".repeat(1_990), 0)).await;
    let cem = Seat::at(&service);
    let joined = cem
        .ok(Tool::Login, json!({ "username": "Cem", "room": "table" }))
        .await;
    assert_eq!(
        joined["messages"].as_array().map(Vec::len),
        Some(2),
        "{joined}"
    );
}
