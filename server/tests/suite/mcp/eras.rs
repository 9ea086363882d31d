//! Both protocol versions on one endpoint, in one room.

use serde_json::json;

use crate::mcp::http::request;
use crate::mcp::world::{Session, World};

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_both_eras_are_paired_and_talk() {
    let world = World::start().await;
    let older = Session::open(&world).await;
    let mut stream = older.stream(None).await;
    older
        .ok("enter_queue", json!({ "display_name": "Older" }))
        .await;
    let newer = world
        .call("enter_queue", json!({ "display_name": "Newer" }))
        .await;
    let handle = &newer["structuredContent"]["handle"];
    let read = world
        .call("check", json!({ "handle": handle, "wait_seconds": 50 }))
        .await;
    let found = &read["structuredContent"]["events"][0];
    assert_eq!(found["partner"]["display_name"], "Older");
    assert_eq!(stream.pushed().await["method"], "chatroom.found");
    let room = &found["room_id"];
    older.say(room, "from then").await;
    let read = world
        .call("check", json!({ "handle": handle, "wait_seconds": 50 }))
        .await;
    let events = read["structuredContent"]["events"].as_array().unwrap();
    assert_eq!(events.last().unwrap()["message"], "from then");
    let say = json!({ "handle": handle, "room_id": room, "message": "from now" });
    assert_eq!(world.call("send_message", say).await["isError"], false);
    assert_eq!(stream.pushed().await["params"]["message"], "from now");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_version_with_sessions_is_served_as_itself() {
    let world = World::start().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = Session::of(&world, version).await;
        let listed = session.ask("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "enter_queue"));
        assert!(listed["result"].get("resultType").is_none());
    }
}

/// Older clients do `JSON.parse(event.data)` for each event that their EventSource reports, and drop
/// the connection when that fails.
#[tokio::test(flavor = "multi_thread")]
async fn before_2025_11_25_every_reported_event_is_a_message() {
    for version in ["2025-03-26", "2025-06-18"] {
        let world = World::start().await;
        let ann = Session::of(&world, version).await;
        ann.login("Ann").await;
        let ben = Session::open(&world).await;
        let room = ben.login("Ben").await["room_id"].clone();
        let mut last = None;
        for text in ["first", "after a pause"] {
            let mut stream = ann.stream(last.as_deref()).await;
            let begins = stream.event().await.unwrap();
            assert!(!begins.is_reported, "{version}: {begins:?}");
            ben.say(&room, text).await;
            let pushed = stream.event().await.unwrap();
            assert_eq!(pushed.json()["params"]["message"], text, "{version}");
            last = pushed.id;
        }
    }
}

/// The client of Gemini CLI 0.61 opens each stream that has ended again, if it had an id: one more for each answer.
#[tokio::test(flavor = "multi_thread")]
async fn before_2025_11_25_no_answer_has_an_id() {
    let world = World::start().await;
    for (version, has_id) in [
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
    ] {
        let ann = Session::of(&world, version).await;
        let (_, mut reply) = ann.begin("tools/list", json!({})).await;
        let (id, answer) = reply.body.message().await.unwrap();
        assert!(answer["result"]["tools"].is_array(), "{answer}");
        assert_eq!(id.is_some(), has_id, "{version}: {id:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_2025_03_26_has_batches() {
    let world = World::start().await;
    let message = |id: u64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
    let noted = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let batch = json!([message(7, "ping"), noted, message(8, "tools/list"), 3]);
    let session = Session::of(&world, "2025-03-26").await;
    let headers = [("Mcp-Session-Id", session.id.as_str())];
    let post = async |body: &serde_json::Value| {
        let body = body.to_string();
        world.post(&headers, body.as_bytes()).await
    };
    let reply = post(&batch).await;
    assert_eq!(reply.status, 200);
    let answers = reply.answer().await;
    assert_eq!(answers.as_array().map(Vec::len), Some(3), "{answers}");
    assert_eq!(
        (&answers[0]["id"], &answers[1]["id"]),
        (&json!(7), &json!(8))
    );
    assert!(answers[1]["result"]["tools"].is_array(), "{answers}");
    assert_eq!(answers[2]["error"]["code"], -32_600, "{answers}");
    assert_eq!(post(&json!([noted])).await.status, 202);
    for wrong in [
        json!([]),
        json!(vec![message(1, "ping"); 17]),
        json!([message(1, "initialize")]),
    ] {
        let refused = post(&wrong).await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.answer().await["error"]["code"], -32_600);
    }
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::of(&world, version).await;
        let headers = [("Mcp-Session-Id", session.id.as_str())];
        let refused = world.post(&headers, batch.to_string().as_bytes()).await;
        assert_eq!(refused.status, 400, "{version}");
        let refused = refused.answer().await;
        assert_eq!(refused["error"]["code"], -32_600, "{refused}");
        let why = refused["error"]["message"].as_str().unwrap();
        assert!(why.contains("only MCP 2025-03-26 has batches"), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn from_2025_11_25_on_a_stream_begins_with_an_id_to_go_on_from() {
    let world = World::start().await;
    let mut stream = Session::open(&world).await.stream(None).await;
    let begins = loop {
        let event = stream.event().await.unwrap();
        if event.is_reported {
            break event;
        }
    };
    assert_eq!((begins.id.as_deref(), &*begins.data), (Some("c"), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newer_era_is_discovered_and_has_no_sessions() {
    let world = World::start().await;
    let reply = world.modern("server/discover", json!({})).await;
    assert_eq!(reply.header("mcp-session-id"), None);
    let found = reply.answer().await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let instructions = found["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("check in a loop"), "{instructions}");
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Accept", "text/event-stream"),
    ];
    let reply = request(world.address, ("GET", "/mcp"), &headers, b"").await;
    assert_eq!(reply.status, 405);
}
