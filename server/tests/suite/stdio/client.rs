//! A client that starts the binary, and a server that it can join.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use crate::process::{PATIENCE, Started, binary};
use crate::stage::hello;

/// A client that started the binary.
pub(crate) struct Client {
    process: Started,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    last_id: u64,
    /// Notifications that arrived while another message was awaited.
    pushed: Vec<Value>,
}

impl Client {
    fn start(command: &mut Command) -> Self {
        command.stderr(Stdio::null());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Started::start(command);
        let child = process.child_mut();
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
            process,
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
        Self::declared_by(binary().arg("stdio").args(arguments), experimental)
    }

    /// The same for a server that this command starts.
    pub(crate) fn declared_by(command: &mut Command, experimental: &Value) -> Self {
        let mut client = Self::start(command);
        let capabilities = json!({ "experimental": experimental });
        client.send(&hello("2024-11-05", &capabilities));
        let hello = client.answer(0);
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
        self.end();
        let answers = std::iter::from_fn(|| self.lines.recv_timeout(PATIENCE).ok());
        answers.filter(|line| line["id"].is_u64()).collect()
    }

    /// Closes stdin, and waits for the process to end.
    pub(crate) fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.stdin.take());
        assert_eq!(self.process.exit_code(), Some(0));
    }
}
