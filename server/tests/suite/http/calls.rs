//! The calls of every route: arguments, effects and results.

use serde_json::{Value, json};

use crate::http::client::Answer;
use crate::http::world::{Setup, World};

/// The answer to a call of a new client.
async fn post(world: &World, path: &str, handle: Option<&str>, body: Value) -> Answer {
    world.client().await.post(path, handle, &body).await
}

fn ok(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_register_and_talk_under_the_stick() {
    let world = World::start(Setup::default()).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    assert_eq!(ann.room, ben.room);
    let early = ben.post("/send", json!({ "message": "me" })).await;
    early.refuses(409, "stick_required");
    let granted = ann.post("/talking_stick", json!({})).await;
    assert_eq!(ok(&granted)["status"], "granted");
    let waiting = ben.post("/talking_stick", json!({})).await;
    assert_eq!(waiting.status, 202);
    assert_eq!(waiting.json()["place"], 1);
    assert_eq!(waiting.json()["holder"]["display_name"], "Ann");
    let sent = ok(&ann.post("/send", json!({ "message": "hello" })).await);
    assert_eq!(sent["success"], true);
    let page = ok(&ben
        .post("/check_event", json!({ "delay": 0, "after": 0 }))
        .await);
    let messages: Vec<_> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "message.received")
        .collect();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["message"], "hello");
    assert_eq!(messages[0]["message_id"], sent["message_id"]);
    ok(&ann.post("/tools/reset", json!({})).await);
    let granted = ok(&ben.post("/talking_stick", json!({})).await);
    assert_eq!(granted["place"], 0);
    ok(&ben.post("/tools/append", json!({ "text": "well" })).await);
    assert_eq!(
        ok(&ben.post("/tools/push", json!({})).await)["success"],
        true
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_comes_back_with_its_handle_and_leaves_for_good() {
    let world = World::start(Setup::default()).await;
    let mut ann = world.register("Ann").await;
    let back = ok(&ann.post("/reconnect", json!({})).await);
    assert_eq!(back["user_id"], ann.user);
    assert_eq!(back["room_id"], ann.room);
    let text = back.to_string();
    assert!(
        !text.contains(&ann.handle) && !text.contains(&ann.reader),
        "{text}"
    );
    let other = ok(&ann
        .post("/tools/login", json!({ "username": "Ann", "room": "den" }))
        .await);
    let both = ok(&ann.post("/reconnect", json!({})).await);
    assert_eq!(both["room_id"], Value::Null);
    assert_eq!(both["rooms"], json!([ann.room, other["room_id"]]));
    assert_eq!(
        ok(&ann.post("/unregister", json!({})).await),
        json!({ "success": true })
    );
    for path in [
        "/unregister",
        "/reconnect",
        "/send",
        "/check_event",
        "/talking_stick",
    ] {
        let body = match path {
            "/send" => json!({ "message": "x" }),
            _ => json!({}),
        };
        let gone = post(&world, path, Some(&ann.handle), body).await;
        gone.refuses(401, "unknown_handle");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_comes_back_from_no_room_and_from_a_chat_that_ended() {
    let world = World::start(Setup::default()).await;
    let mut ann = world.register("Ann").await;
    let mut ben = world.register("Ben").await;
    for person in [&mut ann, &mut ben] {
        ok(&person.post("/tools/leave_chat", json!({})).await);
        let back = ok(&person.post("/reconnect", json!({})).await);
        assert_eq!(back["rooms"], json!([]));
        ok(&person.post("/tools/enter_queue", json!({})).await);
    }
    let back = ok(&ann.post("/reconnect", json!({})).await);
    assert!(back["room_id"].is_string(), "{back}");
    ok(&ben.post("/tools/leave_chat", json!({})).await);
    for person in [&mut ann, &mut ben] {
        let back = ok(&person.post("/reconnect", json!({})).await);
        assert_eq!(back["user_id"], person.user);
        assert_eq!(back["rooms"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn to_register_again_with_the_key_is_no_second_one() {
    let world = World::start(Setup::default()).await;
    let body = json!({ "username": "Ann", "request_key": "kJ3v9QmX2hTz7pLw8RbYcA" });
    let mut client = world.client().await;
    let first = ok(&client.post("/register", None, &body).await);
    let again = ok(&client.post("/register", None, &body).await);
    assert_eq!(first, again);
    let handle = first["handle"].as_str();
    ok(&client.post("/tools/leave_queue", handle, &json!({})).await);
    let taken = post(&world, "/register", None, json!({ "username": "ann" })).await;
    taken.refuses(409, "name_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_meets_by_tools_alone() {
    let world = World::start(Setup::default()).await;
    let mut client = world.client().await;
    let enter = json!({ "display_name": "Ann", "interests": ["sea"] });
    let ann = ok(&client.post("/tools/enter_queue", None, &enter).await);
    assert_eq!(ann["status"], "waiting");
    assert_eq!(ann["position"], 1);
    // The answer to the first call was lost: nobody is paired with this participant.
    ok(&client.post("/tools/enter_queue", None, &json!({})).await);
    let ben = ok(&client.post("/tools/enter_queue", None, &json!({})).await);
    let handle = ann["handle"].as_str();
    let wait = json!({ "wait_seconds": 0 });
    ok(&client.post("/tools/check", handle, &wait).await);
    for (handle, partner) in [(&ben["handle"], &ann), (&ann["handle"], &ben)] {
        let wait = json!({ "wait_seconds": 20 });
        let found = ok(&client.post("/tools/check", handle.as_str(), &wait).await);
        assert_eq!(found["events"][0]["type"], "chatroom.found");
        let other = &found["events"][0]["partner"]["user_id"];
        assert_eq!(*other, partner["user_id"]);
    }
    let stick = client.post("/talking_stick", handle, &json!({})).await;
    stick.refuses(409, "no_stick");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_handle_is_a_header_or_an_argument_and_they_agree() {
    let world = World::start(Setup::default()).await;
    let mut ann = world.register("Ann").await;
    let handle = json!({ "handle": ann.handle });
    let mut client = world.client().await;
    ok(&client.post("/tools/list_users", None, &handle).await);
    ok(&client.post("/reconnect", None, &handle).await);
    for path in ["/tools/list_users", "/reconnect"] {
        let differ = ann.post(path, json!({ "handle": "h_other" })).await;
        differ.refuses(400, "invalid_arguments");
        let none = post(&world, path, None, json!({})).await;
        none.refuses(401, "handle_required");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn views_show_who_is_here() {
    let world = World::start(Setup::default()).await;
    let mut client = world.client().await;
    for name in ["Ann", "Ben", "Cid"] {
        world.register(name).await;
    }
    let wait = json!({ "display_name": "Dee" });
    ok(&client.post("/tools/enter_queue", None, &wait).await);
    let all = json!({ "users": ["Ann", "Ben", "Cid", "Dee"], "next": null });
    assert_eq!(ok(&client.get("/users").await), all);
    let part = json!({ "users": ["Ben", "Cid"], "next": "Cid" });
    assert_eq!(ok(&client.get("/users?after=ann&limit=2").await), part);
    let rest = json!({ "users": ["Dee"], "next": null });
    assert_eq!(ok(&client.get("/users?after=Cid&limit=2").await), rest);
    let overview = ok(&client.get("/overview").await);
    assert_eq!(
        (&overview["participants"], &overview["waiting"]),
        (&json!(4), &json!(1))
    );
    assert_eq!(overview["named_rooms"][0]["name"], "lobby");
    assert_eq!(overview["named_rooms"][0]["members"], 3);
    assert_eq!(overview["max_message"], 4_000);
    assert_eq!(overview["operators"], false);
    assert_eq!(overview["users"][3]["waiting_seconds"], 0);
    assert_eq!(
        client.get("/users?limit=0").await.code(),
        "invalid_arguments"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_healthy_and_ready_until_it_stops() {
    let world = World::start(Setup::default()).await;
    let mut client = world.client().await;
    assert_eq!(ok(&client.get("/healthz").await), json!({ "status": "ok" }));
    assert_eq!(
        ok(&client.get("/readyz").await),
        json!({ "status": "ready" })
    );
    let asked = client.head("GET", "/readyz", &[], None);
    let (start, end) = asked.split_at(10);
    client.write(start.as_bytes()).await;
    world.closing.cancel();
    client.write(end.as_bytes()).await;
    // The server may have closed an idle connection; a request in progress is answered first.
    let rest = String::from_utf8(client.rest().await).unwrap();
    assert!(
        rest.is_empty() || rest.contains("503") && rest.contains("shutting_down"),
        "{rest}"
    );
    let service = http_alone(&world).await;
    assert_eq!(service, 503);
}

/// The response of `/readyz` while the server stops, without its listener.
async fn http_alone(world: &World) -> u16 {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt as _;
    let options = server::http::HttpOptions {
        closing: world.closing.clone(),
        ..server::http::HttpOptions::default()
    };
    let app = server::http::router(world.service.clone(), &options);
    let request = Request::get("/readyz")
        .body(Body::empty())
        .expect("a request");
    app.oneshot(request)
        .await
        .expect("an answer")
        .status()
        .as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_told_in_the_same_shape() {
    let world = World::start(Setup::default()).await;
    let mut client = world.client().await;
    for path in [
        "/nowhere",
        "/tools",
        "/events/x",
        "/admin/overview",
        "/session",
    ] {
        let answer = client.get(path).await;
        answer.refuses(404, "not_found");
    }
    let unknown = post(&world, "/tools/no_such_tool", None, json!({})).await;
    unknown.refuses(404, "not_found");
    for (method, path, allowed) in [
        ("GET", "/send", "POST"),
        ("DELETE", "/users", "GET,HEAD"),
        ("PUT", "/tools/check", "POST"),
        ("POST", "/events", "GET,HEAD"),
    ] {
        let answer = client.request(method, path, &[], b"").await;
        answer.refuses(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allowed), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_and_options_ask_and_change_nothing() {
    let world = World::start(Setup::default()).await;
    let mut ann = world.register("Ann").await;
    for path in ["/users", "/healthz", "/openapi.json"] {
        let head = ann.client.request("HEAD", path, &[], b"").await;
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
    }
    let with_handle = [("Chat-Handle", &*ann.handle)];
    let head = ann
        .client
        .request("HEAD", "/events", &with_handle, b"")
        .await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    world
        .until(&ann.user, chat_core::Attendance::Present, 0)
        .await;
    let mut client = world.client().await;
    let options = client.request("OPTIONS", "/send", &[], b"").await;
    assert_eq!(
        (options.status, options.header("allow")),
        (204, Some("POST"))
    );
    assert_eq!(options.header("access-control-allow-origin"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_journal_has_nothing_to_search() {
    let world = World::start(Setup::default()).await;
    let ann = world.register("Ann").await;
    let query = json!({ "query": "tea" });
    for (handle, status, code) in [
        (&*ann.handle, 501, "search_unavailable"),
        ("h_nobody", 401, "unknown_handle"),
    ] {
        let refused = post(&world, "/tools/search", Some(handle), query.clone()).await;
        refused.refuses(status, code);
    }
}
