//! The binary as a process, and bytes on a connection to it. Every read may be cut short, because
//! tests stop and kill the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The time limit of every wait in these tests. No test waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The binary without settings from variables, which must not change a test.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
    for (name, _) in std::env::vars() {
        if name.starts_with("TALKING_STICK_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// The binary with these words. It keeps nothing, unless they name a folder.
pub(crate) fn binary_with(words: &[&str]) -> Command {
    let mut command = binary();
    if !words.contains(&"--data") {
        command.env("TALKING_STICK_IN_MEMORY", "true");
    }
    command.args(words);
    command
}

/// Waits until this holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        thread::yield_now();
    }
}

/// Any free port.
pub(crate) const LISTEN: &[&str] = &["--listen", "127.0.0.1:0"];

/// A process, which is killed with its value.
pub(crate) struct Started(Mutex<Child>);

impl Started {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(Mutex::new(command.spawn().expect("the binary starts")))
    }

    pub(crate) fn child_mut(&mut self) -> &mut Child {
        self.0.get_mut().expect("no test panics with it")
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().expect("no test panics with it")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child().id()
    }

    pub(crate) fn is_running(&self) -> bool {
        let exited = self.child().try_wait();
        exited.expect("it was started").is_none()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.expect("kill is on every Unix").success());
    }

    /// Kills it without a shutdown, as a power cut would.
    pub(crate) fn kill(&self) {
        self.child().kill().expect("it runs");
        self.exit_code();
    }

    /// Waits for its end; returns its exit code.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.child().wait().expect("it was started").code()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Ok(child) = self.0.get_mut() {
            // The process may have exited already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A running server.
pub(crate) struct Server {
    process: Started,
    pub(crate) address: SocketAddr,
    /// Its log up to the line with its address.
    pub(crate) before: String,
    /// The rest of its log, until a test takes it.
    pub(crate) log: Option<BufReader<ChildStderr>>,
}

impl Deref for Server {
    type Target = Started;

    fn deref(&self) -> &Started {
        &self.process
    }
}

impl Server {
    /// Starts a server with these words, on a free port unless they name one.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut command = binary_with(words);
        if !words.contains(&"--listen") {
            command.args(LISTEN);
        }
        Self::start_as(&mut command)
    }

    /// Starts the server by this command, and waits until it listens.
    pub(crate) fn start_as(command: &mut Command) -> Self {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = Started::start(command);
        let log = process.child_mut().stderr.take();
        let mut log = BufReader::new(log.expect("a pipe"));
        let mut before = String::new();
        let address = loop {
            let from = before.len();
            let read = log.read_line(&mut before).expect("text");
            assert!(read > 0, "it did not start: {before}");
            let line = &before[from..];
            if line.contains("listens")
                && let Some((_, rest)) = line.split_once("http://")
            {
                let address = rest.trim().split('"').next().expect("a text");
                break address.parse().expect("an address");
            }
        };
        Self {
            process,
            address,
            before,
            log: Some(log),
        }
    }

    /// Kills it, and starts another with these words at its address.
    pub(crate) fn again(&self, words: &[&str]) -> Self {
        self.kill();
        let address = self.address.to_string();
        Self::start(&[&["--listen", &address], words].concat())
    }

    /// Shuts it down; returns its exit code.
    pub(crate) fn stop(&self) -> Option<i32> {
        self.signal("TERM");
        self.exit_code()
    }

    /// Shuts it down; returns its whole log.
    pub(crate) fn log(mut self) -> String {
        assert_eq!(self.stop(), Some(0));
        let mut text = std::mem::take(&mut self.before);
        let log = self.log.as_mut().expect("a pipe");
        log.read_to_string(&mut text).expect("text");
        text
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// A connection with this token.
    pub(crate) fn connect_as(&self, token: &str) -> Connection {
        Connection::with_token(self.address, token)
    }

    /// Registers a participant in this room; returns its handle.
    pub(crate) fn register(&self, name: &str, room: &str) -> String {
        self.connect().register(name, room)
    }

    /// The value of the metric `name`.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        self.figure_as("", name)
    }

    /// The value of the metric `name`, for a caller with this token.
    pub(crate) fn figure_as(&self, token: &str, name: &str) -> u64 {
        let text = self.metrics_as(token);
        figure_in(&text, name).unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// The value of the metric `name`, if there is one.
    pub(crate) fn try_figure(&self, name: &str) -> Option<u64> {
        figure_in(&self.metrics_as(""), name)
    }

    fn metrics_as(&self, token: &str) -> String {
        let answer = self.connect_as(token).exchange("GET /metrics", &[], "");
        answer.expect("it is answered").body
    }
}

