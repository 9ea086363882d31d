//! Messages that are addressed to some members of a room.

use serde_json::{Value, json};
use server_chat::render_text;
use server_chat::tools::Tool;

use super::{Running, Seat, start};

/// Three in a room, where each may speak at any time.
async fn three() -> ([Seat; 3], Running) {
    let (service, running) = start();
    let seats = [(); 3].map(|()| Seat::at(&service));
    for (seat, name) in seats.iter().zip(["Ann", "Ben", "Cat"]) {
        let login = json!({ "username": name, "room": "table" });
        seat.ok(Tool::Login, login).await;
    }
    (seats, running)
}

fn words(to: Value) -> Value {
    json!({ "room_id": "room_1", "message": "is it you?", "to": to, "wait_seconds": 0 })
}

/// What a member reads: the text, the JSON of the message, and the hint at the next call.
async fn read(seat: &Seat) -> (String, Value, String) {
    let outcome = seat.call(Tool::Check, json!({ "wait_seconds": 0 })).await;
    let json = outcome.json();
    let text = render_text::text(&outcome, &json);
    let events = json["events"].as_array().expect("events");
    let message = events.iter().find(|event| !event["message"].is_null());
    let (_, next) = text.rsplit_once("next: ").expect("a hint");
    let next = next.to_owned();
    (text, message.expect("a message").clone(), next)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_read_a_message_and_those_that_it_is_addressed_to_are_asked_to_answer() {
    let ([ann, ben, cat], _running) = three().await;
    // By name, and by id.
    ann.ok(Tool::Speak, words(json!(["ben", "user_2"]))).await;
    let (text, message, next) = read(&ben).await;
    let you = json!([{ "user_id": "user_2", "display_name": "Ben", "you": true }]);
    assert_eq!(message["to"], you);
    assert!(text.contains(" to you: "), "{text}");
    assert!(next.contains("to answer"), "{next}");
    let (text, message, next) = read(&cat).await;
    let ben = json!([{ "user_id": "user_2", "display_name": "Ben" }]);
    assert_eq!(message["to"], ben);
    assert!(text.contains("(user_2): "), "{text}");
    assert!(!next.contains("to answer"), "{next}");
    let history = cat.ok(Tool::History, json!({})).await;
    assert_eq!(history["messages"][0]["to"], ben);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_one_that_is_not_there_is_not_said() {
    let ([ann, ben, _cat], _running) = three().await;
    for to in [json!(["Dan"]), json!(["user_9"]), json!(["Ben", ""])] {
        let outcome = ann.call(Tool::Speak, words(to.clone())).await;
        let json = outcome.json();
        let is_known = to[1] == "";
        assert_eq!(
            json["error"]["code"] == "user_not_found",
            !is_known,
            "{json}"
        );
        if !is_known {
            let text = render_text::text(&outcome, &json);
            assert!(text.contains("next: list_users"), "{text}");
        }
    }
    let many: Vec<_> = (0..17).map(|n| format!("user_{n}")).collect();
    let outcome = ann.call(Tool::Speak, words(json!(many))).await.json();
    assert_eq!(outcome["error"]["code"], "invalid_arguments", "{outcome}");
    let history = ben.ok(Tool::History, json!({})).await;
    assert_eq!(history["messages"].as_array().expect("messages").len(), 1);
}
