//! A client that starts the binary, and a server that it can join.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The time limit of every wait in these tests. No test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
    // The environment of the machine must not change the test.
    for (name, _) in std::env::vars() {
        if name.starts_with("TALKING_STICK_") {
            command.env_remove(name);
        }
    }
    command
}

/// A client that started the binary.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    last_id: u64,
    /// Notifications that arrived while another message was awaited.
    pushed: Vec<Value>,
}

impl Client {
    pub(crate) fn start(arguments: &[&str]) -> Self {
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

    /// A started client that has initialized with the oldest protocol version, and takes events.
    pub(crate) fn introduced(arguments: &[&str]) -> Self {
        Self::declaring(arguments, &json!({ "org.talking-stick/events": {} }))
    }

    /// Starts the server, and initializes as a client that declares these experimental capabilities.
    pub(crate) fn declaring(arguments: &[&str], experimental: &Value) -> Self {
        let mut client = Self::start(arguments);
        let hello = client.ask(
            "initialize",
            &json!({
                "protocolVersion": "2024-11-05",
                "capabilities": { "experimental": experimental },
                "clientInfo": { "name": "test", "version": "1" }
            }),
        );
        assert_eq!(hello["result"]["protocolVersion"], "2024-11-05");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("not closed yet");
        stdin.write_all(bytes).expect("the binary reads");
    }

    pub(crate) fn send_request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn receive(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.pushed.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send_request(method, params);
        self.answer(id)
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        answer["result"]["structuredContent"].clone()
    }

    /// Waits for a push of this kind.
    pub(crate) fn push(&mut self, method: &str) -> Value {
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

    /// Closes stdin, and returns the answers that still arrive until the process ends.
    pub(crate) fn close_and_read(mut self) -> Vec<Value> {
        drop(self.stdin.take());
        let ended = self.child.wait().expect("it ends");
        assert!(ended.success(), "{ended}");
        let answers = std::iter::from_fn(|| self.lines.recv_timeout(PATIENCE).ok());
        answers.filter(|line| line["id"].is_u64()).collect()
    }

    /// Closes stdin, and waits for the process to end.
    pub(crate) fn close(mut self) {
        drop(self.stdin.take());
        let ended = self.child.wait().expect("it ends");
        assert!(ended.success(), "{ended}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that fails half way leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server in a process of its own.
pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub(crate) fn start(listen: &str) -> Self {
        Self::of(&["--listen", listen])
    }

    /// Starts it on a port of its own, with these flags.
    pub(crate) fn with(words: &[&str]) -> Self {
        Self::of(&[&["--listen", "127.0.0.1:0"], words].concat())
    }

    pub(crate) fn of(words: &[&str]) -> Self {
        let mut child = binary()
            .arg("--in-memory")
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = log.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("listens on http://")?;
            Some(address.to_owned())
        });
        Self {
            child,
            address: address.expect("it says where it listens"),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of open event streams.
    pub(crate) fn streams(&self) -> String {
        let mut connection = TcpStream::connect(&self.address).expect("it listens");
        let asked = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
        connection.write_all(asked.as_bytes()).expect("it reads");
        let metrics = io::read_to_string(connection).expect("it answers");
        let mut lines = metrics.lines();
        let found = lines.find_map(|line| line.strip_prefix("talking_stick_streams "));
        found.expect("a figure").to_owned()
    }

    /// Kills it without a shutdown, as a power cut would.
    pub(crate) fn kill(mut self) -> String {
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
