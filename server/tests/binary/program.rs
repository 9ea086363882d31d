//! The binary as a process, and connections to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The time limit of every wait in these tests. No test waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn binary(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
    // The environment of the machine must not change the test.
    for (name, _) in std::env::vars() {
        if name.starts_with("TALKING_STICK_") {
            command.env_remove(name);
        }
    }
    if !words.contains(&"--data") {
        command.env("TALKING_STICK_IN_MEMORY", "true");
    }
    command.args(words).stdin(Stdio::null());
    command
}

/// Runs the binary until it exits by itself; returns its exit code, standard output and standard
/// error.
pub(crate) fn ran(words: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = binary(words).output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    (status.code(), text(stdout), text(stderr))
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) log: Option<BufReader<ChildStderr>>,
}

impl Server {
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut child = binary(&["--listen", "127.0.0.1:0"])
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = log.by_ref().lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, rest) = line.split_once("http://")?;
            rest.split('"').next()?.parse().ok()
        });
        Self {
            child,
            address: address.expect("it says where it is"),
            log: Some(log),
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status();
        assert!(sent.expect("kill is on every Unix").success());
    }

    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("it was started").code()
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// The value of the metric `name`.
    pub(crate) fn figure(&self, name: &str) -> usize {
        let mut connection = self.connect();
        assert!(
            connection
                .write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        );
        let mut text = String::new();
        connection.0.read_to_string(&mut text).expect("text");
        let wanted = format!("talking_stick_{name} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&wanted));
        line.and_then(|figure| figure.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// Registers a participant in this room; returns its handle.
    pub(crate) fn register(&self, name: &str, room: &str) -> String {
        let body = json!({ "username": name, "room": room });
        let answer = self.connect().post("/register", "", &body);
        let (status, answer) = answer.expect("it is answered");
        assert_eq!(status, 200, "{answer}");
        answer["handle"].as_str().expect("a handle").into()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP/1.1 connection. Every read may be cut short, because the server stops during the test.
pub(crate) struct Connection(pub(crate) BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        Self(BufReader::new(stream))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.0.get_mut().write_all(bytes).is_ok()
    }

    /// Posts, and returns the status and body of the response; `None` when the connection ended
    /// first.
    pub(crate) fn post(&mut self, path: &str, handle: &str, body: &Value) -> Option<(u16, Value)> {
        let body = body.to_string();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Chat-Handle: {handle}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let request = if handle.is_empty() {
            request.replace("Chat-Handle: \r\n", "")
        } else {
            request
        };
        if !self.write(request.as_bytes()) {
            return None;
        }
        let head = self.head()?;
        let status = head[0].split(' ').nth(1)?.parse().ok()?;
        let length = head
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "))?;
        let mut body = vec![0; length.parse().ok()?];
        self.0.read_exact(&mut body).ok()?;
        Some((status, serde_json::from_slice(&body).expect("JSON")))
    }

    pub(crate) fn head(&mut self) -> Option<Vec<String>> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => return Some(head),
                line => head.push(line.into()),
            }
        }
    }

    /// Opens an event stream. Returns the type and data of each event until the stream ends.
    pub(crate) fn events(
        mut self,
        handle: &str,
    ) -> (Receiver<()>, thread::JoinHandle<Vec<(String, Value)>>) {
        let (opened, open) = channel();
        let request =
            format!("GET /events HTTP/1.1\r\nHost: localhost\r\nChat-Handle: {handle}\r\n\r\n");
        assert!(self.write(request.as_bytes()));
        let reading = thread::spawn(move || {
            let head = self.head().expect("a head");
            assert!(head[0].contains("200"), "{head:?}");
            opened.send(()).expect("the test waits for it");
            let mut events = Vec::new();
            let mut kind = String::new();
            let mut line = String::new();
            while self.0.read_line(&mut line).is_ok_and(|read| read > 0) {
                if let Some(name) = line.strip_prefix("event: ") {
                    kind = name.trim_end().into();
                } else if let Some(data) = line.strip_prefix("data: ") {
                    let data = serde_json::from_str(data).expect("data is JSON");
                    events.push((std::mem::take(&mut kind), data));
                }
                line.clear();
            }
            events
        });
        (open, reading)
    }
}
