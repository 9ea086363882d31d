//! The binary as a client starts it, on stdin and stdout.

mod breaks;
pub(crate) mod client;

use std::net::TcpListener;
use std::process::Stdio;
use std::thread;

use serde_json::json;

use crate::process::{Server, binary};
use crate::stdio::client::Client;

#[test]
fn alone_it_serves_the_oldest_handshake_and_ends_with_stdin() {
    let mut client = Client::introduced(&["--connect", "never"]);
    let login = client.call("login", &json!({ "username": "Ann" }));
    assert_eq!(login["users"][0]["display_name"], "Ann");
    assert_eq!(
        client.call("talking_stick", &json!({}))["status"],
        "granted"
    );
    client.close();
}

#[test]
fn calls_that_come_at_once_are_all_answered() {
    let mut client = Client::introduced(&["--connect", "never"]);
    client.call("login", &json!({ "username": "Ann" }));
    let params = json!({ "name": "list_users", "arguments": {} });
    let ids: Vec<_> = (0..20)
        .map(|_| client.send_request("tools/call", &params))
        .collect();
    let mut answered: Vec<u64> = Vec::new();
    while answered.len() < ids.len() {
        let message = client.receive();
        if let Some(id) = message["id"].as_u64() {
            assert_eq!(message["result"]["isError"], false, "{message}");
            answered.push(id);
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, ids);
    client.close();
}

#[test]
fn two_clients_of_one_machine_meet_at_a_server_and_are_pushed_to() {
    let server = Server::start(&[]);
    let url = server.url();
    let mut ann = Client::introduced(&["--connect", &url]);
    let mut ben = Client::introduced(&["--connect", &url]);
    let waits = ann.call("enter_queue", &json!({ "display_name": "Ann" }));
    assert_eq!(waits["status"], "waiting");
    let waits = ben.call("enter_queue", &json!({ "display_name": "Ben" }));
    assert_eq!(waits["status"], "waiting");
    let found = ann.push("chatroom.found");
    assert_eq!(found["params"]["partner"]["display_name"], "Ben");
    let room = found["params"]["room_id"].clone();
    ben.call(
        "send_message",
        &json!({ "room_id": room, "message": "hello" }),
    );
    assert_eq!(ann.push("message.received")["params"]["message"], "hello");
    ben.close();
    ann.close();
}

#[test]
fn a_client_whose_stdin_ended_is_absent_and_can_come_back() {
    let server = Server::start(&[]);
    let url = server.url();
    let mut ann = Client::introduced(&["--connect", &url]);
    let mut ben = Client::introduced(&["--connect", &url]);
    ann.call("enter_queue", &json!({ "display_name": "Ann" }));
    let waits = ben.call("enter_queue", &json!({ "display_name": "Ben" }));
    let room = ann.push("chatroom.found")["params"]["room_id"].clone();
    ben.close();
    let again = json!({
        "handle": waits["handle"], "room_id": room, "message": "back again"
    });
    let mut ben = Client::introduced(&["--connect", &url]);
    let said = ben.call("send_message", &again);
    assert_eq!(said["room_id"], room, "{said}");
    let page = ann.call("check", &json!({ "after": 0, "wait_seconds": 0 }));
    let events = page["events"].as_array().expect("events");
    let kinds: Vec<_> = events.iter().map(|event| &event["type"]).collect();
    assert!(
        !kinds.contains(&&json!("partner.disconnected")),
        "{kinds:?}"
    );
    assert_eq!(kinds.last(), Some(&&json!("message.received")), "{kinds:?}");
    ben.close();
    ann.close();
}

#[test]
fn who_was_called_for_is_absent_at_the_end_however_it_came() {
    let server = Server::start(&[]);
    let to = ["--connect", &server.url()];
    // None of these takes events, so that each is present by its calls alone at first.
    let client = || Client::declaring(&to, &json!({}));
    let (mut watcher, mut elsewhere) = (client(), client());
    watcher.call("login", &json!({ "username": "Watcher" }));
    let ann = elsewhere.call("login", &json!({ "username": "Ann" }));
    let (mut by_handle, mut subscriber) = (client(), client());
    let ben = subscriber.call("login", &json!({ "username": "Ben" }));
    subscriber.ask("resources/subscribe", &json!({ "uri": ben["inbox_uri"] }));
    for _ in 0..2 {
        by_handle.call("list_users", &json!({ "handle": ann["handle"] }));
        subscriber.call("list_users", &json!({}));
    }
    // Those of the two, and that of the subscription.
    while server.figure("streams") != 3 {
        thread::yield_now();
    }
    by_handle.close();
    subscriber.close();
    loop {
        let listed = watcher.call("list_users", &json!({}));
        // Where it asks too often, there is no list.
        let users = listed["users"].as_array().into_iter().flatten();
        let absent = users.filter(|user| user["presence"] == "reconnecting");
        if absent.count() == 2 {
            break;
        }
    }
    watcher.close();
    elsewhere.close();
}

#[test]
fn a_client_that_starts_again_is_itself_by_its_token_or_its_own_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = folder.path().join("tokens");
    // The hash of `open-sesame`.
    let hash = "d7ecdf25eaf3deba0f2628771dbdd22d4138ab6cf38f91ed02a2ca0dec7c8ab7";
    std::fs::write(&tokens, format!("ann {hash}\n")).expect("a file");
    let data = folder.path().join("data");
    let server = Server::start(&["--auth-tokens", tokens.to_str().expect("text")]);
    let url = server.url();
    for arguments in [
        &["--connect", &*url, "--token", "open-sesame"][..],
        &["--connect", "never", "--data", data.to_str().expect("text")],
    ] {
        let login = json!({ "username": "Ann", "room": "attic" });
        let mut client = Client::introduced(arguments);
        let first = client.call("login", &login);
        client.call("talking_stick", &json!({}));
        client.close();
        let mut client = Client::introduced(arguments);
        let claim = client.call("talking_stick", &json!({}));
        assert_eq!(claim["holder"]["user_id"], first["user_id"], "{claim}");
        assert_eq!(client.call("login", &login)["user_id"], first["user_id"]);
        client.close();
    }
}

