//! The running binary, and requests as bytes.

use std::io::BufReader;
use std::net::SocketAddr;
use std::process::{Child, ChildStderr};
use std::time::Instant;

use serde_json::{Value, json};

use crate::process::{Answer, Connection, PATIENCE, Process, binary};

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Kept open, so that the server can write.
    _log: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(words: &[&str]) -> Self {
        let usual = [
            "--listen",
            "127.0.0.1:0",
            "--log-level",
            "error",
            "--in-memory",
        ];
        let started = Process::start(binary().args(usual).args(words));
        Self {
            child: started.child,
            address: started.address,
            _log: started.log,
        }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// A connection that sends this token.
    pub(crate) fn connect_with(&self, token: &str) -> Connection {
        Connection::with_token(self.address, token)
    }

    /// The resident memory of the server in bytes.
    pub(crate) fn resident(&self) -> u64 {
        1_024 * self.status("VmRSS:")
    }

    /// The value of `name` in the process's status file.
    pub(crate) fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let figure = line.and_then(|line| line.split_whitespace().next());
        figure.and_then(|it| it.parse().ok()).expect("a figure")
    }

    /// The value of the metric `name`.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        self.figure_with(name, "")
    }

    pub(crate) fn figure_with(&self, name: &str, token: &str) -> u64 {
        let answer = self.connect_with(token).exchange("GET /metrics", &[], "");
        let answer = answer.expect("it is answered");
        assert_eq!(answer.status, 200);
        let wanted = format!("{name} ");
        let mut lines = answer.body.lines();
        let figure = lines.find_map(|line| {
            let named = line.strip_prefix("talking_stick_").unwrap_or(line);
            named.strip_prefix(&wanted)
        });
        figure.and_then(|it| it.parse().ok()).expect("a figure")
    }

    /// Waits until a metric satisfies the condition.
    pub(crate) fn until(&self, name: &str, is_so: impl Fn(u64) -> bool) -> u64 {
        let began = Instant::now();
        loop {
            let figure = self.figure(name);
            if is_so(figure) {
                return figure;
            }
            assert!(began.elapsed() < PATIENCE, "{name} stays at {figure}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// The id of the session that it opened.
    pub(crate) fn session(&self) -> &str {
        self.header("mcp-session-id").expect("a session")
    }

    /// The error code of a refusal, in either format.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        let error = json["error"]["data"].get("error").unwrap_or(&json["error"]);
        error["code"].as_str().expect("a code").to_owned()
    }
}

impl Connection {
    /// Posts to a route.
    pub(crate) fn call(&mut self, path: &str, handle: &str, body: &Value) -> Answer {
        let line = format!("POST {path}");
        let answer = self.exchange(&line, &[("Chat-Handle", handle)], &body.to_string());
        answer.expect("it is answered")
    }

    /// Posts to the MCP endpoint.
    pub(crate) fn mcp(&mut self, headers: &[(&str, &str)], body: &str) -> Answer {
        let answer = self.exchange("POST /mcp", &accepting(headers), body);
        answer.expect("it is answered")
    }

    /// Posts to the MCP endpoint without waiting for the response.
    pub(crate) fn send_mcp(&mut self, headers: &[(&str, &str)], body: &str) {
        self.send("POST /mcp", &accepting(headers), body);
    }

    /// Opens an MCP session.
    pub(crate) fn initialize(&mut self) -> Answer {
        self.initialize_with(&json!({}))
    }

    /// Opens an MCP session, for a client with these capabilities.
    pub(crate) fn initialize_with(&mut self, capabilities: &Value) -> Answer {
        let answer = self.mcp(&[], &hello(capabilities));
        if answer.status == 200 && answer.body.is_empty() {
            self.chunks().expect("the stream ends");
        }
        answer
    }
}

fn accepting<'h>(headers: &[(&'h str, &'h str)]) -> Vec<(&'h str, &'h str)> {
    let accept = ("Accept", "application/json, text/event-stream");
    headers.iter().copied().chain([accept]).collect()
}

/// The `initialize` request of a client with these capabilities.
pub(crate) fn hello(capabilities: &Value) -> String {
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": { "name": "greedy", "version": "1" }
        }
    });
    hello.to_string()
}

/// A request in the protocol version without sessions, with these additional members of `_meta`.
pub(crate) fn modern(method: &str, mut params: Value, meta: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "greedy", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "greedy": meta,
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}
