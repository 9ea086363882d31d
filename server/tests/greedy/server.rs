//! The running binary, and requests as bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The time limit of every wait in these tests. No test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
        // The environment of the machine must not change the test.
        for (name, _) in std::env::vars() {
            if name.starts_with("TALKING_STICK_") {
                command.env_remove(name);
            }
        }
        let usual = [
            "--listen",
            "127.0.0.1:0",
            "--log-level",
            "error",
            "--in-memory",
        ];
        let child = command.args(usual).args(words);
        let child = child.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the binary starts");
        let log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = log.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("listens on http://")?;
            address.parse().ok()
        });
        Self {
            child,
            address: address.expect("it says where it is"),
        }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address, "")
    }

    /// A connection that sends this token.
    pub(crate) fn connect_with(&self, token: &str) -> Connection {
        Connection::open(self.address, token)
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
        assert_eq!(answer.status, 200);
        let wanted = format!("talking_stick_{name} ");
        let mut lines = answer.body.lines();
        let figure = lines.find_map(|line| line.strip_prefix(&wanted));
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

/// An HTTP/1.1 connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    token: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// The error code of a refusal, in either format.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        let error = json["error"]["data"].get("error").unwrap_or(&json["error"]);
        error["code"].as_str().expect("a code").to_owned()
    }
}

impl Connection {
    fn open(address: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Self {
            stream: BufReader::new(stream),
            token: token.into(),
        }
    }

    /// Sends a request without waiting for its response.
    pub(crate) fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &str) {
        let mut head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n");
        let token = format!("Bearer {}", self.token);
        let token = (!self.token.is_empty()).then_some(("Authorization", &*token));
        for (name, value) in headers.iter().copied().chain(token) {
            head += &format!("{name}: {value}\r\n");
        }
        if line.starts_with("POST") {
            let length = body.len();
            head += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        let request = head + "\r\n" + body;
        // A server that refuses by the headers need not read the body.
        let _ = self.stream.get_mut().write_all(request.as_bytes());
    }

    pub(crate) fn exchange(&mut self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send(line, headers, body);
        self.answer()
    }

    /// Reads a response: only the headers of a stream.
    pub(crate) fn answer(&mut self) -> Answer {
        let (status, session, length) = self.head();
        let body = match length {
            Some(length) => {
                let mut body = vec![0; length];
                self.stream.read_exact(&mut body).expect("the whole body");
                String::from_utf8(body).expect("text")
            }
            None => String::new(),
        };
        Answer {
            status,
            session,
            body,
        }
    }

    fn head(&mut self) -> (u16, Option<String>, Option<usize>) {
        let first = self.line();
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let (mut session, mut length) = (None, None);
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some(("mcp-session-id", id)) => session = Some(id.to_owned()),
                Some(("content-length", text)) => length = text.parse().ok(),
                Some(_) => {}
                None => return (status.expect("a status line"), session, length),
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    pub(crate) fn post(&mut self, path: &str, handle: &str, body: &Value) -> Answer {
        let handle = (!handle.is_empty()).then_some(("Chat-Handle", handle));
        let headers: Vec<_> = handle.into_iter().collect();
        self.exchange(&format!("POST {path}"), &headers, &body.to_string())
    }

    /// Registers a participant; returns its handle.
    pub(crate) fn register(&mut self, name: &str) -> String {
        let answer = self.post("/register", "", &json!({ "username": name }));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["handle"].as_str().expect("a handle").into()
    }

    /// Posts to the MCP endpoint.
    pub(crate) fn mcp(&mut self, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send_mcp(headers, body);
        self.answer()
    }

    pub(crate) fn send_mcp(&mut self, headers: &[(&str, &str)], body: &str) {
        let accept = ("Accept", "application/json, text/event-stream");
        let headers: Vec<_> = headers.iter().copied().chain([accept]).collect();
        self.send("POST /mcp", &headers, body);
    }

    /// Opens an MCP session.
    pub(crate) fn initialize(&mut self) -> Answer {
        self.initialize_with(&json!({}))
    }

    /// Opens an MCP session, for a client with these capabilities.
    pub(crate) fn initialize_with(&mut self, capabilities: &Value) -> Answer {
        let answer = self.mcp(&[], &hello(capabilities));
        if answer.status == 200 && answer.body.is_empty() {
            self.end_of_stream();
        }
        answer
    }

    /// Reads a chunked body to its end.
    pub(crate) fn end_of_stream(&mut self) -> String {
        let mut whole = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line(), 16).expect("a chunk's length");
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk).expect("the whole chunk");
            whole.extend_from_slice(&chunk[..length]);
            if length == 0 {
                return String::from_utf8(whole).expect("text");
            }
        }
    }
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
