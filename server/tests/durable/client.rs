//! The binary with a journal folder, and a connection that may be cut at any byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

/// The time limit of every wait in these tests. No test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub(crate) struct Server {
    child: Mutex<Child>,
    address: SocketAddr,
    log: ChildStderr,
}

/// A server that did not start.
pub(crate) struct Refused {
    pub(crate) code: Option<i32>,
    pub(crate) why: String,
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
    for (name, _) in std::env::vars() {
        if name.starts_with("TALKING_STICK_") {
            command.env_remove(name);
        }
    }
    command
        .args(["--listen", "127.0.0.1:0", "--limit"])
        .arg("stick=optional,rate_limit={per_second: 100000, burst: 100000}")
        .arg("--data")
        .arg(folder)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Server {
    pub(crate) fn start(folder: &Path, words: &[&str]) -> Self {
        let mut child = command(folder, words).spawn().expect("the binary starts");
        let mut log = child.stderr.take().expect("a pipe");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("text");
        let Some((_, address)) = line.trim().split_once("http://") else {
            let mut why = String::new();
            log.read_to_string(&mut why).expect("text");
            panic!("it did not start: {why}");
        };
        Self {
            child: Mutex::new(child),
            address: address.parse().expect("an address"),
            log,
        }
    }

    /// Starts a server that must not start.
    pub(crate) fn refused(folder: &Path, words: &[&str]) -> Refused {
        let output = command(folder, words).output().expect("the binary starts");
        Refused {
            code: output.status.code(),
            why: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Kills it without a shutdown.
    pub(crate) fn kill(&self) {
        let mut child = self.child.lock().expect("no test panics with it");
        child.kill().expect("it runs");
        child.wait().expect("it was started");
    }

    /// Shuts it down; returns its exit code.
    pub(crate) fn stop(&self) -> Option<i32> {
        let mut child = self.child.lock().expect("no test panics with it");
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(sent.expect("kill is on every Unix").success());
        child.wait().expect("it was started").code()
    }

    /// Shuts it down; returns its whole log.
    pub(crate) fn log(mut self) -> String {
        assert_eq!(self.stop(), Some(0));
        let mut log = String::new();
        self.log.read_to_string(&mut log).expect("text");
        log
    }

    pub(crate) fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Connection(BufReader::new(stream))
    }

    /// Registers a participant in this room; returns its handle.
    pub(crate) fn register(&self, name: &str, room: &str) -> String {
        let body = json!({ "username": name, "room": room });
        let answer = self.connect().post("/register", "", &body);
        let (status, answer) = answer.expect("it is answered");
        assert_eq!(status, 200, "{answer}");
        answer["handle"].as_str().expect("a handle").into()
    }

    /// Reads the inbox to its end. Returns the texts so far with those after `after`, and the
    /// position for the next read.
    pub(crate) fn inbox(
        &self,
        handle: &str,
        mut heard: Vec<String>,
        mut after: u64,
    ) -> (Vec<String>, u64) {
        let mut connection = self.connect();
        loop {
            let body = json!({ "after": after, "wait_seconds": 0 });
            let answer = connection.post("/tools/check", handle, &body);
            let (status, page) = answer.expect("it is answered");
            assert_eq!(status, 200, "{page}");
            let events = page["events"].as_array().expect("a page");
            for event in events {
                assert_ne!(event["type"], "gap", "{event}");
                if event["type"] == "message.received" {
                    heard.push(event["message"].as_str().expect("a text").into());
                }
                after = event["seq"].as_u64().expect("a seq");
            }
            if events.is_empty() {
                return (heard, after);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(child) = self.child.get_mut() {
            // The process may have exited already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An HTTP/1.1 connection.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    /// The status and body of the response; `None` when the connection ended first.
    pub(crate) fn post(&mut self, path: &str, handle: &str, body: &Value) -> Option<(u16, Value)> {
        let body = body.to_string();
        let handle = match handle {
            "" => String::new(),
            handle => format!("Chat-Handle: {handle}\r\n"),
        };
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             {handle}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("content-length", text)) => length = text.parse().ok()?,
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        Some((status, serde_json::from_slice(&body).expect("JSON")))
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}
