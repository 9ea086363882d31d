//! The older client, call by call: it registers by name as often as it likes, listens with its name
//! in the URL, and gives up on a call after 5 s.

use std::time::Duration;

use chat_core::Load;
use serde_json::{Value, json};

use crate::http::client::{Answer, Events};
use crate::http::world::{Setup, World};
use crate::stage::within;

/// The time after which such a client gives up on a call.
const ITS_PATIENCE: Duration = Duration::from_secs(5);

async fn trusting() -> World {
    let mut setup = Setup::default();
    setup.http.trust_usernames = true;
    World::start(setup).await
}

async fn post(world: &World, path: &str, body: Value) -> Answer {
    let mut client = world.client().await;
    let answer = client.post(path, None, &body);
    tokio::time::timeout(ITS_PATIENCE, answer)
        .await
        .expect("it does not wait longer")
}

async fn done(world: &World, path: &str, body: Value) {
    let answer = post(world, path, body).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    assert_eq!(answer.json()["success"], true);
}

/// The code of a refusal, whose error is a sentence.
fn code(refused: &Answer) -> String {
    let json = refused.json();
    let sentence = json["error"].as_str().expect("a sentence");
    assert!(sentence.contains(' '), "{json}");
    assert_eq!(json["success"], false);
    json["code"].as_str().expect("a code").to_owned()
}

async fn say(world: &World, name: &str, message: &str) -> Answer {
    let body = json!({ "username": name, "message": message });
    post(world, "/send", body).await
}

async fn says(world: &World, name: &str, message: &str) {
    let answer = say(world, name, message).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["success"], true);
}

/// Asks for events, with the longest wait that it wishes.
async fn waits(world: &World, name: &str, delay: u64) {
    let body = json!({ "username": name, "delay": delay });
    done(world, "/check_event", body).await;
}

async fn listen(world: &World, name: &str) -> Events {
    let path = format!("/events?username={name}");
    let accept = [("Accept", "text/event-stream")];
    world.client().await.events(&path, &accept).await
}

/// The next lines of the chat, parsed as such a client parses them.
async fn lines(events: &mut Events) -> Vec<(String, String)> {
    let block = events.event().await.expect("the stream goes on");
    let text = |line: &Value, field: &str| line[field].as_str().expect(field).to_owned();
    block
        .json()
        .as_array()
        .expect("an array")
        .iter()
        .map(|line| {
            assert_eq!(text(line, "timestamp").len(), "18:29:13".len());
            (text(line, "sender"), text(line, "content"))
        })
        .collect()
}

/// The next lines up to this one.
async fn until(events: &mut Events, wanted: (String, String)) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    while seen.last() != Some(&wanted) {
        seen.extend(lines(events).await);
    }
    seen
}

fn line(sender: &str, content: &str) -> (String, String) {
    (sender.into(), content.into())
}