/// The value of the metric `name` in this text.
fn figure_in(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let named = line.strip_prefix("talking_stick_").unwrap_or(line);
        named.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()
    })
}

/// A response. The body of a stream is not read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.iter().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// The error code of a refusal, in either format.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        let error = json["error"]["data"].get("error").unwrap_or(&json["error"]);
        error["code"].as_str().expect("a code").to_owned()
    }

    /// Checks that it is a refusal with this status and code.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) {
        let refused = (self.status, &*self.code());
        assert_eq!(refused, (status, code), "{}", self.body);
    }
}

/// An HTTP/1.1 connection. Its methods return `None` when the connection ended first.
pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
    token: String,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        Self::with_token(address, "")
    }

    /// A connection that sends this token with its requests, unless it is empty.
    pub(crate) fn with_token(address: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Self {
            stream: BufReader::new(stream),
            token: token.into(),
        }
    }

    /// A connection whose reads wait for this long; none if nothing listens.
    pub(crate) fn try_open(address: SocketAddr, patience: Duration) -> Option<Self> {
        let stream = TcpStream::connect_timeout(&address, patience).ok()?;
        stream.set_read_timeout(Some(patience)).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self {
            stream: BufReader::new(stream),
            token: String::new(),
        })
    }

    /// Sends these bytes unchanged; false when the connection has ended.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Sends a request without waiting for its response.
    pub(crate) fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &str) -> bool {
        let mut head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.token.is_empty() {
            head += &format!("Authorization: Bearer {}\r\n", self.token);
        }
        if line.starts_with("POST") {
            let length = body.len();
            head += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        self.write((head + "\r\n" + body).as_bytes())
    }

    pub(crate) fn exchange(
        &mut self,
        line: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Answer> {
        // A server that refuses by the headers need not read the body: the response decides.
        self.send(line, headers, body);
        let head = self.head()?;
        let status = head.first()?.split(' ').nth(1)?.parse().ok()?;
        let mut answer = Answer {
            status,
            head,
            body: String::new(),
        };
        if let Some(length) = answer.header("content-length") {
            let mut body = vec![0; length.parse().ok()?];
            self.stream.read_exact(&mut body).ok()?;
            answer.body = String::from_utf8(body).expect("text");
        }
        Some(answer)
    }

    /// Posts to a route; returns the status and the body.
    pub(crate) fn post(&mut self, path: &str, handle: &str, body: &Value) -> Option<(u16, Value)> {
        let line = format!("POST {path}");
        let answer = self.exchange(&line, &[("Chat-Handle", handle)], &body.to_string())?;
        Some((answer.status, answer.json()))
    }

    /// Registers a participant in this room; returns its handle.
    pub(crate) fn register(&mut self, name: &str, room: &str) -> String {
        let body = serde_json::json!({ "username": name, "room": room });
        let (status, answer) = self.post("/register", "", &body).expect("it is answered");
        assert_eq!(status, 200, "{answer}");
        answer["handle"].as_str().expect("a handle").into()
    }

    /// The lines of a response's head.
    pub(crate) fn head(&mut self) -> Option<Vec<String>> {
        let mut head = Vec::new();
        loop {
            match self.line()? {
                line if line.is_empty() => return Some(head),
                line => head.push(line),
            }
        }
    }

    /// Reads a chunked body (RFC 9112, section 7.1) to its end.
    pub(crate) fn chunks(&mut self) -> Option<String> {
        let mut whole = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).ok()?;
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk).ok()?;
            whole.extend_from_slice(&chunk[..length]);
            if length == 0 {
                return Some(String::from_utf8(whole).expect("text"));
            }
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}
