//! Clients of both eras stay who they are over a kill of the server: by their token, by their name
//! under it, and by their session.

use serde_json::{Value, json};

use crate::durable::people::{ANN, BEN, Guarded};
use crate::process::{Answer, Connection, Server};
use crate::stage::{hello, meta};

/// A client with this token, or none.
struct Client<'a> {
    server: &'a Server,
    token: &'a str,
}

/// A session of the older era.
struct Session<'a> {
    client: Client<'a>,
    id: String,
}

const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// The message in an answer, which may be one of a stream.
fn message(connection: &mut Connection, answer: &Answer) -> Value {
    if answer.header("content-length").is_some() {
        return answer.json();
    }
    let stream = connection.chunks().expect("it is answered");
    let mut data = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let last = data.next_back().expect("an event");
    serde_json::from_str(last).expect("JSON")
}

fn tool_call(tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

impl<'a> Client<'a> {
    fn new(server: &'a Server, token: &'a str) -> Self {
        Self { server, token }
    }

    fn connect(&self) -> Connection {
        Connection::with_token(self.server.address, self.token)
    }

    /// Calls a tool in the newer era.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let mut body = tool_call(tool, arguments);
        body["params"]["_meta"] = meta();
        let headers = [
            ACCEPT,
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        let mut connection = self.connect();
        let answer = connection.exchange("POST /mcp", &headers, &body.to_string());
        let answer = message(&mut connection, &answer.expect("it is answered"));
        answer["result"]["structuredContent"].clone()
    }

    /// Opens a session in the older era.
    fn open(self) -> Session<'a> {
        let hello = hello("2025-11-25", &json!({})).to_string();
        let answer = self.connect().exchange("POST /mcp", &[ACCEPT], &hello);
        let answer = answer.expect("it is answered");
        let id = answer
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        Session { client: self, id }
    }
}

impl Session<'_> {
    fn request(&self, line: &str, body: &str) -> (u16, Value) {
        let headers = [
            ACCEPT,
            ("MCP-Protocol-Version", "2025-11-25"),
            ("Mcp-Session-Id", &*self.id),
        ];
        let mut connection = self.client.connect();
        let answer = connection
            .exchange(line, &headers, body)
            .expect("it is answered");
        match answer.status {
            204 => (204, Value::Null),
            status => (status, message(&mut connection, &answer)),
        }
    }

    /// Calls a tool.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let (status, answer) = self.request("POST /mcp", &tool_call(tool, arguments).to_string());
        assert_eq!(status, 200, "{answer}");
        answer["result"]["structuredContent"].clone()
    }
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or("none")
}

/// Who an answer says that its caller is.
fn who(answer: &Value) -> [&Value; 2] {
    ["user_id", "handle"].map(|name| &answer[name])
}

/// The texts in a page of events.
fn texts(page: &Value) -> Vec<&str> {
    let events = page["events"]
        .as_array()
        .unwrap_or_else(|| panic!("{page}"));
    events
        .iter()
        .filter_map(|event| event["message"].as_str())
        .collect()
}

fn check(after: &Value) -> Value {
    json!({ "after": after, "wait_seconds": 0 })
}

#[test]
fn a_token_says_who_one_is_in_every_era_and_over_a_kill() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let ann = || Client::new(&server, ANN.0);
    let session = ann().open();
    let me = session.call("login", &json!({ "username": "claude" }));
    for again in [
        ann()
            .open()
            .call("login", &json!({ "username": "Claude".to_lowercase() })),
        ann().call("login", &json!({ "username": "claude" })),
    ] {
        assert_eq!(who(&again), who(&me));
    }
    let read = ann().open().call("check", &check(&Value::Null));
    assert_eq!(code(&read), "none", "{read}");
    let cursor = ann().call("check", &check(&Value::Null))["cursor"].clone();
    server.kill();
    let server = guarded.start();
    let ben = Client::new(&server, BEN.0);
    let room = ben.call("login", &json!({ "username": "ben" }))["room_id"].clone();
    ben.call(
        "send_message",
        &json!({ "room_id": room, "message": "after the kill" }),
    );
    let ann = || Client::new(&server, ANN.0);
    for page in [
        ann().call("check", &check(&cursor)),
        ann().open().call("check", &check(&cursor)),
    ] {
        assert_eq!(texts(&page), ["after the kill"], "{page}");
    }
    let back = ann().open().call("login", &json!({ "username": "claude" }));
    assert_eq!(who(&back), who(&me));
}

