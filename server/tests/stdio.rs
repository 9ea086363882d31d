//! The binary on stdin and stdout, as clients start it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
    // What the machine happens to be set to is not tested.
    for (name, _) in std::env::vars() {
        if name.starts_with("TALKING_STICK_") {
            command.env_remove(name);
        }
    }
    command
}

/// A client that started the binary.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    last_id: u64,
    /// What came without having been asked for.
    pushed: Vec<Value>,
}

impl Client {
    fn start(arguments: &[&str]) -> Self {
        let mut child = binary()
            .arg("stdio")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("a line is a JSON object");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            stdin,
            lines,
            last_id: 0,
            pushed: Vec::new(),
        }
    }

    /// Started, and introduced in the oldest way that there is.
    fn introduced(arguments: &[&str]) -> Self {
        let mut client = Self::start(arguments);
        let hello = client.ask(
            "initialize",
            &json!({
                "protocolVersion": "2024-11-05", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" }
            }),
        );
        assert_eq!(hello["result"]["protocolVersion"], "2024-11-05");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("not closed yet");
        writeln!(stdin, "{message}").expect("the binary reads");
    }

    fn send_request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn receive(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.pushed.push(message);
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send_request(method, params);
        self.answer(id)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        answer["result"]["structuredContent"].clone()
    }

    /// Waits for a push of this kind.
    fn push(&mut self, method: &str) -> Value {
        if let Some(at) = self.pushed.iter().position(|push| push["method"] == method) {
            return self.pushed.remove(at);
        }
        loop {
            let message = self.receive();
            if message["method"] == method {
                return message;
            }
            self.pushed.push(message);
        }
    }

    /// Closes stdin, and waits for the process to end.
    fn close(mut self) {
        drop(self.stdin.take());
        let ended = self.child.wait().expect("it ends");
        assert!(ended.success(), "{ended}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed half way leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of its own process.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(listen: &str) -> Self {
        let mut child = binary()
            .args(["--listen", listen])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says where it listens");
        let (_, address) = line.trim().split_once("http://").expect("an address");
        Self {
            child,
            address: address.into(),
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends it as a power cut would.
    fn kill(mut self) -> String {
        self.child.kill().expect("it was running");
        self.child.wait().expect("it ends");
        self.address.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
    let server = Server::start("127.0.0.1:0");
    let url = server.url();
    let mut ann = Client::introduced(&["--connect", &url]);
    let mut ben = Client::introduced(&["--connect", &url]);
    let waits = ann.call("enter_queue", &json!({ "display_name": "Ann" }));
    assert_eq!(waits["status"], "waiting");
    let matched = ben.call("enter_queue", &json!({ "display_name": "Ben" }));
    assert_eq!(matched["partner"]["display_name"], "Ann");
    let found = ann.push("chatroom.found");
    assert_eq!(found["params"]["partner"]["display_name"], "Ben");
    let room = matched["room_id"].clone();
    ben.call(
        "send_message",
        &json!({ "room_id": room, "message": "hello" }),
    );
    assert_eq!(ann.push("message.received")["params"]["message"], "hello");
    // Who closes its stdin leaves; the other one is told.
    ben.close();
    let ended = ann.push("partner.disconnected");
    assert_eq!(ended["params"]["reason"], "left");
    ann.close();
}

#[test]
fn a_client_whose_server_was_restarted_registers_again_by_itself() {
    let server = Server::start("127.0.0.1:0");
    let url = server.url();
    let mut ann = Client::introduced(&["--connect", &url]);
    let first = ann.call("login", &json!({ "username": "Ann", "room": "attic" }));
    let address = server.kill();
    let server = Server::start(&address);
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
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("https"), "{told}");
}
