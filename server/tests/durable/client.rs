//! The binary with a journal folder, and a connection that may be cut at any byte.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

/// The time limit of every wait in these tests. No test waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The number of rounds of a test: `usual`, or as many times that as `DURABLE_TIMES` says.
pub(crate) fn rounds(usual: usize) -> usize {
    let times = std::env::var("DURABLE_TIMES");
    let times = times.map_or(1, |times| times.parse().expect("a number of times"));
    usual * times
}

/// A running server.
pub(crate) struct Server {
    child: Mutex<Child>,
    address: SocketAddr,
    /// What it logged before it said where it is, and the rest.
    before: String,
    log: BufReader<ChildStderr>,
}

/// A server that did not start.
pub(crate) struct Refused {
    pub(crate) code: Option<i32>,
    pub(crate) why: String,
}

/// The binary, without settings from variables.
fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
    for (name, _) in std::env::vars() {
        if name.starts_with("TALKING_STICK_") {
            command.env_remove(name);
        }
    }
    command
}

/// The result of a command on a folder.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) why: String,
}

/// Runs a command on the folder of a journal.
pub(crate) fn run(words: &[&OsStr]) -> Ran {
    let output = binary().args(words).output().expect("the binary starts");
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        why: String::from_utf8(output.stderr).expect("text"),
    }
}

/// The output of a command that must succeed, as bytes.
pub(crate) fn run_for_bytes(words: &[&OsStr]) -> Vec<u8> {
    let output = binary().args(words).output().expect("the binary starts");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
    output.stdout
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = binary();
    command
        .args(["--listen", "127.0.0.1:0", "--limit"])
        .arg("stick=optional,rate_limit={per_second: 100000, burst: 100000}")
        .arg("--data")
        .arg(folder)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

impl Server {
    pub(crate) fn start(folder: &Path, words: &[&str]) -> Self {
        Self::run(&mut command(folder, words))
    }

    /// Starts a server in an environment with these variables besides.
    pub(crate) fn start_in(folder: &Path, variables: &[(&str, &Path)]) -> Self {
        let mut command = command(folder, &[]);
        Self::run(command.envs(variables.iter().copied()))
    }

    /// Starts a server that names no folder, for a user whose data is in `home`.
    pub(crate) fn at_home(home: &Path, words: &[&str]) -> Self {
        let mut command = binary();
        command
            .args(["--listen", "127.0.0.1:0"])
            .args(words)
            .env_remove("STATE_DIRECTORY")
            .env("XDG_DATA_HOME", home)
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Self::run(&mut command)
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut before = String::new();
        let address = loop {
            let from = before.len();
            let read = log.read_line(&mut before).expect("text");
            assert!(read > 0, "it did not start: {before}");
            if let Some((_, address)) = before[from..].split_once("listens on http://") {
                break address.trim().parse().expect("an address");
            }
        };
        Self {
            child: Mutex::new(child),
            address,
            before,
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
        let mut log = std::mem::take(&mut self.before);
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

    /// Calls a tool; returns the status and the answer.
    pub(crate) fn call(&self, tool: &str, handle: &str, arguments: &Value) -> (u16, Value) {
        let path = format!("/tools/{tool}");
        let answer = self.connect().post(&path, handle, arguments);
        answer.expect("it is answered")
    }

    /// Calls a tool that must succeed.
    pub(crate) fn done(&self, tool: &str, handle: &str, arguments: &Value) -> Value {
        let (status, answer) = self.call(tool, handle, arguments);
        assert_eq!(status, 200, "{tool} {arguments}: {answer}");
        answer
    }

    /// Asks for this path; returns the status and the answer.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.connect().get(path).expect("it is answered")
    }

    /// Says these texts in the caller's only room.
    pub(crate) fn say(&self, handle: &str, texts: impl IntoIterator<Item = String>) {
        let mut connection = self.connect();
        for text in texts {
            let body = json!({ "message": text });
            let (status, answer) = connection.post("/send", handle, &body).expect("an answer");
            assert_eq!(status, 200, "{answer}");
        }
    }

    /// Pages through the whole history of a room; returns its texts, the oldest first.
    pub(crate) fn history(&self, handle: &str, room: &str, limit: u64) -> Vec<String> {
        let mut texts = Vec::new();
        let mut before = Value::Null;
        loop {
            let arguments = json!({ "room_id": room, "before": before, "limit": limit });
            let page = self.done("history", handle, &arguments);
            let messages = page["messages"].as_array().expect("a page");
            assert!(messages.len() as u64 <= limit, "{page}");
            let older = messages.iter().rev().map(text_of);
            texts.extend(older);
            if page["more"] == false {
                texts.reverse();
                return texts;
            }
            before = messages[0]["room_seq"].clone();
        }
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

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The pair of the cookie that it sets.
    pub(crate) cookie: String,
    pub(crate) body: Value,
}

/// An HTTP/1.1 connection.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    /// The status and body of the response; `None` when the connection ended first.
    pub(crate) fn post(&mut self, path: &str, handle: &str, body: &Value) -> Option<(u16, Value)> {
        let handle = [("Chat-Handle", handle)];
        let headers = if handle[0].1.is_empty() {
            &[][..]
        } else {
            &handle
        };
        let answer = self.ask("POST", path, headers, Some(body))?;
        Some((answer.status, answer.body))
    }

    /// As `post`, without a handle and a body.
    pub(crate) fn get(&mut self, path: &str) -> Option<(u16, Value)> {
        let answer = self.ask("GET", path, &[], None)?;
        Some((answer.status, answer.body))
    }

    /// The answer to this request; `None` when the connection ended first.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Option<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let headers = headers.iter();
        let headers: String = headers
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             {headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut cookie = String::new();
        let mut length = 0;
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("content-length", text)) => length = text.parse().ok()?,
                Some(("set-cookie", text)) => {
                    cookie = text.split(';').next().unwrap_or_default().to_owned();
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        // Metrics are no JSON.
        let body =
            serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into());
        Some(Answer {
            status,
            cookie,
            body,
        })
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

/// The text of a message.
pub(crate) fn text_of(message: &Value) -> String {
    message["message"].as_str().expect("a text").into()
}