#[test]
fn of_several_under_one_token_none_is_assumed_and_each_comes_back_by_its_name() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let ann = || Client::new(&server, ANN.0);
    let (first, second) = (ann().open(), ann().open());
    let one = first.call("login", &json!({ "username": "one" }));
    let two = second.call("login", &json!({ "username": "two" }));
    assert_ne!(one["user_id"], two["user_id"]);
    for (session, me) in [(&first, &one), (&second, &two)] {
        let read = session.call("check", &check(&Value::Null));
        assert_eq!(code(&read), "none", "the session's own: {read}");
        assert_eq!(
            session.call("enter_queue", &json!({}))["user_id"],
            me["user_id"]
        );
        session.call("leave_queue", &json!({}));
    }
    server.kill();
    let server = guarded.start();
    let ann = || Client::new(&server, ANN.0);
    assert_eq!(
        code(&ann().call("check", &check(&Value::Null))),
        "handle_required"
    );
    let again = ann().call("login", &json!({ "username": "two" }));
    assert_eq!(again["user_id"], two["user_id"]);
    let again = ann()
        .open()
        .call("enter_queue", &json!({ "display_name": "one" }));
    assert_eq!(again["user_id"], one["user_id"]);
}

#[test]
fn a_name_that_registers_again_has_another_handle_and_occupies_nothing() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let ann = || Client::new(&server, ANN.0);
    let session = ann().open();
    let me = session.call("login", &json!({ "username": "claude" }));
    let handle = me["handle"].as_str().expect("a handle");
    let gone = server
        .connect_as(ANN.0)
        .post("/unregister", handle, &json!({}));
    assert_eq!(gone.map(|(status, _)| status), Some(200));
    let again = session.call("login", &json!({ "username": "claude" }));
    assert_eq!(code(&again), "none", "{again}");
    assert!(again["user_id"] != me["user_id"] && again["handle"] != me["handle"]);
    server.kill();
    let server = guarded.start();
    let back = Client::new(&server, ANN.0).call("login", &json!({ "username": "claude" }));
    assert_eq!(who(&back), who(&again));
}

#[test]
fn a_session_goes_on_after_a_kill_until_its_client_ends_it() {
    let (folder, server) = Server::fresh(&[]);
    let (ann, ben) = (
        Client::new(&server, "").open(),
        Client::new(&server, "").open(),
    );
    let me = ann.call("login", &json!({ "username": "ann" }));
    let room = ben.call("login", &json!({ "username": "ben" }))["room_id"].clone();
    let cursor = ann.call("check", &check(&Value::Null))["cursor"].clone();
    let (ann, ben) = (ann.id, ben.id);
    let resumed = |server, id: &str| Session {
        client: Client::new(server, ""),
        id: id.into(),
    };
    server.kill();
    let server = Server::on(folder.path(), &[]);
    resumed(&server, &ben).call(
        "send_message",
        &json!({ "room_id": room, "message": "still here" }),
    );
    let session = resumed(&server, &ann);
    let page = session.call("check", &check(&cursor));
    assert_eq!(texts(&page), ["still here"], "{page}");
    let again = session.call("login", &json!({ "username": "ann" }));
    assert_eq!(who(&again), who(&me));
    let call = tool_call("check", &check(&Value::Null)).to_string();
    let mut forged = ann.clone();
    forged.replace_range(3..4, if &ann[3..4] == "A" { "B" } else { "A" });
    assert_eq!(resumed(&server, &forged).request("POST /mcp", &call).0, 404);
    assert_eq!(session.request("DELETE /mcp", "").0, 204);
    assert_eq!(session.request("POST /mcp", &call).0, 404);
}

#[test]
fn calls_that_come_together_after_a_kill_take_a_session_up_once() {
    let (folder, server) = Server::fresh(&[]);
    let ann = Client::new(&server, "").open();
    let me = ann.call("login", &json!({ "username": "ann" }));
    let id = ann.id;
    server.kill();
    let server = Server::on(folder.path(), &[]);
    // Requests of one session have different ids.
    let call = |n: usize| {
        let client = Client::new(&server, "");
        let id = id.clone();
        let mut login = tool_call("login", &json!({ "username": "ann" }));
        login["id"] = n.into();
        Session { client, id }.request("POST /mcp", &login.to_string())
    };
    let call = &call;
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|n| scope.spawn(move || call(n))).collect();
        for answer in calls {
            let (status, again) = answer.join().expect("it is answered");
            let again = &again["result"]["structuredContent"];
            assert_eq!(
                (status, &again["user_id"]),
                (200, &me["user_id"]),
                "{again}"
            );
        }
    });
}
