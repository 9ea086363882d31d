//! The running binary, and requests as bytes.

use serde_json::{Value, json};

use crate::process::{Answer, Connection, Server, wait_until};
use crate::stage::{self, hello};

/// Starts a server that logs only errors.
pub(crate) fn start(words: &[&str]) -> Server {
    Server::start(&[&["--log-level", "error"], words].concat())
}

impl Server {
    /// The resident memory of the server in bytes.
    pub(crate) fn resident(&self) -> u64 {
        1_024 * self.status("VmRSS:")
    }

    /// The value of `name` in the process's status file.
    pub(crate) fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let figure = line.and_then(|line| line.split_whitespace().next());
        figure.and_then(|it| it.parse().ok()).expect("a figure")
    }

    /// Waits until a metric satisfies the condition.
    pub(crate) fn until(&self, name: &str, is_so: impl Fn(u64) -> bool) {
        wait_until(name, || is_so(self.figure(name)));
    }
}

impl Answer {
    /// The id of the session that it opened.
    pub(crate) fn session(&self) -> &str {
        self.header("mcp-session-id").expect("a session")
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
        let answer = self.mcp(&[], &hello("2025-11-25", capabilities).to_string());
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

/// A request in the protocol version without sessions, with these additional members of `_meta`.
pub(crate) fn modern(method: &str, mut params: Value, meta: Value) -> String {
    params["_meta"] = stage::meta();
    params["_meta"]["greedy"] = meta;
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}