#[test]
fn a_client_whose_server_was_restarted_registers_again_by_itself() {
    let server = Server::start(&[]);
    let url = server.url();
    let mut ann = Client::introduced(&["--connect", &url]);
    let first = ann.call("login", &json!({ "username": "Ann", "room": "attic" }));
    let server = server.again(&[]);
    let users = ann.call("list_users", &json!({}));
    assert_eq!(users["users"][0]["display_name"], "Ann", "{users}");
    assert_eq!(users["users"].as_array().map(Vec::len), Some(1));
    let claim = ann.call("talking_stick", &json!({}));
    assert_eq!(claim["status"], "granted", "{claim}");
    assert!(first["handle"].is_string());
    ann.close();
    drop(server);
}

#[test]
fn a_server_that_is_not_there_is_told_as_a_refusal() {
    // A port that nobody listens on: it was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let mut ann = Client::introduced(&["--connect", &format!("http://127.0.0.1:{port}")]);
    let refused = ann.call("login", &json!({ "username": "Ann" }));
    assert_eq!(refused["error"]["code"], "overloaded", "{refused}");
    ann.close();
}

#[test]
fn what_is_no_address_is_told_before_anything_is_served() {
    let output = binary()
        .args(["stdio", "--connect", "https://chat.example.org"])
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("https"), "{told}");
}

#[test]
fn a_line_that_is_no_message_is_told_and_the_conversation_goes_on() {
    let mut client = Client::introduced(&["--connect", "never"]);
    let long = vec![b'x'; 4 << 20];
    for broken in [&b"hello"[..], b"\xff", &long] {
        client.write(&[broken, b"\n"].concat());
        let told = client.receive();
        assert_eq!(told["error"]["code"], -32_700, "{told}");
        assert_eq!(told.get("id"), None, "{told}");
        let login = client.call("login", &json!({ "username": "Ann" }));
        assert_eq!(login["users"][0]["display_name"], "Ann");
    }
    client.close();
}

#[test]
fn a_search_is_offered_where_there_is_a_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("a path of text");
    for (arguments, offered) in [
        (&["--connect", "never"][..], false),
        (&["--connect", "never", "--data", data], true),
    ] {
        let mut client = Client::introduced(arguments);
        let listed = client.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().expect("a list");
        let has = tools.iter().any(|tool| tool["name"] == "search");
        assert_eq!(has, offered, "{arguments:?}");
        if offered {
            client.call("login", &json!({ "username": "Ann" }));
            let found = client.call("search", &json!({ "query": "tea" }));
            assert_eq!(found["messages"], json!([]));
        }
        client.close();
    }
}