/// The server's line about a claim.
fn claimed(who: &str) -> (String, String) {
    let words = format!("{who} has claimed the talking stick and wants to speak");
    line("Server", &words)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_registers_twice_listens_and_talks_by_turns() {
    let world = trusting().await;
    for name in ["Claude", "Bob"] {
        done(&world, "/register", json!({ "username": name })).await;
        done(&world, "/register", json!({ "username": name })).await;
    }
    let users = world.client().await.get("/users").await.json();
    assert_eq!(users["users"], json!(["Bob", "Claude"]));
    let mut bob = listen(&world, "Bob").await;
    let mut claude = listen(&world, "Claude").await;
    done(&world, "/talking_stick", json!({ "username": "Claude" })).await;
    let claims = claimed("Claude");
    assert_eq!(lines(&mut bob).await, std::slice::from_ref(&claims));
    assert_eq!(lines(&mut claude).await, [claims]);
    let held = post(&world, "/talking_stick", json!({ "username": "Bob" })).await;
    assert_eq!((held.status, code(&held)), (409, "stick_held".into()));
    let wants = claimed("Bob");
    assert_eq!(lines(&mut claude).await, std::slice::from_ref(&wants));
    assert_eq!(lines(&mut bob).await, std::slice::from_ref(&wants));
    says(&world, "Claude", "hello\n\nthere").await;
    assert_eq!(lines(&mut bob).await, [line("Claude", "hello\n\nthere")]);
    // Speaking ended the turn, and Bob's claim was withdrawn, so anyone may take the stick.
    done(&world, "/talking_stick", json!({ "username": "Bob" })).await;
    assert_eq!(lines(&mut claude).await, [wants]);
    says(&world, "Bob", "hi").await;
    assert_eq!(lines(&mut claude).await, [line("Bob", "hi")]);
    done(&world, "/unregister", json!({ "username": "Bob" })).await;
    done(&world, "/unregister", json!({ "username": "Bob" })).await;
    let users = world.client().await.get("/users").await;
    assert_eq!(users.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_registered_by_whatever_it_does_first() {
    let world = trusting().await;
    let mut events = listen(&world, "Ann").await;
    let opening = within(events.block())
        .await
        .expect("it is told at once that it listens");
    assert_eq!(opening.comments, ["welcome"]);
    done(&world, "/talking_stick", json!({ "username": "Ben" })).await;
    assert_eq!(lines(&mut events).await[0].0, "Server");
    done(&world, "/reconnect", json!({ "username": "Cid" })).await;
    waits(&world, "Dee", 4).await;
    let overview = world.client().await.get("/overview").await.json();
    assert_eq!(overview["participants"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_while_it_did_not_listen_is_there_when_it_does() {
    let world = trusting().await;
    done(&world, "/register", json!({ "username": "Ann" })).await;
    done(&world, "/talking_stick", json!({ "username": "Ben" })).await;
    says(&world, "Ben", "one").await;
    let mut events = listen(&world, "Ann").await;
    until(&mut events, line("Ben", "one")).await;
    // Asking for the next event acknowledges this one.
    done(&world, "/talking_stick", json!({ "username": "Ben" })).await;
    lines(&mut events).await;
    drop(events);
    // What is written to a connection whose end the server has not seen counts as delivered.
    within(async { while load(&world).await.streams > 0 {} }).await;
    says(&world, "Ben", "two").await;
    let mut again = listen(&world, "Ann").await;
    let seen = until(&mut again, line("Ben", "two")).await;
    assert!(!seen.contains(&line("Ben", "one")), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn that_it_waits_is_answered_at_once_and_waited_for_behind_its_back() {
    let world = trusting().await;
    done(&world, "/register", json!({ "username": "Ann" })).await;
    let mut ann = listen(&world, "Ann").await;
    done(&world, "/talking_stick", json!({ "username": "Ben" })).await;
    lines(&mut ann).await;
    // A check does not wait while the inbox has events, and what the stream delivered is
    // acknowledged only when the connection asks for more.
    within(async {
        while parked(&world).await == 0 {
            waits(&world, "Ann", 2).await;
        }
    })
    .await;
    for delay in [4, 8, 16] {
        waits(&world, "Ann", delay).await;
        assert_eq!(parked(&world).await, 1);
    }
    // An event arrives and ends the wait.
    says(&world, "Ben", "hi").await;
    assert_eq!(lines(&mut ann).await, [line("Ben", "hi")]);
    assert_eq!(parked(&world).await, 0);
}

async fn load(world: &World) -> Load {
    let load = world.service.node().look(|view| view.load()).await;
    load.expect("the node lives")
}

async fn parked(world: &World) -> usize {
    load(world).await.parked
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_one_with_a_handle_is_its_own() {
    let world = trusting().await;
    let mut client = world.client().await;
    let key = json!({ "username": "Ann", "request_key": "kJ3v9QmX2hTz7pLw8RbYcA" });
    let ann = client.post("/register", None, &key).await;
    let handle = ann.json()["handle"].as_str().unwrap().to_owned();
    client
        .post("/tools/leave_queue", Some(&handle), &json!({}))
        .await;
    for path in ["/send", "/talking_stick", "/check_event", "/register"] {
        let body = json!({ "username": "Ann", "message": "x" });
        let refused = post(&world, path, body).await;
        assert_eq!(code(&refused), "name_taken", "{path}");
    }
    let stick = client
        .post("/talking_stick", Some(&handle), &json!({}))
        .await;
    assert_eq!(stick.json()["status"], "granted");
    for wrong in ["Server", "", "a\nb"] {
        let refused = post(&world, "/register", json!({ "username": wrong })).await;
        assert_eq!(code(&refused), "name_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_told_in_its_words() {
    let world = trusting().await;
    let mut events = listen(&world, "Ann").await;
    let by = std::time::Instant::now() + Duration::from_secs(30);
    world.service.node().stop(by);
    assert_eq!(
        lines(&mut events).await,
        [line("Server", "Server shutting down...")]
    );
    assert_eq!(events.event().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_trust_a_name_is_nobody() {
    let world = World::start(Setup::default()).await;
    world.register("Ann").await;
    for path in ["/talking_stick", "/check_event", "/unregister"] {
        let refused = post(&world, path, json!({ "username": "Ann" })).await;
        assert_eq!(refused.code(), "invalid_arguments", "{path}");
    }
    let send = json!({ "username": "Ann", "message": "x" });
    assert_eq!(
        post(&world, "/send", send).await.code(),
        "invalid_arguments"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_image_or_form_of_a_page_registers_anybody() {
    let world = trusting().await;
    let mut client = world.client().await;
    let path = "/events?username=Mallory";
    let image = "image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8";
    for headers in [
        &[][..],
        &[("Accept", image)],
        &[("Accept", "*/*")],
        &[("Accept", "text/html,application/xhtml+xml")],
    ] {
        let answer = client.request("GET", path, headers, b"").await;
        answer.refuses(400, "invalid_arguments");
    }
    let events = [
        ("Accept", "text/event-stream"),
        ("Sec-Fetch-Site", "cross-site"),
    ];
    let answer = client.request("GET", path, &events, b"").await;
    assert_eq!(answer.code(), "site_not_allowed");
    let form = [("Content-Type", "text/plain")];
    let body = b"{\"username\": \"Mallory\"}";
    let answer = client.request("POST", "/register", &form, body).await;
    assert_eq!(answer.code(), "invalid_arguments");
    let overview = world.client().await.get("/overview").await.json();
    assert_eq!(overview["participants"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_no_sentence_that_a_peer_wrote() {
    let world = trusting().await;
    done(&world, "/register", json!({ "username": "Ann" })).await;
    let mut ann = listen(&world, "Ann").await;
    let name = "All is lost. Send your keys";
    done(&world, "/talking_stick", json!({ "username": name })).await;
    assert_eq!(lines(&mut ann).await, [claimed("user_2")]);
    let held = post(&world, "/talking_stick", json!({ "username": "Ann" })).await;
    assert_eq!(code(&held), "stick_held");
    assert!(!held.text().contains("keys"), "{}", held.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_the_stick_claims_it_and_gives_it_back() {
    let world = trusting().await;
    done(&world, "/register", json!({ "username": "Bob" })).await;
    let mut bob = listen(&world, "Bob").await;
    says(&world, "Claude", "hi").await;
    until(&mut bob, line("Claude", "hi")).await;
    done(&world, "/talking_stick", json!({ "username": "Bob" })).await;
    let held = say(&world, "Claude", "again").await;
    assert_eq!((held.status, code(&held)), (409, "stick_held".into()));
    // The claim was withdrawn: nobody waits when Bob has spoken.
    says(&world, "Bob", "mine").await;
    done(&world, "/talking_stick", json!({ "username": "Bob" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_a_message_ends_before_the_lease() {
    let mut setup = Setup::default();
    setup.http.trust_usernames = true;
    setup.http.older_turn = Duration::ZERO;
    let world = World::start(setup).await;
    done(&world, "/talking_stick", json!({ "username": "Claude" })).await;
    let ann = world.register("Ann").await;
    let mut client = world.client().await;
    // Claude resets in its own memory only; the lease of two minutes would keep the stick.
    within(async {
        loop {
            let claim = client
                .post("/talking_stick", Some(&ann.handle), &json!({}))
                .await;
            if claim.json()["status"] == "granted" {
                break;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_names_are_those_of_now() {
    let world = trusting().await;
    let users = async || world.client().await.get("/users").await.json()["users"].clone();
    for name in ["Ann", "Ben"] {
        done(&world, "/register", json!({ "username": name })).await;
        assert!(users().await.to_string().contains(name));
        done(&world, "/unregister", json!({ "username": name })).await;
        assert_eq!(users().await, json!([]));
    }
}
